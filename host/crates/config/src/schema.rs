//! The JSON Schema of the file, derived from the types in [`keys`](crate::keys). It is what `creel config schema` prints, and what
//! the file is checked against, so it cannot describe another file than the one that loads.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use crate::keys::Config;

impl Config {
    /// The JSON Schema (draft 2020-12) of `creel.json`.
    pub fn schema() -> Value {
        of::<Config>()
    }
}

/// The schema of a type. Everything is inline: no type is recursive, and a node can then be found by its pointer.
fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(without_null).transform(&mut schema);
    RecursiveTransform(without_noise).transform(&mut schema);
    schema.to_value()
}

/// A key that is optional may be left out; it may not be `null`.
fn without_null(schema: &mut Schema) {
    let Some(node) = schema.as_object_mut() else { return };
    if let Some(Value::Array(types)) = node.get_mut("type") {
        types.retain(|name| name != "null");
        if let [single] = types.as_slice() {
            let single = single.clone();
            node.insert("type".to_owned(), single);
        }
    }
    if let Some(Value::Array(values)) = node.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    for union in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = node.get_mut(union) else { continue };
        branches.retain(|branch| branch != &json!({ "type": "null" }) && branch != &json!({ "const": null }));
        if let [Value::Object(_)] = branches.as_slice() {
            merge_single_branch(node, union);
        }
    }
}

/// Lays the only branch of a union into the node itself. What the node says already (the description of the key) stays.
fn merge_single_branch(node: &mut Map<String, Value>, union: &str) {
    let Some(Value::Array(mut branches)) = node.shift_remove(union) else { return };
    let Some(Value::Object(branch)) = branches.pop() else { return };
    for (key, value) in branch {
        node.entry(key).or_insert(value);
    }
}

/// Line breaks of the source in descriptions, defaults that say nothing, and the number formats of Rust.
fn without_noise(schema: &mut Schema) {
    let Some(node) = schema.as_object_mut() else { return };
    if let Some(Value::String(description)) = node.get_mut("description") {
        *description = description.replace('\n', " ");
    }
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    };
    if node.get("default").is_some_and(is_empty) {
        node.shift_remove("default");
    }
    if node.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint") || format == "double") {
        node.shift_remove("format");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;

    /// Calls `visit` with every key path and its node, in all branches of unions.
    fn each_key(node: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
        for (name, child) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}.{name}");
            visit(&path, child);
            each_key(child, &path, visit);
        }
        for below in ["additionalProperties", "items"] {
            node.get(below).into_iter().for_each(|child| each_key(child, &format!("{path}.*"), visit));
        }
        for union in ["anyOf", "oneOf"] {
            node.get(union).and_then(Value::as_array).into_iter().flatten().for_each(|child| each_key(child, path, visit));
        }
    }

    #[test]
    fn every_key_is_described_in_sentences() {
        let mut count = 0;
        each_key(&Config::schema(), "", &mut |path, node| {
            let description = node.get("description").and_then(Value::as_str).unwrap_or_default();
            assert!(
                description.ends_with('.') && description.len() > 10 && !description.contains('\n'),
                "{path} has no description: {description:?}"
            );
            count += 1;
        });
        assert!(count > 100, "{count} keys only");
    }

    #[test]
    fn objects_are_closed_and_null_is_no_value() {
        fn check(node: &Value, path: &str) {
            if node.get("properties").is_some() {
                assert_eq!(node.get("additionalProperties"), Some(&json!(false)), "{path}");
            }
            assert_ne!(node, &json!({ "type": "null" }), "{path}");
            assert!(node.get("$ref").is_none(), "{path}");
            match node {
                Value::Object(entries) => entries.iter().for_each(|(key, value)| check(value, &format!("{path}/{key}"))),
                Value::Array(items) => items.iter().for_each(|value| check(value, &format!("{path}/*"))),
                _ => {}
            }
        }
        let schema = Config::schema();
        check(&schema, "");
        assert!(!schema.to_string().contains("\"null\""));
    }

    #[test]
    fn bounds_and_defaults_of_the_types_are_in_the_schema() {
        let schema = Config::schema();
        let at = |pointer: &str| schema.pointer(pointer).cloned().unwrap_or_else(|| panic!("{pointer}"));
        let timeout = "/properties/plugins/properties/entries/additionalProperties/properties/hooks/properties/timeoutMs";
        assert_eq!(at(&format!("{timeout}/maximum")), json!(600_000));
        assert_eq!(at("/properties/agents/properties/defaults/properties/timeoutSeconds/default"), json!(172_800));
        assert_eq!(at("/properties/plugins/properties/enabled/default"), json!(true));
    }
}
