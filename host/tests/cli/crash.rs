//! `kill -9` in the middle of a run: the next invocation works, and all rows before the last complete one are there.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Bed, Bell, Staged, stderr};

/// Tool calls of the run before it waits for ever.
const CALLS: usize = 3;

/// Calls that each ring the bell, then a long silence.
fn turns() -> Value {
    let call = |number: usize| {
        let command = format!("echo result {number}; echo > bell");
        json!({ "play": [{ "text": format!("step {number}") }, { "call": { "name": "exec", "arguments": { "command": command } } }] })
    };
    let mut turns: Vec<Value> = (0..CALLS).map(call).collect();
    turns.push(json!({ "play": [{ "text": "the last step" }, { "pauseMs": 600_000 }] }));
    json!(turns)
}

fn kill(mut run: Staged) {
    run.signal(Signal::KILL);
    let code = run.end().status.code();
    assert!(matches!(code, None | Some(137)), "it was killed, and not {code:?}");
}

/// What was stored before the kill is whole, and the conversation goes on behind it.
fn goes_on_after(bed: &Bed, calls: usize) {
    let before = bed.transcript("main");
    let messages: Vec<&Value> = before.iter().filter(|row| row["type"] == "message").map(|row| &row["message"]).collect();
    assert_eq!((&messages[0]["role"], &messages[0]["content"][0]["text"]), (&json!("user"), &json!("go")));
    let results: Vec<&str> = messages
        .iter()
        .filter(|message| message["role"] == "toolResult")
        .map(|message| message["content"][0]["text"].as_str().unwrap())
        .collect();
    // A call that rang the bell was stored before it ran, and the results of all calls before it as well.
    let asked = messages.iter().filter(|message| message["role"] == "assistant").count();
    assert!(asked >= calls && results.len() + 1 >= calls, "{calls} calls: {before:#?}");
    for (number, result) in results.iter().enumerate() {
        assert!(result.contains(&format!("result {number}")), "{result}");
    }

    let assert = bed.creel(&["agent", "--message", "are you there?", "--model", "offline/echo"]).success();
    assert!(stderr(&assert).contains("is taken over"), "{}", stderr(&assert));
    let after = bed.transcript("main");
    assert_eq!(after[..before.len()], before[..], "no row is lost or changed");
    let texts: Vec<&Value> = after.iter().rev().take(2).map(|row| &row["message"]["content"][0]["text"]).collect();
    assert_eq!(texts, ["are you there?", "are you there?"], "{after:#?}");
}

#[test]
fn a_run_that_is_killed_in_any_of_its_calls_leaves_whole_rows() {
    for calls in 1..=CALLS {
        let bed = Bed::scripted(&turns());
        let bell = Bell::hang(&bed);
        let run = Staged::start(bed.process(&["agent", "--message", "go"]));
        (0..calls).for_each(|_| bell.wait());
        kill(run);
        goes_on_after(&bed, calls);
    }
}

#[test]
fn a_run_that_is_killed_while_the_model_speaks_leaves_whole_rows() {
    let bed = Bed::scripted(&turns());
    let _bell = Bell::hang(&bed);
    let mut run = Staged::on_terminal(&bed, &["agent", "--message", "go"], &[("TERM", "dumb")]);
    run.until_stdout("the last step");
    kill(run);
    assert_eq!(bed.transcript("main").len(), 2 + 2 * CALLS, "the half answer was not complete");
    goes_on_after(&bed, CALLS);
}

#[test]
fn runs_that_are_killed_one_after_another_add_up() {
    let bed = Bed::scripted(&json!([{ "play": [{ "text": "thinking" }, { "pauseMs": 600_000 }] }]));
    for killed in 1..=3 {
        let mut run = Staged::on_terminal(&bed, &["agent", "--message", "go"], &[("TERM", "dumb")]);
        run.until_stdout("thinking");
        kill(run);
        assert_eq!(bed.transcript("main").len(), 1 + killed, "the message of each run is there");
    }
    bed.creel(&["agent", "--message", "hi", "--model", "offline/echo"]).success().stdout("hi\n");
}
