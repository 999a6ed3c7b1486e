//! Outgoing HTTP requests (`wasi:http`); asks for the grant `http`, by address.
//!
//! A request that the operator did not grant is refused, and the host's log names the line that would allow it. Every request ends
//! with the call of the plugin that makes it. A redirect is an answer like any other: where it leads is in its `location` header, and
//! a request to it must be granted too.
//!
//! ```
//! use creel_plugin::http::{self, HttpError, Response};
//! use creel_plugin::testing::Host;
//!
//! let host = Host::new().answer("https://api.example.com/v1/rates", Response::new(200).text_body(r#"{"eur": 1.1}"#));
//! let rates = host.run(|| http::get("https://api.example.com/v1/rates").send()).unwrap();
//! assert_eq!(rates.json::<serde_json::Value>().unwrap()["eur"], 1.1);
//!
//! let refused = host.run(|| http::get("https://elsewhere.example").send());
//! assert!(matches!(refused, Err(HttpError::Refused(_))));
//! ```

use super::backend;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "it goes out with `send`"]
pub struct Request {
    /// `GET`, `POST`, ….
    pub method: String,
    /// Absolute address, for example `https://api.example.com/v1/rates?base=eur`.
    pub url: String,
    /// Names and values, in order.
    pub headers: Vec<(String, String)>,
    /// Empty: none.
    pub body: Vec<u8>,
    /// Longest wait for the connection, for the head, and between two pieces of the body. The call's own deadline counts in any case.
    pub timeout: Option<Duration>,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// For example 200.
    pub status: u16,
    /// Names and values, in order. Values that are no text are left out.
    pub headers: Vec<(String, String)>,
    /// All of it.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The operator did not grant it; the host's log has the line that would.
    #[error("the request was refused: {0}")]
    Refused(String),
    /// The request, or the answer, has more bytes than the operator allows.
    #[error("too large: {0}")]
    TooLarge(String),
    /// There was no answer in time.
    #[error("no answer in time")]
    Timeout,
    /// The address is no address, or a header no header.
    #[error("that is no request: {0}")]
    Invalid(String),
    /// The other side could not be reached, or does not speak HTTP.
    #[error("the request failed: {0}")]
    Failed(String),
    /// The answer is not what it was taken for.
    #[error("the answer cannot be read: {0}")]
    Unreadable(String),
}

/// A `GET` request.
pub fn get(url: impl Into<String>) -> Request {
    request("GET", url)
}

/// A `POST` request.
pub fn post(url: impl Into<String>) -> Request {
    request("POST", url)
}

/// A request with any method.
pub fn request(method: impl Into<String>, url: impl Into<String>) -> Request {
    Request { method: method.into(), url: url.into(), headers: Vec::new(), body: Vec::new(), timeout: None }
}

impl Request {
    /// With a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// With `Authorization: Bearer …`; `token` is mostly a placeholder of [`secrets`](super::secrets).
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    /// With a body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// With a body of JSON, and the header that says so. What cannot be written as JSON is sent as `null`.
    pub fn json(self, value: &impl Serialize) -> Self {
        let body = serde_json::to_vec(value).unwrap_or_else(|_| b"null".to_vec());
        self.header("content-type", "application/json").body(body)
    }

    /// With a limit for each wait.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The first value of a header, whatever the case of its name.
    #[must_use]
    pub fn header_value(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// Sends it and waits for the whole answer. A status that is no success is an answer like any other.
    ///
    /// # Errors
    /// There is no answer.
    pub fn send(self) -> Result<Response, HttpError> {
        backend::send_request(&self)
    }
}

impl Response {
    /// An answer without headers and body, for tests.
    #[must_use]
    pub fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Vec::new() }
    }

    /// With this text as body, for tests.
    #[must_use]
    pub fn text_body(mut self, text: impl Into<String>) -> Self {
        self.body = text.into().into_bytes();
        self
    }

    /// Whether the status is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The first value of a header, whatever the case of its name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The body as text.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub fn text(&self) -> Result<&str, HttpError> {
        std::str::from_utf8(&self.body).map_err(|error| HttpError::Unreadable(error.to_string()))
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// It is none, or of another shape.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body).map_err(|error| HttpError::Unreadable(error.to_string()))
    }
}

fn find<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(there, _)| there.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

/// The parts of an address that a request is made of: scheme, authority, and path with query. What stands behind `#` stays here.
pub(crate) fn parts(url: &str) -> Result<(&str, &str, &str), HttpError> {
    let wrong = || HttpError::Invalid(format!("{url:?} is no address such as https://api.example.com/path"));
    let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if scheme.is_empty() || authority.is_empty() {
        return Err(wrong());
    }
    Ok((scheme, authority, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_parts() {
        assert_eq!(parts("https://a.example/b?c#d"), Ok(("https", "a.example", "/b?c")));
        assert_eq!(parts("http://a.example:81?c"), Ok(("http", "a.example:81", "?c")));
        for wrong in ["a.example", "https://", "://a", "https:///path"] {
            assert!(matches!(parts(wrong), Err(HttpError::Invalid(text)) if text.contains(wrong)), "{wrong}");
        }
    }

    #[test]
    fn headers_are_found_whatever_their_case() {
        let request = post("https://a").bearer("t").json(&1);
        assert_eq!((request.header_value("Authorization"), request.header_value("x")), (Some("Bearer t"), None));
        assert_eq!((request.header_value("content-type"), request.body.as_slice()), (Some("application/json"), &b"1"[..]));
    }

    #[test]
    fn a_body_that_is_something_else_is_told() {
        let response = Response { body: vec![0xff], ..Response::new(204) };
        assert!(response.is_success() && !Response::new(404).is_success());
        assert!(matches!(response.text(), Err(HttpError::Unreadable(_))));
        assert!(matches!(response.json::<u8>(), Err(HttpError::Unreadable(_))));
    }
}
