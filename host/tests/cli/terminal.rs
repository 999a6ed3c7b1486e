//! The binary on a terminal: colours, the spinner, questions.

use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Bed, Bell, Staged, example, stderr};

const XTERM: (&str, &str) = ("TERM", "xterm-256color");

#[test]
fn colours_and_spinners_are_for_terminals_that_want_them() {
    let turns = json!([{ "play": [{ "pauseMs": 300 }, { "text": "hello" }] }]);
    for (variables, is_lively) in [
        (&[XTERM][..], true),
        (&[XTERM, ("NO_COLOR", "")], true),
        (&[XTERM, ("NO_COLOR", "1")], false),
        (&[("TERM", "dumb")], false),
    ] {
        let bed = Bed::scripted_with(&turns, json!({ "tools": { "deny": ["zap"] } }));
        let ended = Staged::on_terminal(&bed, &["agent", "--message", "hi"], variables).end();
        assert!(ended.status.success() && ended.stdout.contains("hello\r\n"), "{variables:?}: {}", ended.stdout);
        assert_eq!(ended.stdout.contains("thinking"), is_lively, "the spinner, {variables:?}: {:?}", ended.stdout);
        assert_eq!(ended.stdout.contains('\u{1b}'), is_lively, "escape codes, {variables:?}: {:?}", ended.stdout);
    }
}

#[test]
fn failures_are_red_on_a_terminal_only() {
    let bed = Bed::new();
    let arguments = ["sessions", "show", "nobody"];
    let ended = Staged::on_terminal(&bed, &arguments, &[XTERM]).end();
    assert_eq!(ended.status.code(), Some(2));
    assert!(ended.stdout.contains("\u{1b}[31m"), "{:?}", ended.stdout);
    let ended = Staged::on_terminal(&bed, &arguments, &[XTERM, ("NO_COLOR", "1")]).end();
    assert!(ended.stdout.starts_with("error: there is no session"), "{:?}", ended.stdout);
}

#[test]
fn json_is_plain_on_a_terminal_too() {
    let ended = Staged::on_terminal(&Bed::new(), &["agent", "--message", "hi", "--json"], &[XTERM]).end();
    let document = &ended.stdout[ended.stdout.find('{').unwrap()..];
    assert!(!document.contains('\u{1b}'), "{document:?}");
    let result: Value = serde_json::from_str(document).unwrap();
    assert_eq!(result["payloads"][0]["text"], "hi");
}

#[test]
fn words_of_a_model_cannot_control_the_terminal() {
    let bed = Bed::scripted(&json!([{ "play": [{ "text": ["cl", "ear\u{1b}[2J", "\u{9b}31m end\r\n"] }] }]));
    let ended = Staged::on_terminal(&bed, &["agent", "--message", "hi"], &[XTERM, ("NO_COLOR", "1")]).end();
    assert!(ended.stdout.contains("clear\u{fffd}[2J\u{fffd}31m end\r\n"), "{:?}", ended.stdout);
    assert!(!ended.stdout.contains('\u{1b}'), "{:?}", ended.stdout);
}

#[test]
fn nothing_is_printed_twice() {
    let error = json!({ "error": { "class": "overloaded", "message": "try later" } });
    let failing = Bed::scripted(&json!([{ "play": [{ "text": "Half an answer" }, error] }]));
    let ended = Staged::on_terminal(&failing, &["agent", "--message", "hi"], &[XTERM, ("NO_COLOR", "1")]).end();
    assert_eq!(ended.status.code(), Some(1));
    assert_eq!(ended.stdout.matches("Half an answer").count(), 1, "{}", ended.stdout);
    assert!(ended.stdout.contains("\r\nerror: The model provider `offline` is overloaded"), "{}", ended.stdout);
    let prefixed = Bed::configured(&json!({ "messages": { "responsePrefix": "[creel]" } }));
    let ended = Staged::on_terminal(&prefixed, &["agent", "--message", "hello"], &[XTERM, ("NO_COLOR", "1")]).end();
    assert_eq!(ended.stdout.matches("hello").count(), 1, "{}", ended.stdout);
    assert!(ended.stdout.contains("[creel] hello\r\n"), "{}", ended.stdout);
}

/// A place whose model makes a file, for which a plugin wants the approval of a person.
fn guarded() -> Bed {
    let rule = json!({ "tool": "exec", "param": "command", "contains": "made", "action": "ask", "reason": "it makes a file" });
    Bed::scripted_with(
        &json!([
            { "play": [{ "call": { "name": "exec", "arguments": { "command": "touch made" } } }] },
            { "play": [{ "text": "That was it." }] },
        ]),
        json!({ "plugins": {
            "load": { "paths": [example("tool-guard")] },
            "entries": { "tool-guard": { "config": { "rules": [rule] } } },
        } }),
    )
    .warm()
}

