//! `creel config check|schema`, and a bad configuration in front of any other command.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, CORE_MODULE, example, json_of, stderr, write_plugin};

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
    write_plugin(&bed.state().join("plugins"), "guard", json!({}), None);
    named(true, &["plugins", "disable", "guard"]).success();
    assert!(bed.work().join("nowhere.json").exists(), "a command that writes it makes it");
}

#[test]
fn a_configuration_that_is_no_file_is_refused_at_once() {
    let bed = Bed::new();
    assert!(std::process::Command::new("mkfifo").arg(bed.work().join("pipe")).status().unwrap().success());
    for odd in ["pipe", "/dev/zero", "."] {
        bed.creel(&["config", "check", "--config", odd]).code(3).stdout("").stderr(contains("not a regular file"));
    }
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
fn failures_are_objects_on_stdout_only_where_json_was_asked_for() {
    let bed = Bed::new();
    let homeless = |arguments: &[&str]| {
        let mut command = bed.command(arguments);
        command.env_remove("HOME").env_remove("CREEL_STATE_DIR");
        Bed::finish(&mut command).code(3).stderr(contains("error: ").and(contains("set CREEL_STATE_DIR")))
    };
    for arguments in [&["config", "schema"][..], &["config", "check"], &["sessions", "export"], &["sessions", "list"]] {
        homeless(arguments).stdout("");
    }
    assert_eq!(json_of(&homeless(&["config", "check", "--json"]))["error"]["exitCode"], 3);
    assert_eq!(json_of(&homeless(&["sessions", "list", "--json"]))["error"]["exitCode"], 3);
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

/// A place with a plugin `guard` whose settings have a schema, and with these entries.
fn with_guard(entries: &str) -> Bed {
    let bed = Bed::new();
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["level"],
        "properties": { "level": { "type": "integer" }, "rules": { "type": "array", "items": { "type": "string" } } },
    });
    // A component that cannot be compiled: nobody tries to.
    write_plugin(&bed.state().join("plugins"), "guard", json!({ "configSchema": schema }), Some(CORE_MODULE));
    bed.write_config(&format!("{{ plugins: {{ entries: {{\n{entries}\n}} }} }}"));
    bed
}

#[test]
fn settings_of_plugins_are_compared_with_their_schemas() {
    let bed = with_guard("guard: { config: { level: 'high',\n rules: ['a', 3] } },");
    let told = stderr(&bed.creel(&["config", "check"]).code(3).stdout(""));
    for part in [
        "has 2 errors",
        "creel.json:2:27: plugins.entries.guard.config.level\n  the value is not of type \"integer\"",
        "creel.json:3:15: plugins.entries.guard.config.rules[1]\n",
    ] {
        assert!(told.contains(part), "`{part}` in\n{told}");
    }
    assert!(!told.contains("high"), "values may be secret: {told}");
    assert!(!bed.state().join("cache").exists(), "nothing was compiled");
    let failure = json_of(&bed.creel(&["config", "check", "--json"]).code(3));
    assert!(failure["error"]["message"].as_str().unwrap().contains("plugins.entries.guard.config.level"), "{failure}");
    // Settings that are missing have the place of what is around them.
    let told = stderr(&with_guard("guard: {},").creel(&["config", "check"]).code(3));
    assert!(
        told.contains("creel.json:2:8: plugins.entries.guard.config\n") && told.contains("\"level\" is a required"),
        "{told}"
    );
    with_guard("guard: { config: { level: 1 } },").creel(&["config", "check"]).success().stderr("");
    // A plugin that is off needs no settings; what is wrong with them is worth a word.
    let off = with_guard("guard: { enabled: false },").creel(&["config", "check"]).success();
    assert!(
        stderr(&off).contains("warning: ") && stderr(&off).contains("creel.json:2:8: plugins.entries.guard.config: "),
        "{}",
        stderr(&off)
    );
}

#[test]
fn an_entry_without_a_plugin_is_a_warning_with_its_place() {
    let bed = with_guard("guard: { config: { level: 1 } },\n  gaurd: { enabled: true },");
    let warning = "creel.json:3:10: plugins.entries.gaurd: no plugin with this id was found; did you mean `guard`?";
    let told = stderr(&bed.creel(&["config", "check"]).success().stdout(contains("is valid")));
    assert!(told.contains(warning), "{told}");
    let result = json_of(&bed.creel(&["config", "check", "--json"]).success());
    assert!(result["warnings"][0].as_str().unwrap().ends_with(warning), "{result}");
}

#[test]
fn a_required_plugin_that_does_not_run_is_an_error() {
    let off = "config: { level: 1 }, required: true, enabled: false";
    for (id, entries, key, why) in [
        ("guard", format!("guard: {{ {off} }}"), "required", "plugins.entries.guard.enabled is false"),
        ("gone", "gone: { required: true, enabled: false }".to_owned(), "required", "plugins.entries.gone.enabled is false"),
        ("gone", "gone: { required: true }".to_owned(), "", "no plugin with this id was found"),
    ] {
        let told = stderr(&with_guard(&entries).creel(&["config", "check"]).code(3));
        let key = if key.is_empty() { String::new() } else { format!(".{key}") };
        assert!(told.contains(&format!(": plugins.entries.{id}{key}\n  it is required, so nothing would run: {why}")), "{told}");
    }
    let bed = Bed::configured(&json!({ "plugins": {
        "enabled": false, "load": { "paths": [example("tool-guard")] }, "entries": { "tool-guard": { "required": true }, "x": {} },
    } }));
    let told = stderr(&bed.creel(&["config", "check"]).code(3));
    assert!(told.contains("has 1 error\n") && told.contains("plugins.enabled is false"), "{told}");
}

#[test]
fn the_reference_is_text_for_people() {
    let reference = Bed::new().creel(&["config", "schema", "--markdown"]).success().stderr("");
    let documented = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md")).unwrap();
    reference.stdout(documented);
}

#[test]
fn loop_059_a_provider_timeout_above_the_run_s_is_a_warning_that_names_both_keys() {
    let config = |run: u64| {
        json!({
            "agents": { "defaults": { "timeoutSeconds": run } },
            "models": { "providers": { "acme": { "baseUrl": "http://127.0.0.1:1/v1", "timeoutSeconds": 600 } } },
        })
    };
    let told = stderr(&Bed::configured(&config(300)).creel(&["config", "check"]).success());
    for key in ["models.providers.acme.timeoutSeconds", "agents.defaults.timeoutSeconds"] {
        assert!(told.contains(key), "{told}");
    }
    let told = stderr(&Bed::configured(&config(900)).creel(&["config", "check"]).success());
    assert!(!told.contains("timeoutSeconds"), "{told}");
}
