//! Tables of schemas and settings.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

fn compile(schema: &Value) -> Result<ConfigSchema, SchemaError> {
    ConfigSchema::compile(object(schema))
}

fn settings(schema: &Value, config: &Value) -> Result<Value, ConfigError> {
    compile(schema).unwrap().settings("guard", object(config)).map(|text| text.to_value())
}

#[test]
fn defaults_are_filled_in_where_there_is_something_to_fill() {
    let schema = json!({
        "type": "object",
        "properties": {
            "level": { "default": 3 },
            "made": { "type": "object", "default": {}, "properties": { "inner": { "default": "i" } } },
            "absent": { "type": "object", "properties": { "inner": { "default": "i" } } },
            "rules": { "items": { "$ref": "#/$defs/rule" } },
            "by-ref": { "$ref": "#/$defs/named" },
        },
        "allOf": [{ "properties": { "also": { "default": null } } }],
        "anyOf": [{ "properties": { "perhaps": { "default": 1 } } }, {}],
        "$defs": {
            "rule": { "properties": { "tool": { "default": "*" } } },
            "named": { "default": ["n"] },
        },
    });
    for (config, expected) in [
        (json!({}), json!({ "also": null, "level": 3, "made": { "inner": "i" }, "by-ref": ["n"] })),
        (
            json!({ "level": 0, "absent": {}, "made": { "inner": false }, "also": 1, "by-ref": 2, "rules": [{}, { "tool": "exec" }, 7] }),
            json!({ "level": 0, "absent": { "inner": "i" }, "made": { "inner": false }, "also": 1, "by-ref": 2, "rules": [{ "tool": "*" }, { "tool": "exec" }, 7] }),
        ),
    ] {
        assert_eq!(settings(&schema, &config), Ok(expected));
    }
}

#[test]
fn every_violation_is_told_with_its_key_path_and_without_its_value() {
    let schema = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["token"],
        "properties": {
            "token": {},
            "name": { "type": "string" },
            "rules": { "items": { "properties": { "action": { "enum": ["ask", "block"] } } } },
            "mode": { "oneOf": [{ "type": "string" }, { "type": "boolean" }] },
        },
    });
    let config = json!({ "name": 12345, "rules": [{}, { "action": "s3cret" }], "extra": 1, "mode": ["s3cret"] });
    let error = settings(&schema, &config).unwrap_err();
    let ConfigError::Violations { violations, more: 0 } = &error else { panic!("{error:?}") };
    let told: Vec<String> = violations.iter().map(ToString::to_string).collect();
    for expected in [
        "plugins.entries.guard.config.name: the value is not of type \"string\"",
        "plugins.entries.guard.config.rules[1].action: the value is not one of \"ask\" or \"block\"",
        "plugins.entries.guard.config: Additional properties are not allowed ('extra' was unexpected)",
        "plugins.entries.guard.config: \"token\" is a required property",
        "plugins.entries.guard.config.mode: the value is not valid under any of the schemas listed in the 'oneOf' keyword",
    ] {
        assert!(told.iter().any(|it| it == expected), "{told:#?}\nwanted: {expected}");
    }
    assert_eq!(told.len(), 5);
    assert!(!error.to_string().contains("s3cret") && !error.to_string().contains("12345"), "{error}");
}

#[test]
fn a_default_must_fit_its_own_schema() {
    let schema = json!({ "properties": { "n": { "type": "integer", "default": "seven" } } });
    let error = settings(&schema, &json!({})).unwrap_err().to_string();
    assert_eq!(error, "plugins.entries.guard.config.n: the value is not of type \"integer\"");
}

#[test]
fn a_schema_without_settings_takes_none() {
    let schema = json!({ "type": "object", "additionalProperties": false });
    assert_eq!(settings(&schema, &json!({})), Ok(json!({})));
    let error = settings(&schema, &json!({ "a": 1, "b": 2 })).unwrap_err().to_string();
    assert_eq!(error, "plugins.entries.guard.config: takes no keys, found `a`, `b`");
    let forbidden = json!({ "properties": { "old": false } });
    let error = settings(&forbidden, &json!({ "old": "s3cret" })).unwrap_err().to_string();
    assert_eq!(error, "plugins.entries.guard.config.old: is not allowed");
}