#[test]
fn a_person_at_the_terminal_decides() {
    for (answer, is_made) in [("once", true), ("o", true), ("deny", false), ("certainly", false), ("", false)] {
        let bed = guarded();
        let mut run = Staged::on_terminal(&bed, &["agent", "--message", "go"], &[XTERM, ("NO_COLOR", "1")]);
        run.until_stdout("[o]nce").answer(answer);
        let ended = run.end();
        assert!(ended.status.success() && ended.stdout.contains("That was it."), "{answer:?}: {}", ended.stdout);
        let question = &ended.stdout[ended.stdout.find("[warning]").unwrap()..];
        for part in ["it makes a file", "touch made", "plugin tool-guard · tool exec"] {
            assert!(question.contains(part), "`{part}` in {question}");
        }
        assert_eq!(bed.workspace().join("made").exists(), is_made, "{answer:?}: {}", ended.stdout);
    }
}

/// What the shell reads after the binary has ended.
fn then_read(binary: &str) -> String {
    format!("{binary}; read line; echo \"the shell got <$line>\"")
}

#[test]
fn what_is_typed_ahead_is_left_to_the_shell() {
    let bed = Bed::new();
    let mut run = Staged::in_shell(&bed, &["agent", "--message", "hi"], &[("TERM", "dumb")], then_read);
    run.answer("ls -l");
    let ended = run.end();
    assert!(ended.stdout.contains("the shell got <ls -l>"), "{}", ended.stdout);
}

#[test]
fn an_answer_is_taken_while_the_question_is_open_and_not_before_or_after() {
    let bed = guarded();
    let bell = Bell::hang(&bed);
    let turns = json!([
        { "play": [{ "call": { "name": "exec", "arguments": { "command": "echo > bell; read line < go" } } }] },
        { "play": [{ "call": { "name": "exec", "arguments": { "command": "touch made" } } }] },
        { "play": [{ "text": "That was it." }] },
    ]);
    std::fs::write(bed.state().join("script.json5"), json!({ "turns": turns }).to_string()).unwrap();
    let go = bed.workspace().join("go");
    assert!(Command::new("mkfifo").arg(&go).status().unwrap().success());
    let mut run = Staged::in_shell(&bed, &["agent", "--message", "go"], &[("TERM", "dumb")], then_read);
    bell.wait();
    // Typed while a tool runs: no answer to the question that comes. The terminal echoes it once it has it.
    run.answer("once").until_stdout("once\r\n");
    std::fs::write(&go, "\n").unwrap();
    run.until_stdout("[o]nce").answer("deny").until_stdout("That was it.").answer("ls -l");
    let ended = run.end();
    assert!(ended.stdout.contains("the shell got <ls -l>"), "{}", ended.stdout);
    assert!(!bed.workspace().join("made").exists(), "{}", ended.stdout);
}

#[test]
fn where_nobody_can_answer_the_call_is_denied() {
    let bed = guarded();
    let assert = bed.creel(&["agent", "--message", "go"]).success().stdout("That was it.\n");
    assert!(stderr(&assert).contains("nobody can be asked here"), "{}", stderr(&assert));
    assert!(!bed.workspace().join("made").exists());
    // A program reads stdout: there is nobody to ask either, though there is a terminal.
    let bed = guarded();
    let ended = Staged::on_terminal(&bed, &["agent", "--message", "go", "--json"], &[XTERM]).end();
    assert!(ended.status.success() && !ended.stdout.contains("[o]nce"), "{}", ended.stdout);
    assert!(!bed.workspace().join("made").exists());
}

#[test]
fn a_question_can_be_interrupted() {
    let bed = guarded();
    let mut run = Staged::on_terminal(&bed, &["agent", "--message", "go"], &[XTERM, ("NO_COLOR", "1")]);
    run.until_stdout("[o]nce").signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stdout);
    assert!(!bed.workspace().join("made").exists());
}

#[test]
fn loading_can_be_interrupted() {
    let config = json!({ "plugins": { "load": { "paths": [example("tool-guard")] } } });
    let bed = Bed::configured(&config);
    let mut run = Staged::on_terminal(&bed, &["agent", "--message", "go"], &[XTERM]);
    run.until_stdout("compiling tool-guard").signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stdout);
    assert!(ended.stdout.contains("interrupted"), "{}", ended.stdout);
}
