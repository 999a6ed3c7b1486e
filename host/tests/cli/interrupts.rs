//! SIGINT and SIGTERM: the first one asks a run to stop and waits for its orderly end, the second one does not wait.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Bed, Bell, Staged, stdout, test_guest, write_plugin};

/// Interrupts a run whose model has said something; then its session is free and holds what was said.
fn interrupted_by(signal: Signal) {
    let bed = Bed::scripted(&json!([{ "play": [{ "text": "I begin. " }, { "pauseMs": 600_000 }, { "text": "never" }] }]));
    let mut run = Staged::on_terminal(&bed, &["agent", "--message", "go"], &[("TERM", "dumb")]);
    run.until_stdout("I begin. ").signal(signal);
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stdout);
    let lines: Vec<&str> = ended.stdout.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    assert_eq!(
        lines,
        ["I begin.", "stopping; interrupt again to stop at once", "the run was interrupted"],
        "nothing is said twice"
    );

    let rows = bed.transcript("main");
    assert_eq!(rows[1]["message"]["content"][0]["text"], "go");
    let half = &rows[2]["message"];
    assert_eq!((&half["role"], &half["stopReason"]), (&json!("assistant"), &json!("aborted")), "{rows:?}");
    assert_eq!(half["content"][0]["text"], "I begin. ");
    assert_eq!(bed.sessions()[0]["entry"]["status"], "killed");
    bed.creel(&["agent", "--message", "are you there?", "--model", "offline/echo"])
        .success()
        .stdout("are you there?\n")
        .stderr("");
}

#[test]
fn an_interrupt_ends_a_run_in_good_order() {
    interrupted_by(Signal::INT);
}

#[test]
fn termination_ends_a_run_in_good_order() {
    interrupted_by(Signal::TERM);
}

/// A run in the middle of a command that takes for ever.
fn busy(bed: &Bed, arguments: &[&str]) -> Staged {
    let bell = Bell::hang(bed);
    let run = Staged::start(bed.process(arguments));
    bell.wait();
    run
}

fn endless_command() -> Value {
    json!([{ "play": [{ "text": "Wait. " }, { "call": { "name": "exec", "arguments": { "command": "echo $$ > pid; echo > bell; sleep 600" } } }] }])
}

#[test]
fn an_interrupted_run_is_told_as_json() {
    let bed = Bed::scripted(&endless_command());
    let mut run = busy(&bed, &["agent", "--message", "go", "--json"]);
    run.signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    let result: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((&result["status"], &result["meta"]["aborted"]), (&json!("killed"), &json!(true)));
    assert_eq!((&result["payloads"], &result["meta"]["agentMeta"]["toolCalls"]), (&json!([]), &json!(1)), "{result}");
}

#[test]
fn an_interrupted_command_leaves_no_process_behind() {
    let bed = Bed::scripted(&endless_command());
    let mut run = busy(&bed, &["agent", "--message", "go"]);
    run.signal(Signal::TERM);
    assert_eq!(run.end().status.code(), Some(130));
    let pid = std::fs::read_to_string(bed.workspace().join("pid")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "the shell still runs: {stat}");
}

#[test]
fn the_second_interrupt_waits_for_nothing() {
    let bed = Bed::scripted_with(&endless_command(), endless_observer());
    write_endless_observer(&bed);
    let mut run = busy(&bed, &["agent", "--message", "go"]);
    run.signal(Signal::INT).until_stderr("stopping").signal(Signal::INT);
    let ended = run.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    bed.creel(&["sessions", "list"]).success();
}

#[test]
fn observers_that_do_not_end_can_be_left_behind() {
    let bed = Bed::scripted_with(&json!([{ "play": [{ "text": "done" }] }]), endless_observer());
    write_endless_observer(&bed);
    let mut run = Staged::start(bed.process(&["agent", "--message", "go"]));
    // The reply is out. What is left is to wait for the observer, for which one interrupt is enough; if the run itself was still about
    // to end, it takes the second one.
    run.until_stdout("done\n").signal(Signal::INT).signal(Signal::TERM);
    let ended = run.end();
    assert!(matches!(ended.status.code(), Some(0 | 130)), "{:?} {}", ended.status, ended.stderr);
    assert_eq!(ended.stdout, "done\n");
    let sessions = bed.creel(&["sessions", "list"]).success();
    assert!(stdout(&sessions).contains("agent:main:main  done"), "{}", stdout(&sessions));
}

/// Settings of a plugin whose handler of `agent_end` never ends by itself.
fn endless_observer() -> Value {
    json!({ "plugins": { "entries": { "endless": {
        "capabilities": { "kv": true },
        "hooks": { "allowConversationAccess": true },
        "config": { "record": [], "tools": [], "handlers": { "agent_end": { "": { "loop": true } } } },
    } } } })
}

fn write_endless_observer(bed: &Bed) {
    let manifest = json!({ "hooks": [{ "hook": "agent_end" }], "capabilities": { "kv": true } });
    let component = std::fs::read(test_guest("hook_script")).unwrap();
    write_plugin(&bed.state().join("plugins"), "endless", manifest, Some(&component));
}
