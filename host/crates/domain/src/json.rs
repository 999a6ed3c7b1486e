//! JSON kept as text. Plugins get open JSON as text, and one event may go to many handlers, so values are rendered once and shared.
//! A [`JsonText`] always holds exactly one valid JSON value.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

/// Text that holds exactly one JSON value; cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct JsonText(Arc<str>);

/// Why a text is not JSON, or not the JSON that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJson {
    /// The text does not parse.
    #[error("not valid JSON: {0}")]
    Syntax(String),
    /// The value has another type.
    #[error("expected a JSON {expected}, found {found}")]
    Type {
        /// What was asked for.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
}

impl JsonText {
    /// Checks a text that came from outside. Nesting is bounded by the parser, so hostile text cannot exhaust the stack.
    ///
    /// # Errors
    /// When the text is not exactly one JSON value.
    pub fn parse(text: impl Into<Arc<str>>) -> Result<Self, InvalidJson> {
        let text = text.into();
        serde_json::from_str::<Value>(&text).map_err(|error| InvalidJson::Syntax(error.to_string()))?;
        Ok(Self(text))
    }

    /// Renders a value. A value that JSON cannot express (a map with keys that are not text) becomes `null`.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Self {
        Self(serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()).into())
    }

    /// The JSON `null`.
    pub fn null() -> Self {
        Self("null".into())
    }

    /// The empty object.
    pub fn empty_object() -> Self {
        Self("{}".into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value.
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or(Value::Null)
    }
}

/// Parses text from outside that must be a JSON object.
///
/// # Errors
/// When the text does not parse, or is another kind of value.
pub fn parse_object(text: &str) -> Result<serde_json::Map<String, Value>, InvalidJson> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(other) => Err(InvalidJson::Type { expected: "object", found: kind_of(&other) }),
        Err(error) => Err(InvalidJson::Syntax(error.to_string())),
    }
}

/// The JSON type of a value, in words.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

impl fmt::Debug for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_valid_value_is_accepted() {
        assert!(JsonText::parse(r#"{"a":[1]}"#).is_ok());
        assert!(JsonText::parse("{} {}").is_err());
        assert!(JsonText::parse("").is_err());
        assert!(JsonText::parse("[".repeat(100_000)).is_err());
    }

    #[test]
    fn an_object_is_told_from_other_values() {
        assert_eq!(parse_object("[]"), Err(InvalidJson::Type { expected: "object", found: "an array" }));
        assert!(parse_object(r#"{"k":null}"#).is_ok());
    }
}
