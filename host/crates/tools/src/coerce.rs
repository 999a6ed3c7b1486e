//! Mends arguments where a model meant the right value and wrote the wrong JSON type (agent-loop 14.2): `"5"` for 5, `"true"` for
//! true, `5.0` for 5. Never changes a value that the schema accepts as it is, and never guesses.

use serde_json::{Map, Number, Value};

/// How deep schemas are followed; below that values stay as they are and the check decides.
const MAX_DEPTH: usize = 32;

/// Mends `value` where `schema` asks for another type. Only `properties` and `items` are followed: behind alternatives and references
/// it is not certain what was meant.
pub(crate) fn coerce(schema: &Value, value: &mut Value) {
    walk(schema, value, MAX_DEPTH);
}

fn walk(schema: &Value, value: &mut Value, depth: usize) {
    let (Value::Object(schema), Some(deeper)) = (schema, depth.checked_sub(1)) else { return };
    if let Some(mended) = mended(schema, value) {
        *value = mended;
    }
    match value {
        Value::Object(map) => {
            let Some(Value::Object(properties)) = schema.get("properties") else { return };
            for (name, member) in map {
                if let Some(schema) = properties.get(name) {
                    walk(schema, member, deeper);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for item in items {
                walk(schema, item, deeper);
            }
        }
        _ => {}
    }
}

fn mended(schema: &Map<String, Value>, value: &Value) -> Option<Value> {
    let types = types_of(schema);
    let asks_for = |name: &str| types.contains(&name);
    match value {
        Value::String(text) if !asks_for("string") => from_text(text, asks_for),
        // Whole numbers are accepted in either form, but a tool wants them as such.
        Value::Number(number) if asks_for("integer") && !asks_for("number") => whole(number).map(Value::Number),
        _ => None,
    }
}

fn types_of(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn from_text(text: &str, asks_for: impl Fn(&str) -> bool) -> Option<Value> {
    match text {
        "true" | "false" if asks_for("boolean") => return Some(Value::Bool(text == "true")),
        _ => {}
    }
    // JSON's own grammar of numbers: no `inf`, no `0x10`, no `+5`.
    let number = serde_json::from_str::<Number>(text).ok()?;
    if asks_for("number") { Some(Value::Number(number)) } else { asks_for("integer").then(|| whole(&number))?.map(Value::Number) }
}

/// The number as an integer, if it is one.
fn whole(number: &Number) -> Option<Number> {
    /// Beyond this, not every integer has a floating-point number of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if !number.is_f64() {
        return Some(number.clone());
    }
    let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() <= EXACT)?;
    #[allow(clippy::cast_possible_truncation, reason = "it is whole and in the exact range")]
    let integer = float as i64;
    Some(Number::from(integer))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn coerced(schema: &Value, mut value: Value) -> Value {
        coerce(schema, &mut value);
        value
    }

    #[test]
    fn obvious_slips_are_mended_and_nothing_else() {
        let rows = [
            (json!({"type": "integer"}), json!("5"), json!(5)),
            (json!({"type": "integer"}), json!("-7"), json!(-7)),
            (json!({"type": "integer"}), json!(5.0), json!(5)),
            (json!({"type": "integer"}), json!(5.5), json!(5.5)),
            (json!({"type": "integer"}), json!("5.5"), json!("5.5")),
            (json!({"type": "integer"}), json!("five"), json!("five")),
            (json!({"type": "integer"}), json!(" 5"), json!(5)),
            (json!({"type": "number"}), json!("2.5"), json!(2.5)),
            (json!({"type": "number"}), json!("NaN"), json!("NaN")),
            (json!({"type": "number"}), json!("inf"), json!("inf")),
            (json!({"type": "number"}), json!("1e999"), json!("1e999")),
            (json!({"type": "boolean"}), json!("true"), json!(true)),
            (json!({"type": "boolean"}), json!("yes"), json!("yes")),
            (json!({"type": "boolean"}), json!(1), json!(1)),
            (json!({"type": "string"}), json!("5"), json!("5")),
            (json!({"type": ["string", "integer"]}), json!("5"), json!("5")),
            (json!({"type": ["integer", "null"]}), json!("5"), json!(5)),
            (json!({}), json!("5"), json!("5")),
            (json!(true), json!("5"), json!("5")),
        ];
        for (schema, value, expected) in rows {
            assert_eq!(coerced(&schema, value.clone()), expected, "{schema} {value}");
        }
    }

    #[test]
    fn members_and_items_are_mended_too() {
        let schema = json!({"type": "object", "properties": {
            "n": {"type": "integer"}, "list": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "boolean"}}}}
        }});
        let value = json!({"n": "1", "list": [{"b": "false"}, "x"], "other": "2"});
        assert_eq!(coerced(&schema, value), json!({"n": 1, "list": [{"b": false}, "x"], "other": "2"}));
    }

    #[test]
    fn depth_is_bounded() {
        let nest = |leaf: Value, wrap: fn(Value) -> Value| (0..MAX_DEPTH).fold(leaf, |inner, _| wrap(inner));
        let schema = nest(json!({"type": "integer"}), |inner| json!({"items": inner}));
        let value = nest(json!("1"), |inner| json!([inner]));
        assert_eq!(coerced(&schema, value.clone()), value);
    }
}
