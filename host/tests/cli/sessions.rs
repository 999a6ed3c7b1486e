//! `creel sessions list|show|export`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use predicates::prelude::*;
use predicates::str::contains;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Bed, Bell, Staged, json_of, stderr, stdout};

/// A place with one conversation in which a tool was called.
fn with_a_conversation() -> Bed {
    let bed = Bed::scripted(&json!([
        { "play": [{ "thinking": "hm" }, { "call": { "name": "read", "arguments": { "path": "missing.txt" } } }] },
        { "play": [{ "text": "There is no such file.\nSorry." }], "usage": { "input": 100, "output": 7 } },
    ]));
    bed.creel(&["agent", "--message", "What is in missing.txt?"]).success().stdout("There is no such file.\nSorry.\n");
    bed
}

#[test]
fn without_sessions_there_is_a_hint_and_empty_json() {
    let bed = Bed::new();
    bed.creel(&["sessions", "list"]).success().stdout("").stderr(contains("There are no sessions yet; `creel agent"));
    bed.creel(&["sessions", "list", "--agent", "main"]).success().stderr(contains("no sessions of agent `main`"));
    assert_eq!(bed.sessions(), Vec::<Value>::new());
    for arguments in [&["show"][..], &["show", "nobody"], &["export"], &["show", "agent:main"]] {
        let mut all = vec!["sessions"];
        all.extend(arguments);
        bed.creel(&all).code(2).stdout("").stderr(contains("there is no session").and(contains("`creel sessions list`")));
    }
    bed.creel(&["sessions", "list", "--agent", "not an id"]).code(2).stderr(contains("is not an agent id"));
}

#[test]
fn the_list_is_a_table_with_the_newest_change_first() {
    let bed = with_a_conversation();
    bed.creel(&["agent", "--message", "hi", "--model", "offline/echo", "--session-key", "second"]).success();
    let table = stdout(&bed.creel(&["sessions", "list"]).success().stderr(""));
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["SESSION", "STATUS", "ROWS", "TOKENS", "IN/OUT", "CHANGED"]);
    assert_eq!(&lines[1][..3], ["agent:main:second", "done", "3"]);
    assert_eq!(&lines[2][..3], ["agent:main:main", "done", "5"]);
    assert_eq!(lines.len(), 3, "{table}");
    assert!(table.lines().all(|line| !line.starts_with(' ') && line.trim_end() == line), "{table}");
    let sessions = bed.sessions();
    assert_eq!(sessions[1]["sessionKey"], "agent:main:main");
    assert_eq!(sessions[1]["entry"]["status"], "done");
    assert_eq!(sessions[1]["rows"], 5);
}

