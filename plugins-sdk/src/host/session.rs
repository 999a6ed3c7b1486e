//! Small values of the plugin inside the session that the call belongs to; asks for the grant `sessionExtension`.
//!
//! They end with the session. Outside a session the answer is [`HostError::NotFound`].
//!
//! ```
//! use creel_plugin::session;
//! # creel_plugin::testing::Host::new().run(|| {
//! session::set("approved", &["git push --force"])?;
//! assert_eq!(session::get::<Vec<String>>("approved")?, Some(vec!["git push --force".to_owned()]));
//! session::remove("approved")?;
//! # Ok::<(), creel_plugin::Error>(())
//! # }).unwrap();
//! ```

use super::backend;
use crate::error::HostError;
use crate::json_text;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The plugin's value in a namespace. None: nothing stored.
///
/// # Errors
/// Not granted, no session, or the value does not have the type's shape.
pub fn get<T: DeserializeOwned>(namespace: &str) -> Result<Option<T>, HostError> {
    backend::session_get(namespace)?.map(|value| json_text::read_stored(namespace, value.as_bytes())).transpose()
}

/// Replaces the plugin's value in a namespace.
///
/// # Errors
/// Not granted, no session, or `Limit`: larger than the host allows.
pub fn set(namespace: &str, value: &impl Serialize) -> Result<(), HostError> {
    backend::session_set(namespace, Some(&json_text::write_stored(namespace, value)?))
}

/// Removes the plugin's value in a namespace.
///
/// # Errors
/// Not granted, or no session.
pub fn remove(namespace: &str) -> Result<(), HostError> {
    backend::session_set(namespace, None)
}
