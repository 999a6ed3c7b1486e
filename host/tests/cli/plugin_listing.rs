//! `creel plugins list|inspect` with the example plugins.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, component_exporting, example, examples, json_of, stdout, write_plugin};

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
    let cells = |plugin: &str| row(&listed, plugin)[2..].join(" ").split(" config").next().unwrap().to_owned();
    assert_eq!(row(&listed, "PLUGIN"), ["PLUGIN", "VERSION", "STATE", "HOOKS", "TOOLS", "ORIGIN", "PLACE"]);
    assert_eq!(cells("install-gate"), "on 1 0");
    assert_eq!(cells("unit-convert"), "on 0 1");
    assert_eq!(cells("tool-guard"), "off - -");
    assert_eq!(cells("outbound-filter"), "failed - -");
    assert_eq!(cells("secret-redactor"), "on, required 2 0");
    assert_eq!(cells("run-journal"), "on 12 of 15 0", "the others are behind a gate");
    assert_eq!(cells("auto-responder"), "on, hooks refused 0 of 1 0", "its one handler is behind a gate");
    for remark in [
        "plugin `tool-guard`: plugins.entries.tool-guard.enabled is false",
        "to grant it set plugins.entries.outbound-filter.capabilities.kv: true",
        "plugin `auto-responder` is not called at before_agent_reply; to allow it set plugins.entries.auto-responder.hooks.allowConversationAccess: true",
        "plugin `run-journal` is not called at agent_end, llm_input, llm_output; to allow it set plugins.entries.run-journal.hooks.allowConversationAccess: true",
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
        "  hook         after_tool_call (priority 0, at most 600 s, all fields)\n",
        "  hook         agent_end (priority 0, at most 30 s, all fields, not called without hooks.allowConversationAccess)\n",
        "  imports      creel:plugin/kv@0.1.0 (needs the grant `kv`)\n",
        "  not granted  kv\n",
        "sha256 ",
        "  limit        memoryBytes 64 MiB\n",
        "  limit        toolMs 600 s\n",
        "  to grant     all that it asks for, add below plugins.entries:\n    \"run-journal\": {\n      capabilities: { kv: { maxBytes: 1048576 } },\n      hooks: { allowConversationAccess: true },\n    },",
    ] {
        assert!(told.contains(part), "`{part}` in\n{told}");
    }
    let told = json_of(&bed.creel(&["plugins", "inspect", "unit-convert", "--json"]).success());
    assert_eq!((&told[0]["state"], &told[0]["tools"]), (&json!("on"), &json!(["convert_units"])));
    assert_eq!(told[0]["sha256"].as_str().unwrap().len(), 64);
}

#[test]
fn inspection_tells_options_of_handlers_and_who_set_a_limit() {
    let bed = Bed::configured(&json!({ "plugins": { "entries": { "guard": {
        "limits": { "memoryBytes": "16mb" },
        "hooks": { "timeouts": { "before_tool_call": 50 }, "allowConversationAccess": true },
    } } } }));
    let hooks = json!([
        { "hook": "before_tool_call", "handler": "shell", "matcher": ["exec", "read"], "timeoutMs": 2000 },
        { "hook": "before_agent_reply", "eligibleTriggers": ["user"], "priority": 7 },
    ]);
    let manifest = json!({ "hooks": hooks, "limits": { "maxInstances": 3 } });
    let component = wat::parse_str(
        r#"(component (instance $i)
            (export "creel:plugin/before-tool-call@0.1.0" (instance $i)) (export "creel:plugin/before-agent-reply@0.1.0" (instance $i)))"#,
    );
    write_plugin(&bed.state().join("plugins"), "guard", manifest, Some(&component.unwrap()));
    let told = stdout(&bed.creel(&["plugins", "inspect", "guard"]).success());
    for part in [
        "hook         before_tool_call (priority 0, handler shell, matcher exec read, timeoutMs 2000, at most 50 ms, all fields)\n",
        "hook         before_agent_reply (priority 7, eligibleTriggers user, at most 600 s, all fields)\n",
        "limit        memoryBytes 16 MiB, set by plugins.entries.guard.limits\n",
        "limit        maxInstances 3, asked for by the manifest\n",
    ] {
        assert!(told.contains(part), "`{part}` in\n{told}");
    }
    assert!(!told.contains("to grant"), "{told}");
    let told = json_of(&bed.creel(&["plugins", "inspect", "guard", "--json"]).success());
    let handler = &told[0]["hooks"][0];
    assert_eq!((&handler["matcher"], &handler["timeoutMs"]), (&json!(["exec", "read"]), &json!(2000)));
    assert_eq!((&handler["budgetMs"], &told[0]["limits"]["memoryBytes"]), (&json!(50), &json!(16 << 20)));
    assert_eq!(told[0]["hooks"][1]["eligibleTriggers"], json!(["user"]));
}

#[test]
fn standard_imports_are_one_line_and_json_has_them_all() {
    let bed = with_examples(json!({}));
    let told = stdout(&bed.creel(&["plugins", "inspect", "tool-guard"]).success());
    assert_eq!(told.matches("imports      wasi:").count(), 1, "{told}");
    let told = json_of(&bed.creel(&["plugins", "inspect", "tool-guard", "--json"]).success());
    let imports = told[0]["imports"].as_array().unwrap();
    assert!(imports.iter().filter(|import| import["interface"].as_str().unwrap().starts_with("wasi:")).count() > 5, "{told}");
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
        told.contains("hook         before_tool_call (priority 100, at most 15 s, all fields)")
            && told.contains("creel:plugin/config@0.1.0"),
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