#[test]
fn a_schema_that_is_none_is_refused_with_its_place() {
    for (schema, expected) in [
        (json!({ "type": "objekt" }), "`configSchema/type` is not valid JSON Schema"),
        (json!({ "properties": { "a": { "minLength": -1 } } }), "`configSchema/properties/a/minLength` is not valid"),
        (json!({ "$schema": "https://example.com/mine" }), "Unknown meta-schema"),
        (json!({ "properties": { "a": { "pattern": "(" } } }), "`configSchema/properties/a/pattern` is not valid"),
        (json!({ "properties": { "a": { "pattern": "(?=look)ahead" } } }), "`configSchema/properties/a/pattern` is not valid"),
        (
            json!({ "properties": { "a": { "pattern": "(\\w{1000}){1000}" } } }),
            "`configSchema/properties/a/pattern` is not valid",
        ),
    ] {
        let error = compile(&schema).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}\nwanted: {expected}");
    }
}

#[test]
fn references_stay_inside_the_schema() {
    for (schema, place) in [
        (json!({ "$ref": "https://example.com/schema.json" }), ""),
        (json!({ "properties": { "a": { "$ref": "file:///etc/passwd" } } }), "/properties/a"),
        (json!({ "items": [{ "$ref": "other.json#/x" }] }), "/items/0"),
        (json!({ "$ref": "#/nowhere" }), ""),
        (json!({ "$ref": "#name" }), ""),
        (json!({ "$ref": "#/x%2Fy", "x/y": {} }), ""),
        (json!({ "$ref": "#/x", "x": { "not": { "$ref": "https://example.com" } } }), "/x/not"),
    ] {
        let error = compile(&schema).unwrap_err();
        assert!(
            matches!(&error, SchemaError::Refused { place: at, problem: SchemaProblem::Reference(_) } if at == place),
            "{error}"
        );
        assert!(error.to_string().contains("nothing is fetched"));
    }
    for schema in [
        json!({ "$defs": { "a": { "$id": "https://example.com/a" } } }),
        json!({ "allOf": [{ "$anchor": "a" }] }),
        json!({ "$dynamicRef": "#a" }),
        json!({ "dependentSchemas": { "a": { "$recursiveRef": "#" } } }),
    ] {
        assert!(matches!(compile(&schema), Err(SchemaError::Refused { .. })), "{schema}");
    }
    let fine = json!({
        "$id": "https://example.com/own", "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": { "$ref": { "type": "string" }, "next": { "$ref": "#" }, "id": { "type": "string" } },
        "examples": [{ "$ref": "https://example.com" }],
    });
    assert_eq!(
        settings(&fine, &json!({ "$ref": "x", "next": { "next": {} } })),
        Ok(json!({ "$ref": "x", "next": { "next": {} } }))
    );
}

#[test]
fn a_schema_that_multiplies_itself_is_stopped() {
    let mut definitions = Map::new();
    for n in 0..40 {
        let twice = json!({ "$ref": format!("#/$defs/d{}", n + 1) });
        definitions.insert(format!("d{n}"), json!({ "allOf": [twice, twice] }));
    }
    definitions.insert("d40".to_owned(), json!({ "type": "object" }));
    let doubled = json!({ "$defs": definitions.clone(), "$ref": "#/$defs/d0" });
    let behind_a_default = json!({ "$defs": definitions, "properties": { "a": { "default": {}, "$ref": "#/$defs/d0" } } });
    let endless = json!({ "properties": { "a": { "default": {}, "$ref": "#" }, "b": { "default": {}, "$ref": "#" } } });
    let branch = json!({ "properties": { "a": { "$ref": "#" } } });
    let recursive = json!({ "allOf": vec![branch; 100] });
    let looped = json!({ "$ref": "#" });
    let nested = json!({ "a": { "a": { "a": { "a": {} } } } });
    for (schema, config) in
        [(doubled, json!({})), (behind_a_default, json!({})), (endless, json!({})), (recursive, nested), (looped, json!({}))]
    {
        assert_eq!(settings(&schema, &config), Err(ConfigError::TooComplex { plugin: "guard".to_owned() }));
    }
}

