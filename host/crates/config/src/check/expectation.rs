//! Puts a node of the schema, and a value of the file, into words: "found …, expected …".

use serde_json::Value;

use crate::keys::quantity;
use crate::text::excerpt::names_secret;
use crate::text::key_path::{KeyPath, Segment};

/// Longest text of the file that is repeated in a message, in characters.
const SHOWN_CHARS: usize = 40;

/// What a node of the schema accepts.
pub(crate) fn expected(node: &Value) -> String {
    if let Some(unit) = node.get(quantity::UNIT_KEYWORD).and_then(Value::as_str) {
        let number = number(node, &format!("a whole number of {unit}"));
        return format!("{number}, or text with a unit such as {:?}", quantity::example(unit));
    }
    if let Some(words) = words(node) {
        return match words.as_slice() {
            [single] => format!("`{single}`"),
            _ => format!("one of {}", words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")),
        };
    }
    if let Some(branches) = branches(node) {
        let mut parts: Vec<String> = Vec::new();
        for part in branches.iter().map(expected) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        return parts.join(" or ");
    }
    match node.get("type").and_then(Value::as_str) {
        Some("string") if node.get("minLength").is_some() => "text that is not empty".to_owned(),
        Some("string") => "text in quotes".to_owned(),
        Some("boolean") => "`true` or `false`".to_owned(),
        Some("integer") => number(node, "a whole number"),
        Some("number") => number(node, "a number"),
        Some("array") => match node.get("items") {
            Some(items) => format!("a list, each entry {}", expected(items)),
            None => "a list".to_owned(),
        },
        Some("object") => "an object".to_owned(),
        _ => "another value".to_owned(),
    }
}

/// A kind of number and its bounds.
fn number(node: &Value, kind: &str) -> String {
    match (node.get("minimum"), node.get("maximum")) {
        (Some(minimum), Some(maximum)) => format!("{kind} from {minimum} to {maximum}"),
        (Some(minimum), None) => format!("{kind} that is at least {minimum}"),
        (None, Some(maximum)) => format!("{kind} that is at most {maximum}"),
        (None, None) => kind.to_owned(),
    }
}

/// The words that a node accepts, if it accepts nothing else.
pub(crate) fn words(node: &Value) -> Option<Vec<String>> {
    let word = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(value) = node.get("const") {
        return Some(vec![word(value)?]);
    }
    if let Some(Value::Array(values)) = node.get("enum") {
        return values.iter().map(word).collect();
    }
    let nested = branches(node)?.iter().map(words).collect::<Option<Vec<_>>>()?;
    Some(nested.concat())
}

/// The branches of a union.
pub(crate) fn branches(node: &Value) -> Option<&Vec<Value>> {
    node.get("anyOf").or_else(|| node.get("oneOf")).and_then(Value::as_array)
}

/// A value as it stands in the file. Of a value that may be a secret only the kind is told.
pub(crate) fn found(value: &Value, key: &KeyPath) -> String {
    match value {
        Value::Null => "`null`".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Bool(_) | Value::Number(_) if may_be_secret(key) => "another value".to_owned(),
        Value::Bool(value) => format!("`{value}`"),
        Value::Number(value) => value.to_string(),
        Value::String(text) if text.is_empty() => "an empty text".to_owned(),
        Value::String(_) if may_be_secret(key) => "a text".to_owned(),
        Value::String(text) => format!("the text {}", shortened(text)),
    }
}

/// A text in quotes, escaped and cut.
fn shortened(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN_CHARS).collect();
    if cut.len() < text.len() { format!("{cut:?}…") } else { format!("{cut:?}") }
}

fn may_be_secret(key: &KeyPath) -> bool {
    key.segments().iter().any(|segment| matches!(segment, Segment::Key(key) if names_secret(key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn schema_nodes_read_as_sentences() {
        let rows = [
            (json!({ "type": "boolean" }), "`true` or `false`"),
            (json!({ "type": "integer", "minimum": 1, "maximum": 5 }), "a whole number from 1 to 5"),
            (json!({ "type": "number", "minimum": 0.0 }), "a number that is at least 0.0"),
            (json!({ "type": "array", "items": { "type": "string" } }), "a list, each entry text in quotes"),
            (json!({ "enum": ["a", "b"] }), "one of `a`, `b`"),
            (json!({ "oneOf": [{ "const": "a" }, { "enum": ["b", "c"] }] }), "one of `a`, `b`, `c`"),
            (json!({ "const": "env" }), "`env`"),
            (
                json!({ "anyOf": [{ "type": "string", "minLength": 1 }, { "type": "object" }, { "type": "object" }] }),
                "text that is not empty or an object",
            ),
            (
                json!({ "type": ["integer", "string"], "minimum": 1, "maximum": 9, "x-unit": "seconds" }),
                "a whole number of seconds from 1 to 9, or text with a unit such as \"30m\"",
            ),
        ];
        for (node, words) in rows {
            assert_eq!(expected(&node), words, "{node}");
        }
    }

    #[test]
    fn values_are_told_and_secrets_are_not() {
        let plain = KeyPath::of("agents.defaults.timeoutSeconds");
        let secret = KeyPath::of("models.providers.x.apiKey");
        assert_eq!(found(&json!("so\non"), &plain), r#"the text "so\non""#);
        assert_eq!(found(&json!("x".repeat(50)), &plain), format!("the text \"{}\"…", "x".repeat(40)));
        assert_eq!(found(&json!(7), &plain), "7");
        assert_eq!(found(&json!("sk-hidden"), &secret), "a text");
        assert_eq!(found(&json!(123_456), &secret), "another value");
        assert_eq!(found(&json!("hidden"), &KeyPath::of("plugins.entries.x.config").key("y")), "a text");
    }
}
