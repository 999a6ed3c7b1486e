//! SIGINT, SIGTERM and SIGHUP: the first one asks a run to stop and waits for its orderly end, the second one does not wait.

use std::process::Command;
use std::time::Instant;

use creel::commands::OBSERVER_GRACE;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Bed, Bell, Ended, Staged, stdout, test_guest, write_plugin};

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

#[test]
fn a_terminal_that_closes_ends_a_run_in_good_order() {
    interrupted_by(Signal::HUP);
}

#[test]
fn what_is_ignored_from_the_start_stays_ignored() {
    let command = json!({ "command": "echo > bell; read line < go; echo $line" });
    let bed = Bed::scripted(&json!([
        { "play": [{ "call": { "name": "exec", "arguments": command } }] },
        { "expect": { "toolResults": { "contains": "go on" } }, "play": [{ "text": "I went on." }] },
    ]));
    let bell = Bell::hang(&bed);
    let go = bed.workspace().join("go");
    assert!(Command::new("mkfifo").arg(&go).status().unwrap().success());
    let plain = bed.process(&["agent", "--message", "go"]);
    let mut nohup = Command::new("nohup");
    nohup.arg(plain.get_program()).args(plain.get_args()).env_clear().current_dir(bed.work());
    nohup.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut run = Staged::start(nohup);
    bell.wait();
    run.signal(Signal::HUP);
    std::fs::write(go, "go on\n").unwrap();
    let ended = run.end();
    assert_eq!((ended.status.code(), ended.stdout.as_str()), (Some(0), "I went on.\n"), "{}", ended.stderr);
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
    let ended = ends_without_the_grace(run);
    assert_eq!(ended.status.code(), Some(130), "{}", ended.stderr);
    bed.creel(&["sessions", "list"]).success();
}

#[test]
fn observers_that_do_not_end_can_be_left_behind() {
    let bed = Bed::scripted_with(&json!([{ "play": [{ "text": "done" }] }]), endless_observer());
    write_endless_observer(&bed);
    let mut run = Staged::start(bed.process(&["agent", "--message", "go"]));
    // The reply is out. What is left is to wait for the observer, for which one interrupt is enough.
    run.until_stdout("done\n").until_stderr("waiting for plugins that still watch the run, at most 30 s: endless (agent_end)");
    run.signal(Signal::INT);
    let ended = ends_without_the_grace(run);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, "done\n");
    let sessions = bed.creel(&["sessions", "list"]).success();
    assert!(stdout(&sessions).contains("agent:main:main  done"), "{}", stdout(&sessions));
}

/// The end, which comes before the observer is given up by itself.
fn ends_without_the_grace(run: Staged) -> Ended {
    let asked = Instant::now();
    let ended = run.end();
    assert!(asked.elapsed() < OBSERVER_GRACE / 2, "it waited {:?} for the observer", asked.elapsed());
    ended
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
