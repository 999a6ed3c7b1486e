//! `creel plugins enable|disable`: one value of the configuration changes, and nothing else in it.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::json;

use crate::support::{Bed, example, json_of, write_plugin};

fn state_of(bed: &Bed, id: &str) -> String {
    let told = json_of(&bed.creel(&["plugins", "inspect", id, "--json"]).success());
    told[0]["state"].as_str().unwrap().to_owned()
}

#[test]
fn comments_order_and_style_stay() {
    let bed = Bed::new();
    let text = format!(
        "// mine\n{{\n  plugins: {{\n    load: {{ paths: ['{}'] }}, // built here\n    entries: {{\n      /* the guard */ 'tool-guard': {{ enabled: true, config: {{}} }},\n    }},\n  }},\n  logging: {{ level: 'warn' }},\n}}\n",
        example("tool-guard").display()
    );
    bed.write_config(&text);
    let path = bed.config_path().display().to_string();
    let said = format!("plugins.entries.tool-guard.enabled is now false in {path}\n");
    bed.creel(&["plugins", "disable", "tool-guard"]).success().stdout(said).stderr("");
    assert_eq!(bed.read_config(), text.replace("enabled: true", "enabled: false"));
    assert_eq!(state_of(&bed, "tool-guard"), "off");
    bed.creel(&["plugins", "enable", "tool-guard"]).success().stderr("");
    assert_eq!(bed.read_config(), text, "back to the letter");
    assert_eq!(state_of(&bed, "tool-guard"), "on");
}

#[test]
fn an_entry_is_added_where_there_is_none() {
    let bed = Bed::new();
    bed.write_config(&format!(
        "{{\n  // where they are\n  plugins: {{ load: {{ paths: ['{}'] }} }},\n}}\n",
        example("tool-guard").display()
    ));
    bed.creel(&["plugins", "disable", "tool-guard"]).success();
    assert!(bed.read_config().contains("// where they are"), "{}", bed.read_config());
    assert_eq!(state_of(&bed, "tool-guard"), "off");
    bed.creel(&["config", "check"]).success();
}

#[test]
fn a_file_is_made_if_there_is_none() {
    let bed = Bed::new();
    write_plugin(&bed.state().join("plugins"), "guard", json!({}), None);
    bed.creel(&["plugins", "disable", "guard"]).success();
    bed.creel(&["config", "check"]).success().stdout(contains("is valid"));
    assert_eq!(bed.read_config(), "{\n  plugins: { entries: { guard: { enabled: false } } },\n}\n");
}

#[test]
fn one_line_stays_one_line_with_its_quotes() {
    let bed = Bed::new();
    write_plugin(&bed.state().join("plugins"), "guard", json!({}), None);
    for (text, expected) in [
        (
            "{ 'plugins': { 'entries': { 'guard': { 'required': false } } } }",
            "{ 'plugins': { 'entries': { 'guard': { 'enabled': false, 'required': false } } } }",
        ),
        (r#"{"plugins":{"entries":{}}}"#, r#"{"plugins":{"entries":{"guard":{"enabled":false}}}}"#),
    ] {
        bed.write_config(text);
        bed.creel(&["plugins", "disable", "guard"]).success();
        assert_eq!(bed.read_config(), expected);
    }
}

#[test]
fn an_id_that_nobody_knows_is_refused() {
    let bed = Bed::new();
    let nothing = contains("there is no plugin `guard`, and no plugins.entries.guard in the configuration")
        .and(contains("no plugins were found"));
    bed.creel(&["plugins", "enable", "guard"]).code(2).stdout("").stderr(nothing);
    assert!(!bed.config_path().exists(), "nothing was written");
    bed.write_config("{ plugins: { enabled: false, entries: { gone: { enabled: true } } } }");
    for id in ["guard", "journal"] {
        write_plugin(&bed.state().join("plugins"), id, json!({ "legacyPluginIds": [format!("old-{id}")] }), None);
    }
    bed.creel(&["plugins", "enable", "gaurd"]).code(2).stderr(contains("hint: did you mean `guard`?"));
    bed.creel(&["plugins", "disable", "weather"]).code(2).stderr(contains("hint: these were found: guard, journal"));
    assert!(!bed.read_config().contains("gaurd"));
    for id in ["guard", "old-guard", "gone"] {
        bed.creel(&["plugins", "disable", id]).success();
    }
    bed.creel(&["plugins", "enable", "gone"]).success().stderr(contains("warning: no plugin `gone` was found"));
}

#[test]
fn what_keeps_a_plugin_off_all_the_same_is_told() {
    let bed = Bed::configured(&json!({ "plugins": { "load": { "paths": [example("tool-guard")] }, "deny": ["tool-guard"] } }));
    let still_off = contains("warning: the plugin is still off: plugins.deny names `tool-guard`");
    bed.creel(&["plugins", "enable", "tool-guard"]).success().stderr(still_off);
    let bed = Bed::configured(&json!({ "plugins": { "load": { "paths": [example("run-journal")] } } }));
    let not_granted = contains("warning: the plugin does not load").and(contains("capabilities.kv: true"));
    bed.creel(&["plugins", "enable", "run-journal"]).success().stderr(not_granted);
}

#[test]
fn nothing_is_written_where_the_result_would_not_be_valid() {
    let bed = Bed::new();
    for (text, code) in [("{ plugins: { entries: [] } }", 3), ("{ plugins: [ }", 3)] {
        bed.write_config(text);
        bed.creel(&["plugins", "enable", "guard"]).code(code).stdout("");
        assert_eq!(bed.read_config(), text);
    }
    bed.write_config("{}");
    bed.creel(&["plugins", "enable", "Not An Id"]).code(2).stderr(contains("is not a plugin id"));
    assert_eq!(bed.read_config(), "{}");
}

#[test]
fn permissions_and_links_of_the_file_stay() {
    let bed = Bed::new();
    write_plugin(&bed.state().join("plugins"), "guard", json!({}), None);
    let real = bed.file("real.json", "{}");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
    symlink(&real, bed.config_path()).unwrap();
    bed.creel(&["plugins", "disable", "guard"]).success();
    assert!(fs::symlink_metadata(bed.config_path()).unwrap().is_symlink(), "the link is still one");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&real).unwrap().contains("guard"));
    let left: Vec<_> = fs::read_dir(bed.work()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["real.json"], "no temporary file is left");
}
