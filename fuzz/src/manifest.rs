//! The manifest, and the schema of settings in it: reading, and applying the schema to settings that stand in the same text under a key
//! that manifests do not have, `config`.

use plugin_host::manifest::{FILE_NAME, MAX_HANDLERS, Manifest, parse_id};
use plugin_host::schema::{ConfigError, ConfigSchema};
use serde_json::{Map, Value};

use crate::message::assert_is_one_short_line;

/// Reads one input.
pub fn run(input: &[u8]) {
    match Manifest::parse(input, FILE_NAME) {
        Ok(manifest) => {
            assert!(parse_id(manifest.id.as_str()).is_ok(), "the id is none: {}", manifest.id);
            assert!(manifest.handlers.len() <= MAX_HANDLERS);
            manifest.diagnostics.iter().for_each(|diagnostic| assert_is_one_short_line(diagnostic));
            apply(&manifest.config_schema, &settings(input));
        }
        Err(error) => assert_is_one_short_line(&error.to_string()),
    }
}

fn settings(input: &[u8]) -> Map<String, Value> {
    let text: Result<Value, _> = serde_json::from_slice(input);
    text.ok().and_then(|text| text.get("config")?.as_object().cloned()).unwrap_or_default()
}

fn apply(schema: &Map<String, Value>, config: &Map<String, Value>) {
    let schema = match ConfigSchema::compile(schema) {
        Ok(schema) => schema,
        Err(error) => return assert_is_one_short_line(&error.to_string()),
    };
    match schema.settings("fuzzed", config) {
        Ok(filled) => {
            let Value::Object(filled) = filled.to_value() else { panic!("settings are an object") };
            assert!(config.keys().all(|key| filled.contains_key(key)), "filling in defaults took a setting away");
            assert!(schema.settings("fuzzed", &filled).is_ok(), "settings with their defaults do not fit");
        }
        Err(ConfigError::Violations { violations, .. }) => {
            violations.iter().for_each(|violation| assert_is_one_short_line(&violation.to_string()));
        }
        Err(error) => assert_is_one_short_line(&error.to_string()),
    }
}