#[test]
fn a_transcript_is_readable() {
    let bed = with_a_conversation();
    let shown = stdout(&bed.creel(&["sessions", "show"]).success().stderr(""));
    let (heading, rows) = shown.split_once('\n').unwrap();
    assert!(heading.starts_with("agent:main:main  ") && heading.contains("  since "), "{heading}");
    let workspace = bed.workspace().canonicalize().unwrap();
    let rows = rows.replace(&workspace.display().to_string(), "WORKSPACE");
    let expected = "\
[0] session
  begun in WORKSPACE
[1] user
  What is in missing.txt?
[2] assistant
  (reasoning)
  → read {\"path\":\"missing.txt\"}
[3] failed result of read
";
    assert!(rows.starts_with(expected), "{rows}");
    assert!(rows.ends_with("[4] assistant\n  There is no such file.\n  Sorry.\n"), "{rows}");
}

#[test]
fn a_turn_that_failed_says_why() {
    let error = json!({ "error": { "class": "overloaded", "message": "try \u{1b}[2J later" } });
    let bed = Bed::scripted(&json!([{ "play": [error] }]));
    bed.creel(&["agent", "--message", "go"]).code(1);
    let shown = stdout(&bed.creel(&["sessions", "show"]).success());
    assert!(shown.ends_with("[2] assistant\n  (failed: try \\u{1b}[2J later)\n"), "{shown}");
    let bed = Bed::scripted(&json!([{ "play": [{ "text": "Half an answer" }, { "pauseMs": 600_000 }] }]));
    bed.creel(&["agent", "--message", "go", "--timeout", "1"]).code(6);
    let shown = stdout(&bed.creel(&["sessions", "show"]).success());
    assert!(shown.contains("[2] assistant\n  Half an answer\n  (aborted"), "{shown}");
}

#[test]
fn a_run_under_way_is_running() {
    let bed = Bed::scripted(
        &json!([{ "play": [{ "call": { "name": "exec", "arguments": { "command": "echo > bell; sleep 600" } } }] }]),
    );
    let status = || bed.sessions()[0]["entry"]["status"].clone();
    bed.creel(&["agent", "--message", "hi", "--model", "offline/echo"]).success();
    assert_eq!(status(), "done");
    let bell = Bell::hang(&bed);
    let mut run = Staged::start(bed.process(&["agent", "--message", "go"]));
    bell.wait();
    assert_eq!(status(), "running");
    let table = stdout(&bed.creel(&["sessions", "list"]).success());
    assert!(table.contains("agent:main:main  running"), "{table}");
    run.signal(Signal::KILL);
    run.end();
    assert_eq!(status(), "killed", "its process is gone");
}

/// The database of the main agent.
fn database(bed: &Bed) -> PathBuf {
    let folder = bed.state().join("agents/main/agent");
    fs::create_dir_all(&folder).unwrap();
    folder.join("creel-agent.sqlite")
}

#[test]
fn what_lies_in_place_of_the_database_is_told() {
    let bed = Bed::new();
    fs::create_dir(database(&bed)).unwrap();
    let refused = contains("creel-agent.sqlite failed: it is a directory, not a file; move it away");
    bed.creel(&["sessions", "list"]).code(1).stdout("").stderr(refused.clone());
    bed.creel(&["sessions", "list", "--json"]).code(1).stderr(refused.clone());
    bed.creel(&["agent", "--message", "hi"]).code(1).stderr(refused);

    let bed = Bed::new();
    assert!(Command::new("mkfifo").arg(database(&bed)).status().unwrap().success());
    let refused = contains("creel-agent.sqlite failed: it is a named pipe, not a file; move it away");
    for arguments in [&["sessions", "list"][..], &["sessions", "show"], &["sessions", "export"], &["agent", "--message", "hi"]] {
        bed.creel(arguments).code(1).stdout("").stderr(refused.clone());
    }

    let bed = Bed::new();
    fs::write(database(&bed), "").unwrap();
    let warned = contains("creel-agent.sqlite is empty").and(contains("restore a backup"));
    bed.creel(&["sessions", "list"]).success().stdout("").stderr(warned);
    bed.creel(&["sessions", "list"]).success().stderr(contains("is empty").not());
}

#[test]
fn the_tail_of_a_transcript_says_that_there_is_more() {
    let bed = with_a_conversation();
    let shown = stdout(&bed.creel(&["sessions", "show", "main", "--tail", "1"]).success());
    assert!(shown.contains("… earlier rows are left out; --tail N shows more than 1\n[4] assistant\n"), "{shown}");
    let shown = json_of(&bed.creel(&["sessions", "show", "main", "--tail", "2", "--json"]).success().stderr(""));
    assert_eq!((&shown["hasEarlier"], &shown["sessionKey"]), (&json!(true), &json!("agent:main:main")));
    assert_eq!(shown["rows"].as_array().unwrap().len(), 2);
    let all = json_of(&bed.creel(&["sessions", "show", "main", "--json"]).success());
    assert_eq!((&all["hasEarlier"], all["rows"].as_array().unwrap().len()), (&json!(false), 5));
    for tail in ["0", "10001", "many"] {
        bed.creel(&["sessions", "show", "--tail", tail]).code(2).stderr(contains("--tail"));
    }
}

#[test]
fn stored_text_cannot_control_the_terminal() {
    let bed = Bed::new();
    let mut command = bed.command(&["agent", "--message", "bell \u{7} and \u{1b}[2Jclear"]);
    // The reply on a pipe is data and stays as it is.
    command.assert().success().stdout("bell \u{7} and \u{1b}[2Jclear\n");
    let shown = stdout(&bed.creel(&["sessions", "show"]).success());
    assert!(shown.contains("bell \\u{7} and \\u{1b}[2Jclear"), "{shown}");
}

#[test]
fn long_rows_are_cut_when_shown_and_whole_when_exported() {
    let bed = Bed::new();
    let long = "word ".repeat(1000);
    bed.creel(&["agent", "--message", long.trim()]).success();
    bed.creel(&["sessions", "show"]).success().stdout(contains("… 2999 more characters"));
    assert_eq!(bed.transcript("main")[1]["message"]["content"][0]["text"], long.trim());
}

#[test]
fn a_session_is_found_by_key_bare_key_id_and_agent() {
    let bed = Bed::configured(&json!({ "agents": { "list": [{ "id": "main" }, { "id": "ops" }] } }));
    let id = json_of(&bed.creel(&["agent", "--message", "hi", "--agent", "ops", "--json"]).success())["sessionId"].clone();
    bed.creel(&["agent", "--message", "hi", "--session-key", "global"]).success();
    let id = id.as_str().unwrap();
    for arguments in
        [&["agent:ops:main"][..], &["main", "--agent", "ops"], &["--agent", "ops"], &[id, "--agent", "ops"], &["global"]]
    {
        let mut all = vec!["sessions", "show", "--json"];
        all.extend(arguments);
        let key = json_of(&bed.creel(&all).success())["sessionKey"].clone();
        assert_eq!(key, if arguments == ["global"] { "global" } else { "agent:ops:main" }, "{arguments:?}");
    }
    bed.creel(&["sessions", "show", "main"]).code(2).stderr(contains("there is no session `main`"));
}

#[test]
fn an_export_is_json_lines_with_the_header_first() {
    let bed = with_a_conversation();
    let rows = bed.transcript("main");
    let types: Vec<&str> = rows.iter().map(|row| row["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["session", "message", "message", "message", "message"]);
    assert_eq!(rows[0]["id"], bed.sessions()[0]["entry"]["sessionId"]);
    for (parent, row) in rows.iter().zip(&rows[1..]) {
        assert_eq!(row["parentId"], parent["id"], "each row follows the one before");
    }
}

#[test]
fn an_export_never_overwrites() {
    let bed = with_a_conversation();
    let assert = bed.creel(&["sessions", "export", "main", "--output", "out.jsonl"]).success().stdout("");
    assert!(stderr(&assert).contains("5 rows of") && stderr(&assert).contains("written to out.jsonl"), "{}", stderr(&assert));
    let exported = fs::read_to_string(bed.work().join("out.jsonl")).unwrap();
    assert_eq!(exported, stdout(&bed.creel(&["sessions", "export"]).success()));
    bed.creel(&["sessions", "export", "-o", "out.jsonl"])
        .code(2)
        .stderr(contains("out.jsonl exists already").and(contains("--output")));
    assert_eq!(fs::read_to_string(bed.work().join("out.jsonl")).unwrap(), exported);
    bed.creel(&["sessions", "export", "-o", "nowhere/out.jsonl"]).code(2).stderr(contains("nowhere/out.jsonl cannot be created"));
    bed.creel(&["sessions", "export", "nobody", "-o", "new.jsonl"]).code(2);
    assert!(!bed.work().join("new.jsonl").exists(), "nothing is created for a session that does not exist");
}
