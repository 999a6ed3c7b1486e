//! Plugins that cannot be used: what is said about each, and that a run goes on without them unless they are required.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, CORE_MODULE, component_exporting, example, json_of, stderr, write_plugin};

/// `validate` and `list` say what is wrong, and a run says it too and goes on.
fn told_everywhere(bed: &Bed, id: &str, parts: &[&str]) {
    let place = bed.state().join("plugins").join(id);
    let valid = bed.creel(&["plugins", "validate", "--as-configured", place.to_str().unwrap()]).code(4).stdout("");
    let listed = bed.creel(&["plugins", "list"]).success();
    let run = bed.creel(&["agent", "--message", "hi"]).success().stdout("hi\n");
    let texts = [stderr(&valid), crate::support::stdout(&listed), stderr(&run)];
    for (command, text) in ["validate", "list", "agent"].into_iter().zip(texts) {
        for part in parts {
            assert!(text.contains(part), "{command} must say `{part}`:\n{text}");
        }
    }
}

fn with_plugin(id: &str, manifest: Value, component: Option<&[u8]>) -> Bed {
    let bed = Bed::new();
    write_plugin(&bed.state().join("plugins"), id, manifest, component);
    bed
}

#[test]
fn a_missing_component() {
    let bed = with_plugin("guard", json!({}), None);
    told_everywhere(&bed, "guard", &["plugin `guard`: its component cannot be used", "plugin.wasm does not exist"]);
}

#[test]
fn a_core_module_in_place_of_a_component() {
    let bed = with_plugin("guard", json!({}), Some(CORE_MODULE));
    told_everywhere(&bed, "guard", &["plugin `guard`: ", "plugin.wasm is a core WebAssembly module", "wasm32-wasip2"]);
}

#[test]
fn something_that_is_no_webassembly() {
    let bed = with_plugin("guard", json!({}), Some(b"#!/bin/sh\n"));
    told_everywhere(&bed, "guard", &["plugin `guard`: ", "plugin.wasm"]);
}

#[test]
fn a_component_that_was_cut_in_half() {
    let whole = fs::read(example("tool-guard").join("tool-guard.wasm")).unwrap();
    let bed = with_plugin("guard", json!({}), Some(&whole[..whole.len() / 2]));
    told_everywhere(&bed, "guard", &["plugin `guard`: ", "plugin.wasm"]);
    // The same as one file, where the manifest should have been found.
    let bed = Bed::new();
    let plugins = bed.state().join("plugins");
    fs::create_dir(&plugins).unwrap();
    fs::write(plugins.join("half.wasm"), &whole[..whole.len() / 2]).unwrap();
    told_everywhere(&bed, "half.wasm", &["half.wasm"]);
}

#[test]
fn a_contract_that_this_host_does_not_know() {
    let bed = with_plugin("guard", json!({}), Some(&component_exporting("creel:plugin/before-tool-call@9.0.0")));
    told_everywhere(&bed, "guard", &["was built for creel:plugin 9.0.0", "this host knows 0.1"]);
}

#[test]
fn an_import_that_is_not_granted_comes_with_the_line_to_add() {
    let component = fs::read(example("run-journal").join("run-journal.wasm")).unwrap();
    let bed = with_plugin("journal", json!({}), Some(&component)).warm();
    told_everywhere(
        &bed,
        "journal",
        &["imports `creel:plugin/kv@0.1.0`, which is not granted", "plugins.entries.journal.capabilities.kv: true"],
    );
    bed.write_config(&json!({ "plugins": { "entries": { "journal": { "capabilities": { "kv": true } } } } }).to_string());
    let folder = bed.state().join("plugins/journal");
    let validated = bed.creel(&["plugins", "validate", "--as-configured", folder.to_str().unwrap()]).success();
    validated.stdout(contains("plugin `journal` is valid.").and(contains("kv").not()));
}

#[test]
fn a_hook_that_the_component_does_not_export() {
    let component = component_exporting("creel:plugin/agent-end@0.1.0");
    let bed = with_plugin("guard", json!({ "hooks": [{ "hook": "before_tool_call" }] }), Some(&component));
    told_everywhere(&bed, "guard", &["its manifest has an entry for `before_tool_call`, which", "does not export"]);
}

