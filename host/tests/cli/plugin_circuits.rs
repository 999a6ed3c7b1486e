//! Circuits of plugins across processes: a run is one, and so are the commands that show circuits and close them.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, json_of, stderr, stdout, test_guest, write_plugin};

/// A plugin that traps whenever it is started, as a guard of tool calls and of what is sent.
fn with_broken(entry: Value, failures: u32) -> Bed {
    let turns = json!([{ "play": [{ "call": { "name": "exec", "arguments": { "command": "printf ran; printf ning" } } }] }, { "play": [{ "text": "end" }] }]);
    let plugins = json!({ "circuit": { "failures": failures, "cooldownMs": "10m" }, "entries": { "broken": entry } });
    let bed = Bed::scripted_with(&turns, json!({ "plugins": plugins })).warm();
    write_plugin(&bed.state().join("plugins"), "broken", json!({}), Some(&fs::read(test_guest("trap_start")).unwrap()));
    bed
}

fn run(bed: &Bed) -> String {
    stderr(&bed.creel(&["agent", "--message", "go"]).success())
}

fn listed(bed: &Bed) -> Value {
    json_of(&bed.creel(&["plugins", "list", "--json"]).success())[0].clone()
}

#[test]
fn a_plugin_that_fails_in_each_run_is_left_out_shown_and_reset() {
    let bed = with_broken(json!({}), 2);
    for plain in [&["plugins", "list"][..], &["plugins", "inspect", "broken"]] {
        bed.creel(plain).success().stdout(contains("circuit").not());
    }
    run(&bed);
    assert_eq!(listed(&bed)["circuits"][0]["state"], "closed", "one fault is counted, and shown to programs");
    bed.creel(&["plugins", "list"]).success().stdout(contains("circuit").not());
    let second = run(&bed);
    assert_eq!(second.matches("circuit opened").count(), 2, "{second}");
    let third = run(&bed);
    assert!(!third.contains("circuit opened"), "{third}");
    assert_eq!(third.matches("plugin handler failed").count(), 1, "only what blocks is told again: {third}");

    let plugin = listed(&bed);
    let states: Vec<(&str, &str)> =
        plugin["circuits"].as_array().unwrap().iter().map(|it| (text(it, "hook"), text(it, "state"))).collect();
    assert_eq!(states, [("before_tool_call", "open"), ("message_sending", "open")]);
    assert_eq!((&plugin["unhealthy"], &plugin["circuits"][0]["failures"]), (&json!(false), &json!(2)));
    let table = stdout(&bed.creel(&["plugins", "list"]).success());
    for part in [
        "on, circuit open",
        "plugin `broken` blocks everything at before_tool_call: its circuit is open after 2 faults in a row, the last one: trap: ",
        "plugin `broken` is left out at message_sending: ",
        "it is tried again in 10 min, or after `creel plugins reset broken --hook message_sending`",
    ] {
        assert!(table.contains(part), "`{part}` in\n{table}");
    }

    let reset = &["plugins", "reset", "broken", "--hook", "before_tool_call"];
    bed.creel(reset).success().stdout(contains("1 circuit of plugin `broken` at before_tool_call is reset"));
    bed.creel(reset).success().stdout(contains("nothing to reset"));
    assert_eq!(listed(&bed)["circuits"].as_array().unwrap().len(), 1);
    bed.creel(&["plugins", "reset", "broken"]).success().stdout(contains("1 circuit of plugin `broken` is reset"));
    assert_eq!(listed(&bed)["circuits"], json!([]));
    assert!(run(&bed).contains("trap"), "it is called again");
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap()
}

#[test]
fn a_required_plugin_whose_circuit_blocks_is_unhealthy() {
    let bed = with_broken(json!({ "required": true }), 1);
    run(&bed);
    bed.creel(&["plugins", "list"]).success().stdout(contains("on, required, unhealthy"));
    assert_eq!(listed(&bed)["unhealthy"], true);
    let transcript = bed.transcript("main");
    run(&bed);
    let rows: String = bed.transcript("main")[transcript.len()..].iter().map(Value::to_string).collect();
    assert!(rows.contains("circuit open: after a fault, the last one: trap"), "{rows}");
    assert!(!rows.contains("running"), "the command did not run: {rows}");
}

#[test]
fn what_cannot_be_reset_is_refused() {
    let bed = with_broken(json!({}), 5);
    let refused = |arguments: &[&str], part: &str| {
        bed.creel(&[&["plugins", "reset"], arguments].concat()).code(2).stdout("").stderr(contains(part));
    };
    refused(&["brokn"], "did you mean `broken`?");
    refused(&["broken", "--hook", "before_toolcall"], "did you mean `before_tool_call`?");
    refused(&["Not An Id"], "id");
    bed.creel(&["plugins", "reset", "broken"]).success().stdout(contains("has counted no fault"));
    assert!(!bed.state().join("state").exists(), "looking for circuits makes no database");
}

#[test]
fn names_of_hooks_and_fields_are_checked() {
    let wrong = |plugins: Value, parts: &[&str]| {
        let bed = Bed::configured(&json!({ "plugins": plugins }));
        let told = stderr(&bed.creel(&["config", "check"]).code(3));
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    };
    wrong(
        json!({ "hooks": { "dispatchBudgets": { "before_toolcall": 5 } } }),
        &["plugins.hooks.dispatchBudgets.before_toolcall: there is no hook of this name; did you mean `before_tool_call`?"],
    );
    let entry = |fields: Value| json!({ "entries": { "p": { "hooks": { "fields": fields } } } });
    wrong(
        entry(json!({ "before_tool_call": ["param"] })),
        &["plugins.entries.p.hooks.fields.before_tool_call: before_tool_call has no field \"param\"; did you mean `params`?"],
    );
    wrong(entry(json!({ "agent_ende": [] })), &["plugins.entries.p.hooks.fields.agent_ende", "did you mean `agent_end`?"]);
}

#[test]
fn inspect_shows_which_fields_a_handler_gets() {
    let fields = json!({ "before_tool_call": ["toolName"] });
    let bed = with_broken(json!({ "hooks": { "fields": fields } }), 5);
    let shown = stdout(&bed.creel(&["plugins", "inspect", "broken"]).success());
    assert!(shown.contains("fields toolName toolCallId agentId sessionKey sessionId runId"), "{shown}");
    assert!(shown.contains("message_sending (priority 0, at most 15 s, all fields)"), "{shown}");
    let hooks = json_of(&bed.creel(&["plugins", "inspect", "broken", "--json"]).success())[0]["hooks"].clone();
    let of = |hook: &str| hooks.as_array().unwrap().iter().find(|entry| entry["hook"] == hook).unwrap()["fields"].clone();
    assert_eq!((&of("before_tool_call")[0], of("message_sending")), (&json!("toolName"), Value::Null));
}
