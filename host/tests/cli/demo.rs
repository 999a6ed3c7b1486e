//! `creel demo`: every example plugin acts, nothing leaks, nothing is left behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::Value;

use crate::support::{Bed, examples, json_of, stdout};

/// The plugins of the demo.
const PLUGINS: [&str; 9] = [
    "auto-responder",
    "context-injector",
    "install-gate",
    "model-router",
    "outbound-filter",
    "run-journal",
    "secret-redactor",
    "tool-guard",
    "unit-convert",
];

fn demo(bed: &Bed, more: &[&str]) -> assert_cmd::assert::Assert {
    fs::create_dir_all(bed.cache_home()).unwrap();
    let mut arguments = vec!["demo", "--plugins", examples().to_str().unwrap()];
    arguments.extend(more);
    bed.creel(&arguments)
}

/// All that is said beside the demo where no spinner can move: it compiled the plugins.
const COMPILING: &str = "compiling plugins; the first time this takes a while\n";

/// Entries of a directory.
fn entries(dir: &Path) -> usize {
    fs::read_dir(dir).unwrap().count()
}

#[test]
fn every_plugin_acts_and_no_secret_leaks() {
    let bed = Bed::new();
    let report = json_of(&demo(&bed, &["--json"]).success().stderr(COMPILING));
    let scenes = report["scenes"].as_array().unwrap();
    let hooks: Vec<&Value> = scenes.iter().flat_map(|scene| scene["hooks"].as_array().unwrap()).collect();
    assert!(hooks.iter().all(|call| call["micros"].is_u64() && call["hook"].is_string()), "{hooks:?}");
    let deciding = hooks.iter().filter(|call| call["decision"].is_string()).map(|call| call["plugin"].as_str().unwrap());
    let mut acting: BTreeSet<&str> = deciding.collect();
    // Two have nothing to decide: one is a tool, one counts.
    let journal = &report["proof"]["journal"];
    for (plugin, proof) in [("unit-convert", "tool/convert_units/ok"), ("run-journal", "hook/agent_end")] {
        assert!(journal[proof].as_u64().is_some_and(|count| count > 0), "{proof}: {journal}");
        acting.insert(plugin);
    }
    assert_eq!(acting, BTreeSet::from(PLUGINS));
    assert!(hooks.iter().all(|call| !call["decision"].as_str().unwrap_or_default().starts_with("failed")), "{hooks:?}");
    assert_eq!(report["proof"]["leaks"], 0);
    assert!(report["proof"]["rows"].as_u64().unwrap() > 20, "{}", report["proof"]);
    assert_eq!(journal["hook/agent_end"], scenes.len() as u64 - 1, "one end per turn; the last scene is no turn");
}

#[test]
fn the_scenes_are_told_to_a_person() {
    let bed = Bed::new();
    demo(&bed, &[]).success().stderr(COMPILING);
    let told = stdout(&demo(&bed, &[]).success().stderr(""));
    assert!(told.starts_with("9 plugins, each a WebAssembly component"), "{told}");
    for (hook, plugin, decision) in [
        ("before_prompt_build", "context-injector", "House style"),
        ("before_tool_call", "tool-guard", "block"),
        ("before_tool_call", "tool-guard", "ask"),
        ("tool_result_persist", "secret-redactor", "rewrite"),
        ("message_sending", "outbound-filter", "rewrite to"),
        ("message_sending", "outbound-filter", "cancel"),
        ("before_model_resolve", "model-router", "model"),
        ("before_agent_reply", "auto-responder", "pong"),
        ("before_install", "install-gate", "refuse"),
    ] {
        let is_told =
            |line: &str| line.contains(hook) && line.contains(plugin) && line.contains(decision) && line.ends_with("s)");
        assert!(told.lines().any(is_told), "{hook} {plugin} {decision}:\n{told}");
    }
    let asked: Vec<&str> = told.lines().filter(|line| line.contains("→ denied")).collect();
    assert!(matches!(asked.as_slice(), [asked] if asked.starts_with("  asked  ")), "one question on one line: {asked:?}");
    assert!(told.contains("    1 hook call in ") && !told.contains(" 1 hook calls"), "{told}");
    assert!(told.contains("the signing key is in none of them"), "{told}");
    assert!(!told.contains("Bluebird,"), "the code name never went out: {told}");
}

#[test]
fn the_scratch_directory_goes_unless_it_is_kept() {
    let bed = Bed::new();
    demo(&bed, &["--json"]).success();
    assert_eq!((entries(&bed.temporary()), entries(&bed.state()), entries(&bed.work())), (0, 0, 0), "nothing is left");
    demo(&bed, &["--json", "--keep"]).success().stderr(contains("are kept in"));
    let kept = fs::read_dir(bed.temporary()).unwrap().next().unwrap().unwrap().path();
    let mut sessions = bed.command(&["sessions", "list", "--state-dir"]);
    Bed::finish(sessions.arg(&kept)).success().stdout(contains("agent:main:main"));
}

#[test]
fn without_plugins_it_says_how_to_build_them() {
    let bed = Bed::new();
    let missing = contains("the example plugins are not built").and(contains("cargo xtask demo")).and(contains("--plugins"));
    bed.creel(&["demo", "--plugins", "nowhere"]).code(2).stdout("").stderr(missing);
}