#[test]
fn a_hook_without_its_function() {
    // Only the types tell: the interface is there and has nothing in it.
    let bed = with_plugin("guard", json!({}), Some(&component_exporting("creel:plugin/before-tool-call@0.1.0")));
    let folder = bed.state().join("plugins/guard");
    bed.creel(&["plugins", "validate", folder.to_str().unwrap()]).code(4).stdout("").stderr(contains("plugin `guard`: "));
    bed.creel(&["agent", "--message", "hi"]).success().stdout("hi\n").stderr(contains("plugin `guard`: "));
}

#[test]
fn a_manifest_that_is_none() {
    for (text, part) in
        [("{", "creel.plugin.json"), ("{}", "`id` is missing"), (r#"{"id":"Not An Id","configSchema":{}}"#, "Not An Id")]
    {
        let bed = Bed::new();
        let folder = bed.state().join("plugins/guard");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("creel.plugin.json"), text).unwrap();
        told_everywhere(&bed, "guard", &["creel.plugin.json", part]);
    }
}

#[test]
fn settings_that_do_not_fit_the_schema_of_the_plugin() {
    let bed = Bed::configured(&json!({ "plugins": {
        "load": { "paths": [example("tool-guard")] }, "entries": { "tool-guard": { "config": { "rules": "all" } } },
    } }));
    let said = contains("plugin `tool-guard`: ").and(contains("plugins.entries.tool-guard.config")).and(contains("rules"));
    bed.creel(&["agent", "--message", "hi"]).success().stderr(said);
}

#[test]
fn two_plugins_with_one_id() {
    let component = fs::read(example("tool-guard").join("tool-guard.wasm")).unwrap();
    let bed = Bed::new().warm();
    for dir in ["a", "b"] {
        let folder = write_plugin(&bed.state().join("plugins"), dir, json!({ "id": "guard" }), Some(&component));
        assert!(folder.ends_with(dir));
    }
    let said = || {
        contains("two plugins have the id `guard`")
            .and(contains("plugins/a comes first"))
            .and(contains("plugins/b is left out; remove one"))
    };
    bed.creel(&["plugins", "list"]).success().stdout(said());
    bed.creel(&["agent", "--message", "hi"]).success().stdout("hi\n").stderr(said());
}

#[test]
fn a_required_plugin_that_cannot_load_stops_the_run_before_it_begins() {
    let turns = json!([{ "play": [{ "call": { "name": "exec", "arguments": { "command": "touch unguarded" } } }] }]);
    let required = json!({ "plugins": { "entries": { "guard": { "required": true } } } });
    for write in [None, Some(CORE_MODULE)] {
        let bed = Bed::scripted_with(&turns, required.clone());
        if let Some(component) = write {
            write_plugin(&bed.state().join("plugins"), "guard", json!({}), Some(component));
        }
        let assert = bed.creel(&["agent", "--message", "hi"]).code(4).stdout("");
        let said = stderr(&assert);
        assert!(said.contains("plugin `guard` is required and does not serve: ") && said.contains("hint: mend it"), "{said}");
        assert!(!bed.workspace().join("unguarded").exists(), "the model was asked");
        assert_eq!(bed.sessions(), Vec::<Value>::new(), "the message was accepted");
        let failure = json_of(&bed.creel(&["agent", "--message", "hi", "--json"]).code(4));
        assert_eq!(failure["error"]["exitCode"], 4);
    }
}

#[test]
fn a_required_plugin_that_is_switched_off_stops_the_run_too() {
    let bed = Bed::configured(&json!({ "plugins": {
        "load": { "paths": [example("tool-guard")] }, "entries": { "tool-guard": { "required": true, "enabled": false } },
    } }));
    let said = contains("plugin `tool-guard` is required and does not serve: plugins.entries.tool-guard.enabled is false");
    bed.creel(&["agent", "--message", "hi"]).code(4).stdout("").stderr(said);
}
