//! Reading and writing the JSON texts of the contract.

use crate::error::{Error, HostError, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Reads the JSON text called `what`.
pub(crate) fn read<T: DeserializeOwned>(what: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::from(error).context(what))
}

/// The same for a text that may be absent.
pub(crate) fn read_option<T: DeserializeOwned>(what: &str, text: Option<&String>) -> Result<Option<T>> {
    text.map(|text| read(what, text)).transpose()
}

/// Reads a value that the host keeps for the plugin under `name`.
pub(crate) fn read_stored<T: DeserializeOwned>(name: &str, text: &[u8]) -> Result<T, HostError> {
    serde_json::from_slice(text).map_err(|error| HostError::Shape(format!("`{name}`: {error}")))
}

/// Writes a value that the host is to keep under `name`.
pub(crate) fn write_stored(name: &str, value: &impl Serialize) -> Result<String, HostError> {
    serde_json::to_string(value).map_err(|error| HostError::Shape(format!("`{name}`: {error}")))
}

/// A value as JSON text; writing a [`Value`] cannot fail.
pub(crate) fn write(value: &Value) -> String {
    value.to_string()
}