#[test]
fn patterns_depth_and_size_are_bounded() {
    let patterns = |count: usize| {
        let properties: Map<String, Value> = (0..count).map(|n| (format!("p{n}"), json!({ "pattern": "a" }))).collect();
        json!({ "properties": properties })
    };
    assert!(compile(&patterns(MAX_PATTERNS)).is_ok());
    assert!(matches!(compile(&patterns(MAX_PATTERNS + 1)), Err(SchemaError::Refused { problem: SchemaProblem::Patterns, .. })));

    let mut chain = Map::new();
    for n in 0..400 {
        chain.insert(format!("c{n}"), json!({ "$ref": format!("#/$defs/c{}", n + 1) }));
    }
    chain.insert("c400".to_owned(), json!(true));
    let chain = json!({ "$defs": chain, "$ref": "#/$defs/c0" });
    assert!(matches!(compile(&chain), Err(SchemaError::Refused { problem: SchemaProblem::Depth, .. })));

    let large = json!({ "properties": { "l": { "items": { "properties": { "d": { "default": "x".repeat(100_000) } } } } } });
    let list = json!({ "l": vec![json!({}); 1000] });
    assert_eq!(settings(&large, &list), Err(ConfigError::TooLong { plugin: "guard".to_owned() }));
    let long = json!({ "text": "x".repeat(MAX_CONFIG_BYTES) });
    assert_eq!(settings(&json!({}), &long), Err(ConfigError::TooLong { plugin: "guard".to_owned() }));
}

#[test]
fn many_violations_are_counted() {
    let schema = json!({ "additionalProperties": { "type": "string" } });
    let config: Map<String, Value> = (0..50).map(|n| (format!("k{n}"), json!(n))).collect();
    let error = settings(&schema, &Value::Object(config)).unwrap_err();
    assert!(matches!(&error, ConfigError::Violations { violations, more: 30 } if violations.len() == 20), "{error}");
    assert!(error.to_string().ends_with("; and 30 more"));
}

/// Any JSON value, built of words that mean something in schemas.
fn json_value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "type",
        "properties",
        "items",
        "allOf",
        "anyOf",
        "not",
        "$ref",
        "$defs",
        "default",
        "a",
        "pattern",
        "if",
        "required",
        "enum",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..5i64).prop_map(Value::from),
        prop::sample::select(vec!["#", "#/$defs/a", "object", "string", "a", "[", "https://x"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((word.clone(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())),
        ]
    })
}

proptest! {
    #[test]
    fn strange_schemas_and_settings_never_panic(schema in json_value(), config in json_value()) {
        if let (Value::Object(schema), Value::Object(config)) = (&schema, &config)
            && let Ok(schema) = ConfigSchema::compile(schema)
        {
            let _ = schema.settings("guard", config);
        }
    }
}

#[test]
fn a_tool_schema_that_unfolds_without_end_is_refused() {
    let doubling = |levels: usize| {
        let mut defs = serde_json::Map::new();
        for level in 0..levels {
            let next = format!("#/$defs/d{}", level + 1);
            defs.insert(format!("d{level}"), serde_json::json!({ "allOf": [{ "$ref": next }, { "$ref": next }] }));
        }
        defs.insert(format!("d{levels}"), serde_json::json!({ "type": "object" }));
        serde_json::json!({ "$ref": "#/$defs/d0", "$defs": defs })
    };
    assert_eq!(super::problem_of_tool_schema(&doubling(5)), None);
    assert!(super::problem_of_tool_schema(&doubling(30)).is_some(), "2^30 ways lead to its end");

    let mut chain = serde_json::Map::new();
    for level in 0..100_000 {
        chain.insert(format!("d{level}"), serde_json::json!({ "$ref": format!("#/$defs/d{}", level + 1) }));
    }
    chain.insert("d100000".to_owned(), serde_json::json!(true));
    let chain = serde_json::json!({ "$ref": "#/$defs/d0", "$defs": chain });
    assert!(super::problem_of_tool_schema(&chain).is_some(), "a long chain must not be followed by recursion");

    let own_tail = serde_json::json!({ "type": "object", "properties": { "next": { "$ref": "#" } } });
    assert!(super::problem_of_tool_schema(&own_tail).is_some(), "it has no end");
    let ordinary =
        serde_json::json!({ "type": "object", "properties": { "value": { "type": "number" } }, "required": ["value"] });
    assert_eq!(super::problem_of_tool_schema(&ordinary), None);
}

#[test]
fn no_key_or_word_of_a_schema_controls_a_terminal_or_fills_it() {
    for name in ["a\n\u{1b}[31m".to_owned(), "x".repeat(100_000)] {
        let errors = [
            compile(&json!({ "type": name })).unwrap_err().to_string(),
            compile(&json!({ "properties": { &name: { "$ref": "https://example.org" } } })).unwrap_err().to_string(),
            settings(&json!({ "additionalProperties": { "type": "null" } }), &json!({ &name: 1 })).unwrap_err().to_string(),
        ];
        for told in errors {
            assert!(!told.contains(char::is_control) && told.len() <= 1024, "{told:?}");
        }
    }
}
