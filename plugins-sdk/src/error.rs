//! Why a handler, or a host function that it called, failed.
//!
//! Texts go to the operator's log and, for a tool, to the model; the host bounds and redacts them.

use crate::bindings::host::creel::plugin::types;
use std::fmt;

/// What every handler answers with.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A handler failed. What follows is the hook's own policy: a gate such as `before_tool_call` then blocks, other hooks go on
/// without this plugin's answer.
///
/// Every error converts with `?`, so this type does not implement [`std::error::Error`] itself.
///
/// ```
/// use creel_plugin::{Error, Result};
///
/// fn port(text: &str) -> Result<u16> {
///     let port: u16 = text.parse()?;
///     if port < 1024 {
///         return Err(Error::msg(format!("port {port} is reserved")));
///     }
///     Ok(port)
/// }
/// assert_eq!(port("80").unwrap_err().to_string(), "port 80 is reserved");
/// assert_eq!(port("x").unwrap_err().to_string(), "invalid digit found in string");
/// ```
pub struct Error(String);

impl Error {
    /// An error of one sentence: lower case, no full stop, naming what is wrong and what would help.
    pub fn msg(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The same error with what was being done in front of it.
    #[must_use]
    pub fn context(self, doing: impl fmt::Display) -> Self {
        Self(format!("{doing}: {}", self.0))
    }

    /// The text as the host gets it.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(error: E) -> Self {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        Self(text)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Why a host function did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The operator has not granted this, or not to this extent; the text names the configuration key that would.
    #[error("not granted: {0}")]
    Denied(String),
    /// No such thing.
    #[error("not found: {0}")]
    NotFound(String),
    /// The arguments are not acceptable.
    #[error("not acceptable: {0}")]
    Invalid(String),
    /// A quota, size, rate or depth limit was reached.
    #[error("limit reached: {0}")]
    Limit(String),
    /// The call that this handler serves was cancelled, or its time is up.
    #[error("the call was cancelled")]
    Cancelled,
    /// It cannot be done now; a later try may succeed.
    #[error("not available now: {0}")]
    Unavailable(String),
    /// A JSON value, stored or to be stored, does not have the shape that the plugin's type has. From the SDK, not the host.
    #[error("not of the expected shape: {0}")]
    Shape(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl From<types::HostError> for HostError {
    fn from(error: types::HostError) -> Self {
        match error {
            types::HostError::Denied(text) => Self::Denied(text),
            types::HostError::NotFound(text) => Self::NotFound(text),
            types::HostError::Invalid(text) => Self::Invalid(text),
            types::HostError::Limit(text) => Self::Limit(text),
            types::HostError::Cancelled => Self::Cancelled,
            types::HostError::Unavailable(text) => Self::Unavailable(text),
            types::HostError::Other(text) => Self::Other(text),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::{Error, HostError};

    #[derive(Debug, thiserror::Error)]
    #[error("rule 3 is broken")]
    struct Broken {
        #[source]
        cause: std::num::ParseIntError,
    }

    #[test]
    fn an_error_tells_its_causes() {
        let cause = "x".parse::<i32>().unwrap_err();
        let error = Error::from(Broken { cause }).context("reading the settings");
        assert_eq!(error.into_text(), "reading the settings: rule 3 is broken: invalid digit found in string");
    }

    #[test]
    fn a_host_error_names_its_kind() {
        let error = Error::from(HostError::Denied("set plugins.entries.x.capabilities.kv".to_owned()));
        assert_eq!(error.to_string(), "not granted: set plugins.entries.x.capabilities.kv");
    }
}
