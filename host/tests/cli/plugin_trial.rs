//! What somebody who writes a plugin does to see it act: the steps of `docs/plugins.md`, and what `-v` says.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::{Bed, example, examples, stderr, stdout};

fn documentation() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/plugins.md")).unwrap()
}

/// The block of the documentation whose fence is marked like this.
fn block(mark: &str) -> String {
    let text = documentation();
    let (_, rest) = text.split_once(&format!("\n```{mark}\n")).unwrap_or_else(|| panic!("no block `{mark}`"));
    rest.split_once("\n```").unwrap().0.to_owned()
}

#[test]
fn the_documented_trial_works_as_it_stands() {
    let bed = Bed::new();
    bed.file("script.json5", block("json5 script"));
    bed.file("try.json5", block("json5 configuration"));
    let text = documentation();
    let command = text.split("$ creel agent --config").nth(1).unwrap().split("\nDEBUG").next().unwrap().replace("\\\n", " ");
    let command = format!("agent --config{command}").replace("\"make room\"", "make-room");
    let built = example("tool-guard").to_str().unwrap();
    let words: Vec<&str> = command.split_whitespace().collect();
    let words: Vec<&str> = words.into_iter().map(|word| if word.starts_with("target/guests") { built } else { word }).collect();
    let run = bed.creel(&words).success().stdout("I was not allowed to.\n");
    let told = stderr(&run);
    // The log of the documentation, without times.
    let shown = text.split("-v\nDEBUG").nth(1).unwrap().split("\nI was not").next().unwrap();
    for line in format!("DEBUG{shown}").lines().map(|line| line.split(" elapsed=").next().unwrap()) {
        assert!(told.contains(line), "`{line}` in\n{told}");
    }
}

#[test]
fn the_documented_manifest_is_one() {
    let bed = Bed::new();
    fs::create_dir(bed.work().join("no-force")).unwrap();
    bed.file("no-force/creel.plugin.json", block("json manifest"));
    let component = wat::parse_str(r#"(component (instance $i) (export "creel:plugin/before-tool-call@0.1.0" (instance $i)))"#);
    bed.file("no-force/no_force.wasm", component.unwrap());
    let told = stdout(&bed.creel(&["plugins", "inspect", "no-force"]).success());
    assert!(told.contains("state        on") && told.contains("before_tool_call (priority 0, matcher exec"), "{told}");
}

#[test]
fn one_line_tells_each_plugin_and_each_call_of_a_handler() {
    let turns = json!([
        { "play": [{ "call": { "name": "convert_units", "arguments": { "value": 5, "from": "km", "to": "mi" } } }] },
        { "play": [{ "text": "about three" }] },
    ]);
    let entries = json!({
        "run-journal": { "capabilities": { "kv": true } }, "outbound-filter": { "enabled": false }, "tool-guard": { "enabled": false },
    });
    let config = json!({ "plugins": { "load": { "paths": [examples()] }, "entries": entries } });
    let bed = Bed::scripted_with(&turns, config).warm();
    let run = bed.creel(&["agent", "--message", "hi", "-v"]).success().stdout("about three\n");
    let told = stderr(&run);
    let lines = |start: &str| told.lines().filter(|line| line.starts_with(start)).map(str::to_owned).collect::<Vec<_>>();
    let loaded = lines("DEBUG plugin loaded ");
    assert_eq!(loaded.len(), 7, "one for each plugin that is on: {told}");
    let of = |plugin: &str| loaded.iter().find(|line| line.contains(&format!("plugin={plugin} "))).unwrap();
    assert!(of("unit-convert").contains(r#"version="0.1.0" handlers="none" tools="convert_units""#), "{}", of("unit-convert"));
    assert!(of("auto-responder").contains(r#"handlers="none""#), "a gate keeps its handler out: {}", of("auto-responder"));
    assert!(of("secret-redactor").contains(r#"handlers="tool_result_persist,before_message_write""#));
    let calls = lines("DEBUG handler called: ");
    let observed: Vec<&String> = calls.iter().filter(|line| line.contains("hook=after_tool_call plugin=run-journal")).collect();
    assert_eq!(observed.len(), 1, "{told}");
    assert!(observed[0].starts_with("DEBUG handler called: watched ") && observed[0].contains(" elapsed="), "{}", observed[0]);
    let written = "DEBUG handler called: no opinion hook=before_message_write plugin=secret-redactor priority=-100.0";
    assert!(calls.iter().any(|line| line.starts_with(written)), "{told}");
    assert!(!stderr(&bed.creel(&["agent", "--message", "hi"])).contains("handler called"), "only where it is asked for");
}
