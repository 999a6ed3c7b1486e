//! `creel config check|schema`, and a bad configuration in front of any other command.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, json_of, stderr};

/// Both `config check` and a run refuse the file, and say each of these.
fn refused(text: impl AsRef<[u8]>, parts: &[&str]) {
    let bed = Bed::new();
    std::fs::write(bed.config_path(), text).unwrap();
    let path = bed.config_path().display().to_string();
    for arguments in [&["config", "check"][..], &["agent", "--message", "hi"]] {
        let assert = bed.creel(arguments).code(3).stdout("");
        for part in [&path.as_str()].into_iter().chain(parts) {
            assert!(stderr(&assert).contains(part), "{arguments:?} must say `{part}`:\n{}", stderr(&assert));
        }
    }
    let failure = json_of(&bed.creel(&["config", "check", "--json"]).code(3));
    assert_eq!(failure["error"]["exitCode"], 3);
    assert!(failure["error"]["message"].as_str().unwrap().contains(parts[0]), "{failure}");
}

#[test]
fn a_wrong_type_names_key_path_and_line() {
    refused(
        "{\n  // how long a run may take\n  agents: { defaults: { timeoutSeconds: [1] } },\n}",
        &["creel.json:3:41: agents.defaults.timeoutSeconds", "found a list", "expected a whole number of seconds"],
    );
    refused(r#"{ plugins: { entries: { guard: { enabled: "yes" } } } }"#, &["creel.json:1:43: plugins.entries.guard.enabled"]);
}

#[test]
fn an_unknown_key_has_a_suggestion_and_all_errors_are_told() {
    refused(
        "{\n  agents: { defaults: { modell: \"offline/echo\" } },\n  logging: { levl: \"info\" },\n}",
        &[
            "agents.defaults.modell",
            "did you mean `model`?",
            "creel.json:3:14: logging.levl",
            "did you mean `level`?",
            "has 2 errors",
        ],
    );
}

#[test]
fn what_is_no_json5_has_a_place() {
    refused("{ agents: [ }", &["creel.json:1:13", "expected a value", "1 | { agents: [ }"]);
    refused("{}\n{}", &["creel.json:2:1"]);
    refused("", &["the file is empty"]);
}

#[test]
fn a_file_that_is_not_utf8_has_a_place() {
    refused(b"{ // \xff\n}", &["creel.json:1:6", "the file is not UTF-8 from here on"]);
}

#[test]
fn a_hook_that_does_not_exist_is_found_before_a_run() {
    refused(
        "{ plugins: { entries: { guard: {\n  hooks: { timeouts: { before_tool_cal: 500 } } } } } }",
        &["creel.json:2:41: plugins.entries.guard.hooks.timeouts.before_tool_cal", "did you mean `before_tool_call`?"],
    );
}

#[test]
fn a_model_that_is_none_is_found_before_a_run() {
    refused(r#"{ agents: { defaults: { model: "sonnet" } } }"#, &["`sonnet` is not a model reference", "provider/model"]);
}

#[test]
fn a_variable_that_is_not_set_is_named_and_one_that_is_set_is_used() {
    let text = r#"{ models: { providers: { acme: { baseUrl: "http://127.0.0.1:9/v1", apiKey: "${ACME_KEY}" } } } }"#;
    refused(text, &["models.providers.acme.apiKey", "`ACME_KEY` is not set"]);
    let bed = Bed::new();
    bed.write_config(text);
    let mut command = bed.command(&["config", "check"]);
    let assert = Bed::finish(command.env("ACME_KEY", "sk-secret")).success();
    assert!(!stderr(&assert).contains("sk-secret"));
}

#[test]
fn a_good_file_is_valid_and_a_missing_one_means_the_defaults() {
    let bed = Bed::new();
    let path = bed.config_path().display().to_string();
    bed.creel(&["config", "check"]).success().stdout(format!("There is no {path}; the defaults apply.\n")).stderr("");
    let result = json_of(&bed.creel(&["config", "check", "--json"]).success());
    assert_eq!(result, json!({ "path": path, "existed": false, "valid": true, "warnings": [] }));
    bed.write_config("{ agents: { defaults: { model: 'offline/echo' } }, } // JSON5");
    bed.creel(&["config", "check"]).success().stdout(format!("{path} is valid.\n")).stderr("");
    let result = json_of(&bed.creel(&["config", "check", "--json"]).success());
    assert_eq!((&result["existed"], &result["valid"]), (&json!(true), &json!(true)));
}

#[test]
fn warnings_are_told_and_stop_nothing() {
    let bed = Bed::configured(&json!({ "gateway": { "port": 1 } }));
    bed.creel(&["config", "check"]).success().stdout(contains("is valid")).stderr(contains("warning:").and(contains("gateway")));
    let result = json_of(&bed.creel(&["config", "check", "--json"]).success().stderr(""));
    assert!(result["warnings"][0].as_str().unwrap().contains("gateway"), "{result}");
    bed.creel(&["agent", "--message", "hi"]).success().stdout("hi\n").stderr(contains("warning:"));
}

#[test]
fn a_named_file_that_is_missing_is_no_configuration() {
    let bed = Bed::new();
    let named = |by_option: bool, arguments: &[&str]| {
        let mut command = bed.command(arguments);
        if by_option {
            command.args(["--config", "nowhere.json"]);
        } else {
            command.env("CREEL_CONFIG_PATH", "nowhere.json");
        }
        Bed::finish(&mut command)
    };
    for by_option in [true, false] {
        named(by_option, &["config", "check"]).success().stderr(contains("warning:").and(contains("does not exist")));
        // The defaults have none of the guards that the file would have.
        named(by_option, &["agent", "--message", "hi"]).code(3).stdout("").stderr(contains("nowhere.json does not exist"));
    }
    named(true, &["plugins", "disable", "guard"]).success();
    assert!(bed.work().join("nowhere.json").exists(), "a command that writes it makes it");
}

#[test]
fn another_file_may_be_named_and_its_paths_start_there() {
    let bed = Bed::new();
    std::fs::create_dir(bed.work().join("etc")).unwrap();
    bed.file("etc/script.json5", r#"{ turns: [{ play: [{ text: "from the other file" }] }] }"#);
    bed.file(
        "etc/mine.json5",
        r#"{ agents: { defaults: { model: "offline/script" } }, models: { providers: { offline: { script: "script.json5" } } } }"#,
    );
    bed.creel(&["agent", "--message", "hi", "--config", "etc/mine.json5"]).success().stdout("from the other file\n");
}

#[test]
fn the_schema_is_a_schema_and_means_what_the_host_means() {
    let bed = Bed::new();
    let schema = json_of(&bed.creel(&["config", "schema"]).success().stderr(""));
    assert!(jsonschema::meta::is_valid(&schema), "the schema is no JSON Schema");
    let validator = jsonschema::validator_for(&schema).unwrap();
    let good: Value = json!({ "agents": { "defaults": { "model": "offline/echo", "timeoutSeconds": 5 } } });
    for (config, is_valid) in [
        (good, true),
        (json!({}), true),
        (json!({ "agents": { "defaults": { "timeoutSeconds": [1] } } }), false),
        (json!({ "agents": { "defaults": { "modell": "x" } } }), false),
    ] {
        assert_eq!(validator.is_valid(&config), is_valid, "schema: {config}");
        bed.write_config(&config.to_string());
        bed.creel(&["config", "check"]).code(if is_valid { 0 } else { 3 });
    }
}
