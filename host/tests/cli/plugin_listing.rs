//! `creel plugins list|inspect|validate` with the example plugins.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, component_exporting, example, examples, json_of, stderr, stdout, write_plugin};

/// The example plugins, with these entries.
fn with_examples(entries: Value) -> Bed {
    Bed::configured(&json!({ "plugins": { "load": { "paths": [examples()] }, "entries": entries } }))
}

/// The row of a plugin in the table.
fn row(table: &str, plugin: &str) -> Vec<String> {
    let line = table.lines().find(|line| line.starts_with(plugin)).unwrap_or_else(|| panic!("no row of {plugin}:\n{table}"));
    line.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn without_plugins_there_is_a_hint() {
    let bed = Bed::new();
    let place = bed.state().join("plugins").display().to_string();
    bed.creel(&["plugins", "list"]).success().stdout("").stderr(contains("No plugins were found.").and(contains(place)));
    assert_eq!(json_of(&bed.creel(&["plugins", "list", "--json"]).success()), json!([]));
}

#[test]
fn the_list_has_a_row_for_each_plugin_and_a_reason_for_each_that_is_off() {
    let bed = with_examples(json!({
        "tool-guard": { "enabled": false }, "run-journal": { "capabilities": { "kv": true } }, "secret-redactor": { "required": true },
    }));
    let listed = stdout(&bed.creel(&["plugins", "list"]).success().stderr(""));
    let cells = |plugin: &str| row(&listed, plugin)[2..6].join(" ");
    assert_eq!(row(&listed, "PLUGIN"), ["PLUGIN", "VERSION", "STATE", "HOOKS", "TOOLS", "ORIGIN", "PLACE"]);
    assert_eq!(cells("install-gate"), "on 1 0 config");
    assert_eq!(cells("unit-convert"), "on 0 1 config");
    assert_eq!(cells("tool-guard"), "off - - config");
    assert_eq!(cells("outbound-filter"), "failed - - config");
    assert_eq!(cells("secret-redactor"), "on, required 2 0");
    assert_eq!(cells("auto-responder"), "on 0 0 config", "its one handler is behind a gate");
    for remark in [
        "plugin `tool-guard`: plugins.entries.tool-guard.enabled is false",
        "to grant it set plugins.entries.outbound-filter.capabilities.kv: true",
        "plugins.entries.auto-responder.hooks.allowConversationAccess: true",
    ] {
        assert!(listed.contains(remark), "`{remark}` in\n{listed}");
    }
    let all = json_of(&bed.creel(&["plugins", "list", "--json"]).success());
    let of = |id: &str| all.as_array().unwrap().iter().find(|plugin| plugin["id"] == id).unwrap().clone();
    assert_eq!(all.as_array().unwrap().len(), 9);
    assert_eq!((&of("tool-guard")["state"], &of("unit-convert")["tools"]), (&json!("off"), &json!(["convert_units"])));
    assert_eq!(of("outbound-filter")["notGranted"], json!(["kv"]));
    assert_eq!(of("auto-responder")["hooks"][0]["deniedBy"], "allowConversationAccess");
    assert_eq!(of("install-gate")["hooks"][0]["deniedBy"], Value::Null);
}

#[test]
fn an_entry_without_a_plugin_is_told() {
    let bed = Bed::configured(&json!({ "plugins": { "entries": { "gaurd": { "enabled": true } } } }));
    for arguments in [&["plugins", "list"][..], &["plugins", "list", "--json"]] {
        bed.creel(arguments).success().stderr(contains("plugins.entries.gaurd is for a plugin that was not found"));
    }
}

#[test]
fn further_directories_may_be_named() {
    let bed = Bed::new();
    let dir = example("unit-convert").to_str().unwrap();
    bed.creel(&["plugins", "list", "--plugin-dir", dir]).success().stdout(contains("unit-convert"));
    bed.creel(&["plugins", "list", "--plugin-dir", "nowhere"]).code(2).stderr(contains("--plugin-dir: nowhere does not exist"));
}

#[test]
fn inspection_tells_what_a_plugin_hooks_into_and_asks_for() {
    let bed = with_examples(json!({}));
    let told = stdout(&bed.creel(&["plugins", "inspect", "run-journal"]).success().stderr(""));
    for part in [
        "run-journal 0.1.0\n",
        "  about        Counts what happens",
        "  hook         after_tool_call (priority 0)\n",
        "  hook         agent_end (priority 0, not called without hooks.allowConversationAccess)\n",
        "  imports      creel:plugin/kv@0.1.0 (needs the grant `kv`)\n",
        "  not granted  kv\n",
        "sha256 ",
        "  limits       memory 64 MiB, 32 calls at once, log 64 KiB a call, answers 8 MiB",
    ] {
        assert!(told.contains(part), "`{part}` in\n{told}");
    }
    let told = json_of(&bed.creel(&["plugins", "inspect", "unit-convert", "--json"]).success());
    assert_eq!((&told[0]["state"], &told[0]["tools"]), (&json!("on"), &json!(["convert_units"])));
    assert_eq!(told[0]["sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn inspection_runs_and_compiles_nothing() {
    let bed = with_examples(json!({}));
    bed.creel(&["plugins", "inspect", "tool-guard"]).success();
    bed.creel(&["plugins", "list"]).success();
    assert!(!bed.state().join("cache").exists(), "nothing was compiled");
    // It imports what nobody has and has no function to call; there is nothing that could run.
    let component = wat::parse_str(
        r#"(component (import "acme:secret/door" (instance)) (instance $i) (export "creel:plugin/agent-end@0.1.0" (instance $i)))"#,
    );
    let folder = write_plugin(&bed.work(), "strange", json!({}), Some(&component.unwrap()));
    let told = stdout(&bed.creel(&["plugins", "inspect", folder.to_str().unwrap()]).success());
    assert!(told.contains("imports      acme:secret/door (this host does not know it)"), "{told}");
    assert!(told.contains("hook         agent_end"), "{told}");
    assert!(told.contains("state        failed: ") && told.contains("unknown import `acme:secret/door`"), "{told}");
}

#[test]
fn inspection_shows_all_of_a_plugin_that_is_off() {
    let bed = with_examples(json!({ "tool-guard": { "enabled": false } }));
    let told = stdout(&bed.creel(&["plugins", "inspect", "tool-guard"]).success());
    assert!(told.contains("state        off: plugins.entries.tool-guard.enabled is false"), "{told}");
    assert!(
        told.contains("hook         before_tool_call (priority 100)") && told.contains("creel:plugin/config@0.1.0"),
        "{told}"
    );
}

#[test]
fn inspection_takes_ids_directories_and_files() {
    let bed = with_examples(json!({}));
    let folder = example("tool-guard");
    let told = stdout(&bed.creel(&["plugins", "inspect", folder.to_str().unwrap()]).success());
    assert!(told.starts_with("tool-guard 0.1.0\n"), "{told}");
    let component = folder.join("tool-guard.wasm");
    let told = stdout(&bed.creel(&["plugins", "inspect", component.to_str().unwrap()]).success());
    assert!(told.contains("hook         before_tool_call") && told.contains("has no manifest in it"), "{told}");
    let nothing =
        contains("there is no plugin `nobody`, and no file or directory of that name").and(contains("`creel plugins list`"));
    bed.creel(&["plugins", "inspect", "nobody"]).code(2).stdout("").stderr(nothing);
}

#[test]
fn words_of_a_plugin_cannot_control_the_terminal() {
    let bed = Bed::new();
    let manifest =
        json!({ "version": "1\u{1b}[2J", "description": "two\nlines \u{7}", "contracts": { "tools": ["t\u{1b}[1A"] } });
    let component = component_exporting("creel:plugin/agent-end@0.1.0");
    write_plugin(&bed.state().join("plugins"), "loud", manifest, Some(&component));
    // Every run of the binary here is checked for escape codes.
    bed.creel(&["plugins", "list"]).success().stdout(contains("1\\u{1b}[2J"));
    let told = stdout(&bed.creel(&["plugins", "inspect", "loud"]).success());
    assert!(told.contains("about        two lines \\u{7}\n") && told.contains("t\\u{1b}[1A"), "{told}");
}

#[test]
fn a_plugin_is_valid_if_it_would_load() {
    let bed = Bed::configured(&json!({ "plugins": { "enabled": false, "deny": ["tool-guard"] } })).warm();
    let folder = example("tool-guard").to_str().unwrap();
    bed.creel(&["plugins", "validate", folder]).success().stdout("plugin `tool-guard` is valid.\n").stderr("");
    let result = json_of(&bed.creel(&["plugins", "validate", folder, "--json"]).success().stderr(""));
    assert_eq!((&result[0]["id"], &result[0]["state"]), (&json!("tool-guard"), &json!("on")));
    assert!(fs::exists(bed.state().join("cache")).unwrap());
    let all = bed.creel(&["plugins", "validate", examples().to_str().unwrap()]).code(4);
    assert_eq!(stdout(&all).lines().filter(|line| line.ends_with(" is valid.")).count(), 7, "{}", stdout(&all));
    assert!(stderr(&all).contains("error: plugin `run-journal`: "), "{}", stderr(&all));
    bed.creel(&["plugins", "validate", "nowhere"]).code(2).stderr(contains("nowhere does not exist"));
    let empty = bed.creel(&["plugins", "validate", "."]).code(4).stdout("");
    assert_eq!(stderr(&empty).matches(&bed.work().display().to_string()).count(), 1, "said once: {}", stderr(&empty));
}
