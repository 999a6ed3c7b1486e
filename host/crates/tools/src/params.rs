//! Parameters of a call as a Rust type. The schema was checked before; what still does not fit is an answer to the model, no panic.

use domain::tool::ToolFailure;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Reads the parameters without copying their texts.
pub(crate) fn parse<'a, T: Deserialize<'a>>(params: &'a Map<String, Value>) -> Result<T, ToolFailure> {
    T::deserialize(params).map_err(|error| ToolFailure::Invalid(format!("the parameters do not fit: {error}")))
}
