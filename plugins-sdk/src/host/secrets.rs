//! Secrets; asks for the grant `secrets`, by name.
//!
//! A plugin never holds the text. It gets a placeholder, puts that into a header of a request, and the host puts the text in its place at
//! its edge, if the operator lets the secret go to that address.
//!
//! ```
//! use creel_plugin::testing::Host;
//! use creel_plugin::{http, secrets};
//!
//! let host = Host::new().secret("token", "hush").answer("https://api.example.com/", http::Response::new(200).text_body("ok"));
//! let response = host.run(|| {
//!     let token = secrets::placeholder("token")?;
//!     Ok::<_, creel_plugin::Error>(http::get("https://api.example.com/").bearer(&token).send()?)
//! });
//! assert_eq!(response.unwrap().text().unwrap(), "ok");
//! // The fake shows what would have gone out.
//! assert_eq!(host.requests()[0].header_value("authorization"), Some("Bearer hush"));
//! ```

use super::backend;
use crate::error::HostError;

/// Names of the secrets that were granted.
#[must_use]
pub fn names() -> Vec<String> {
    backend::secret_names()
}

/// Text that stands for a secret in header values of this instance's requests, and means nothing anywhere else.
///
/// # Errors
/// Not granted, or granted and without a value.
pub fn placeholder(name: &str) -> Result<String, HostError> {
    backend::secret_placeholder(name)
}
