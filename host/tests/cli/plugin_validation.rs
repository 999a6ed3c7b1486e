//! `creel plugins validate`: what would load, and what an operator would have to grant.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, component_exporting, example, examples, json_of, stderr, stdout, write_plugin};

#[test]
fn a_plugin_is_valid_if_it_would_load() {
    let bed = Bed::configured(&json!({ "plugins": { "enabled": false, "deny": ["tool-guard"] } })).warm();
    let folder = example("tool-guard").to_str().unwrap();
    bed.creel(&["plugins", "validate", folder]).success().stdout("plugin `tool-guard` is valid.\n").stderr("");
    let result = json_of(&bed.creel(&["plugins", "validate", folder, "--json"]).success().stderr(""));
    assert_eq!((&result[0]["id"], &result[0]["state"]), (&json!("tool-guard"), &json!("on")));
    assert_eq!(result[0]["toGrant"], json!([]));
    assert!(fs::exists(bed.state().join("cache")).unwrap());
    let all = stdout(&bed.creel(&["plugins", "validate", examples().to_str().unwrap()]).success());
    assert_eq!(all.lines().filter(|line| line.contains(" is valid.")).count(), 9, "{all}");
    bed.creel(&["plugins", "validate", "nowhere"]).code(2).stderr(contains("nowhere does not exist"));
    let empty = bed.creel(&["plugins", "validate", "."]).code(4).stdout("");
    assert_eq!(stderr(&empty).matches(&bed.work().display().to_string()).count(), 1, "said once: {}", stderr(&empty));
}

#[test]
fn what_is_not_granted_is_told_as_an_entry_that_grants_it() {
    let bed = Bed::new().warm();
    let folder = example("run-journal").to_str().unwrap();
    let told = stdout(&bed.creel(&["plugins", "validate", folder]).success().stderr(""));
    let (sentence, entry) = told.split_once('\n').unwrap();
    assert!(sentence.starts_with("plugin `run-journal` is valid. It asks for what the configuration does not grant"), "{told}");
    let result = json_of(&bed.creel(&["plugins", "validate", folder, "--json"]).success());
    assert_eq!(result[0]["notGranted"], json!(["kv"]));
    let wanted = json!([
        { "key": "plugins.entries.run-journal.capabilities.kv", "value": { "maxBytes": 1 << 20 } },
        { "key": "plugins.entries.run-journal.hooks.allowConversationAccess", "value": true },
    ]);
    assert_eq!(result[0]["toGrant"], wanted);

    let refused = bed.creel(&["plugins", "validate", folder, "--as-configured"]).code(4).stdout("");
    assert!(stderr(&refused).contains("which is not granted; to grant it set plugins.entries.run-journal.capabilities.kv"));
    // Pasted as it stands, the entry grants everything.
    bed.write_config(&format!("{{ plugins: {{ entries: {{\n{entry}}} }} }}"));
    bed.creel(&["plugins", "validate", folder, "--as-configured"])
        .success()
        .stdout("plugin `run-journal` is valid.\n")
        .stderr("");
}

#[test]
fn what_the_operator_granted_is_not_told_again() {
    let entry = json!({ "capabilities": { "kv": { "maxBytes": 10 } } });
    let bed = Bed::configured(&json!({ "plugins": { "entries": { "run-journal": entry } } })).warm();
    let result = json_of(&bed.creel(&["plugins", "validate", example("run-journal").to_str().unwrap(), "--json"]).success());
    let keys: Vec<&Value> = result[0]["toGrant"].as_array().unwrap().iter().map(|line| &line["key"]).collect();
    assert_eq!(keys, ["plugins.entries.run-journal.hooks.allowConversationAccess"]);
}

#[test]
fn what_nobody_can_grant_is_said() {
    let bed = Bed::new();
    let component = wat::parse_str(r#"(component (import "creel:plugin/cron-read@0.1.0" (instance)))"#).unwrap();
    write_plugin(&bed.work(), "keeper", json!({ "capabilities": { "cronRead": true } }), Some(&component));
    let refused = bed.creel(&["plugins", "validate", "keeper"]).code(4).stdout("");
    assert!(stderr(&refused).contains("which this version of the host does not offer"), "{}", stderr(&refused));
    let component = wat::parse_str("(component)").unwrap();
    write_plugin(&bed.work(), "dreamer", json!({ "capabilities": { "cronRead": true } }), Some(&component));
    let dreamer = bed.creel(&["plugins", "validate", "dreamer"]).success();
    assert!(
        stderr(&dreamer).contains("warning: plugin `dreamer` asks for `cronRead`, which this version of the host does not offer")
    );
}

#[test]
fn source_that_was_not_built_says_how_it_is_built() {
    let bed = Bed::new();
    let folder = write_plugin(&bed.work(), "my-guard", json!({ "component": "my-guard.wasm" }), None);
    let missing = contains("my-guard.wasm does not exist");
    bed.creel(&["plugins", "validate", "my-guard"]).code(4).stderr(missing.clone().and(contains("hint:").not()));
    fs::write(folder.join("Cargo.toml"), "").unwrap();
    let build =
        || contains("hint: build it with `cargo build --release --target wasm32-wasip2`").and(contains("release/my_guard.wasm"));
    for command in ["validate", "inspect", "pack"] {
        bed.creel(&["plugins", command, "my-guard"]).code(4).stderr(build());
    }
    fs::write(folder.join("my_guard.wasm"), component_exporting("creel:plugin/agent-end@0.1.0")).unwrap();
    let rename = contains("hint: my_guard.wasm is there: rename it, or write \"component\": \"my_guard.wasm\" into the manifest");
    bed.creel(&["plugins", "validate", "my-guard"]).code(4).stderr(missing.and(rename));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../example-plugins/tool-guard");
    bed.creel(&["plugins", "validate", source]).code(4).stderr(contains("`cargo xtask guests` builds it into"));
}

#[test]
fn a_manifest_without_a_schema_says_what_to_write() {
    let bed = Bed::new();
    fs::create_dir(bed.work().join("guard")).unwrap();
    bed.file("guard/creel.plugin.json", r#"{ "id": "guard", "component": "guard.wasm" }"#);
    let remedy = contains(r#"`configSchema` is missing; for a plugin without settings write "configSchema": { "type": "object""#);
    bed.creel(&["plugins", "validate", "guard"]).code(4).stderr(remedy);
}
