//! The documented example is a whole and correct configuration: it loads without a warning, fits the printed schema, and has every
//! key that the schema has.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::path::Path;

use config::{Config, Environment, parse};
use serde_json::Value;

const EXAMPLE: &str = include_str!("../example.json5");

fn environment() -> Environment {
    Environment::new([("LOCAL_MODEL_KEY", "k"), ("TEAM_TOKEN", "t")], "/")
}

#[test]
fn the_example_loads_without_a_warning() {
    let parsed = parse(EXAMPLE, Path::new("example.json5"), &environment()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(parsed.warnings, []);
    assert_eq!(parsed.config.agent_ids().len(), 3);
    assert_eq!(parsed.config.operator_timeout_ms("tool-guard", "before_tool_call"), Some(5_000));
    let key = parsed.config.provider("local").unwrap().api_key.as_ref().unwrap();
    assert_eq!(key.resolve(&environment()).unwrap().reveal(), "k");
}

#[test]
fn the_example_fits_the_printed_schema() {
    let schema = Config::schema();
    jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{error}"));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let example: Value = json5::from_str(EXAMPLE).unwrap();
    let errors: Vec<_> = validator.iter_errors(&example).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, Vec::<String>::new());
}

/// Every key path of the schema, with `*` for free keys and list places.
fn schema_keys(node: &Value, path: &str, keys: &mut BTreeSet<String>) {
    for (name, child) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = format!("{path}/{name}");
        keys.insert(path.clone());
        schema_keys(child, &path, keys);
    }
    for below in ["additionalProperties", "items"] {
        node.get(below).into_iter().for_each(|child| schema_keys(child, &format!("{path}/*"), keys));
    }
    for union in ["anyOf", "oneOf"] {
        node.get(union).and_then(Value::as_array).into_iter().flatten().for_each(|child| schema_keys(child, path, keys));
    }
}

/// Whether a path of the schema leads somewhere in a value.
fn has(value: &Value, steps: &[&str]) -> bool {
    let Some((step, rest)) = steps.split_first() else { return true };
    match value {
        Value::Object(entries) if *step == "*" => entries.values().any(|value| has(value, rest)),
        Value::Array(items) if *step == "*" => items.iter().any(|value| has(value, rest)),
        _ => value.get(step).is_some_and(|value| has(value, rest)),
    }
}

#[test]
fn the_example_has_every_key() {
    let mut keys = BTreeSet::new();
    schema_keys(&Config::schema(), "", &mut keys);
    // The two spellings of a secret reference are alternatives; each is shown once.
    keys.retain(|key| !["env", "source", "provider", "id"].iter().any(|part| key.ends_with(&format!("/apiKey/{part}"))));
    keys.retain(|key| !["env", "source", "provider", "id"].iter().any(|part| key.ends_with(&format!("/secrets/*/value/{part}"))));
    keys.retain(|key| !key.contains("/headers/*/env") && !key.contains("/exec/env/*/"));
    let example: Value = json5::from_str(EXAMPLE).unwrap();
    let missing: Vec<_> = keys.iter().filter(|key| !has(&example, &key.split('/').skip(1).collect::<Vec<_>>())).collect();
    // Not both in one scope: `tools.allow` and the agents' show the two forms.
    assert_eq!(missing, ["/tools/allow"]);
    assert!(keys.len() > 100);
}
