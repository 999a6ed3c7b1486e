//! `creel plugins pack`: a plugin as one file, which loads like its folder. The only command that writes components.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::json;

use crate::support::{Bed, CORE_MODULE, component_exporting, example, json_of, stdout, write_plugin};

#[test]
fn a_packed_plugin_is_one_file_that_works() {
    let bed = Bed::scripted(&json!([
        { "play": [{ "call": { "name": "exec", "arguments": { "command": "rm -rf / --no-preserve-root" } } }] },
        { "expect": { "toolResults": { "contains": "removes a whole root" } }, "play": [{ "text": "I may not." }] },
    ]))
    .warm();
    let folder = example("tool-guard").to_str().unwrap();
    bed.creel(&["plugins", "pack", folder])
        .success()
        .stdout(contains("tool-guard.wasm: ").and(contains("the manifest of `tool-guard`")));
    let packed = bed.work().join("tool-guard.wasm");
    let told = json_of(&bed.creel(&["plugins", "inspect", packed.to_str().unwrap(), "--json"]).success());
    assert_eq!((&told[0]["id"], &told[0]["place"]), (&json!("tool-guard"), &json!(packed)));
    bed.creel(&["plugins", "validate", "tool-guard.wasm"]).success().stdout("plugin `tool-guard` is valid.\n");

    let plugins = bed.state().join("plugins");
    fs::create_dir(&plugins).unwrap();
    fs::rename(packed, plugins.join("guard.wasm")).unwrap();
    let listed = stdout(&bed.creel(&["plugins", "list"]).success());
    assert!(listed.contains("plugins/guard.wasm"), "{listed}");
    bed.creel(&["agent", "--message", "make room"]).success().stdout("I may not.\n");
}

#[test]
fn packing_never_overwrites_and_leaves_the_folder_alone() {
    let bed = Bed::new();
    let folder = example("unit-convert");
    let before = fs::read(folder.join("unit-convert.wasm")).unwrap();
    let folder = folder.to_str().unwrap();
    bed.creel(&["plugins", "pack", folder, "--output", "mine.wasm"]).success();
    let packed = fs::read(bed.work().join("mine.wasm")).unwrap();
    assert!(packed.len() > before.len());
    bed.creel(&["plugins", "pack", folder, "-o", "mine.wasm"])
        .code(2)
        .stderr(contains("mine.wasm exists already").and(contains("--output")));
    let component = example("unit-convert").join("unit-convert.wasm");
    bed.creel(&["plugins", "pack", folder, "-o", component.to_str().unwrap()]).code(2).stderr(contains("exists already"));
    assert_eq!(fs::read(component).unwrap(), before);
    assert_eq!(fs::read(bed.work().join("mine.wasm")).unwrap(), packed);
}

#[test]
fn the_component_may_be_named_and_a_file_replaced() {
    let bed = Bed::new();
    let folder = write_plugin(&bed.work(), "guard", json!({ "component": "guard.wasm" }), None);
    let first = bed.file("first.wasm", component_exporting("creel:plugin/agent-end@0.1.0"));
    let second = bed.file("second.wasm", component_exporting("creel:plugin/before-tool-call@0.1.0"));
    let pack = |component: &std::path::Path, more: &[&str]| {
        let mut command = bed.command(&["plugins", "pack", "guard", "--component"]);
        Bed::finish(command.arg(component).args(more))
    };
    pack(&first, &[]).success().stdout(contains("guard.wasm: ").and(contains("the manifest of `guard`")));
    pack(&second, &[]).code(2).stderr(contains("guard.wasm exists already").and(contains("--force")));
    let hook = || json_of(&bed.creel(&["plugins", "inspect", "guard.wasm", "--json"]).success())[0]["hooks"][0]["hook"].clone();
    assert_eq!(hook(), "agent_end");
    pack(&second, &["--force"]).success();
    assert_eq!(hook(), "before_tool_call");
    assert!(!folder.join("guard.wasm").exists(), "the folder is left alone");
    pack(&bed.work().join("none.wasm"), &["--force"])
        .code(2)
        .stderr(contains("none.wasm does not exist").and(contains("cargo build")));
    let module = bed.file("module.wasm", CORE_MODULE);
    pack(&module, &["--force"]).code(4).stderr(contains("is a core WebAssembly module"));
    assert_eq!(hook(), "before_tool_call", "a failure leaves the file as it was");
}

#[test]
fn what_cannot_be_packed_says_why() {
    let bed = Bed::new();
    bed.creel(&["plugins", "pack", "."]).code(2).stderr(contains("creel.plugin.json does not exist"));
    bed.creel(&["plugins", "pack", "nowhere"]).code(2).stderr(contains("nowhere/creel.plugin.json does not exist"));
    write_plugin(&bed.work(), "hollow", json!({}), None);
    bed.creel(&["plugins", "pack", "hollow"]).code(4).stderr(contains("plugin.wasm does not exist"));
    write_plugin(&bed.work(), "core", json!({}), Some(CORE_MODULE));
    bed.creel(&["plugins", "pack", "core"]).code(4).stderr(contains("is a core WebAssembly module"));
    write_plugin(&bed.work(), "outside", json!({ "component": "../core/plugin.wasm" }), None);
    bed.creel(&["plugins", "pack", "outside"]).code(4).stderr(contains("../core/plugin.wasm"));
    let made: Vec<_> = fs::read_dir(bed.work()).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_file()).collect();
    assert!(made.is_empty(), "{made:?}");
}
