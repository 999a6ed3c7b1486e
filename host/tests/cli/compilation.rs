//! Compiling plugins: in a process of its own, with limits that bite, and without harm to anything else.

use std::process::Command;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, example, stderr, write_plugin};

/// A component with one long function whose values are all alive at its end: register allocation needs time and memory for it.
fn heavy() -> Vec<u8> {
    const VALUES: usize = 40_000;
    let locals = "(local i32)".repeat(VALUES);
    let mut body = String::new();
    for value in 1..=VALUES {
        body.push_str(&format!("(local.set {value} (i32.add (local.get {}) (i32.popcnt (local.get {}))))", value - 1, value / 2));
    }
    let sum: String = (0..VALUES).map(|value| format!("(i32.xor (local.get {value}))")).collect();
    let module = format!("(core module (func (export \"f\") (param i32) (result i32) {locals} {body} (i32.const 0) {sum}))");
    wat::parse_str(format!(r#"(component {module} (instance $i) (export "creel:plugin/agent-end@0.1.0" (instance $i)))"#))
        .unwrap()
}

/// What `validate` says about the heavy component with these limits.
fn validated(limits: Value) -> String {
    let bed = Bed::configured(&json!({ "plugins": { "entries": { "heavy": { "limits": limits } } } }));
    let folder = write_plugin(&bed.state().join("plugins"), "heavy", json!({}), Some(&heavy()));
    stderr(&bed.creel(&["plugins", "validate", folder.to_str().unwrap()]).code(4))
}

#[test]
fn time_and_memory_of_a_compilation_are_limited() {
    // With enough of both it compiles, and the next thing that is wrong with it is told.
    let enough = validated(json!({}));
    assert!(enough.contains("`creel:plugin/agent-end@0.1.0` does not fit") && !enough.contains("limits.compile"), "{enough}");
    let slow = validated(json!({ "compileMs": 1 }));
    assert!(
        slow.contains("plugin `heavy`: ") && slow.contains("compiling takes longer than 0.001 s (limits.compileMs)"),
        "{slow}"
    );
    let large = validated(json!({ "compileMemoryBytes": "64mb" }));
    assert!(large.contains("compiling takes more than 64 MiB of memory (limits.compileMemoryBytes)"), "{large}");
}

#[test]
fn a_size_above_the_limit_is_refused_before_anything_is_compiled() {
    let bed = Bed::configured(&json!({ "plugins": { "entries": { "tool-guard": { "limits": { "componentBytes": 1000 } } } } }));
    let folder = example("tool-guard").to_str().unwrap();
    let refusal = contains("its limit is 1000; raise plugins.entries.tool-guard.limits.componentBytes");
    bed.creel(&["plugins", "validate", folder]).code(4).stderr(refusal.and(contains("compiling").not()));
}

#[test]
fn a_plugin_that_does_not_compile_in_time_leaves_the_others_alone() {
    let bed = Bed::configured(&json!({ "plugins": { "entries": { "heavy": { "limits": { "compileMs": 1 } } } } }));
    write_plugin(&bed.state().join("plugins"), "heavy", json!({}), Some(&heavy()));
    bed.creel(&["agent", "--message", "hi"]).success().stdout("hi\n").stderr(contains("(limits.compileMs)"));
}

#[test]
fn the_command_that_compiles_is_for_the_host_only() {
    let output = Command::new(env!("CARGO_BIN_EXE_creel")).arg("compile-component").output().unwrap();
    assert_eq!(output.status.code(), Some(70));
    assert!(String::from_utf8_lossy(&output.stderr).contains("started by creel itself"));
    let help = Command::new(env!("CARGO_BIN_EXE_creel")).arg("--help").output().unwrap();
    assert!(!String::from_utf8_lossy(&help.stdout).contains("compile-component"));
}
