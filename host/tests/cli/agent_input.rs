//! `creel agent`: what it is given, and what it refuses before anything runs.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, json_of, stderr, stdout};

/// Refused with this in the message; nothing ran and nothing was stored.
fn refused(bed: &Bed, arguments: &[&str], message: &[&str]) {
    let mut all = vec!["agent"];
    all.extend(arguments);
    let assert = bed.creel(&all).code(2).stdout("");
    for part in message {
        assert!(stderr(&assert).contains(part), "{arguments:?} must say `{part}`:\n{}", stderr(&assert));
    }
    assert_eq!(bed.sessions(), Vec::<Value>::new(), "{arguments:?} stored something");
}

#[test]
fn a_run_needs_exactly_one_message() {
    let bed = Bed::new();
    let choice = "<--message <TEXT>|--message-file <FILE>>";
    refused(&bed, &[], &["required arguments", choice]);
    refused(&bed, &["--message", "a", "--message-file", "b"], &["cannot be used with", choice]);
    for blank in ["", "  \n\t"] {
        refused(&bed, &["--message", blank], &["the message is empty"]);
    }
}

#[test]
fn a_message_file_keeps_its_lines_and_loses_its_mark() {
    let bed = Bed::new();
    bed.file("message.txt", b"\xef\xbb\xbffirst\r\n\r\n  zweite Zeile: \xc3\xa4\n");
    bed.creel(&["agent", "--message-file", "message.txt"]).success().stdout("first\r\n\r\n  zweite Zeile: ä\n");
    let rows = bed.transcript("main");
    assert_eq!(rows[1]["message"]["content"][0]["text"], "first\r\n\r\n  zweite Zeile: ä\n");
}

#[test]
fn a_message_may_come_from_stdin() {
    let bed = Bed::new();
    let mut command = bed.command(&["agent", "--message-file", "-"]);
    Bed::finish(command.write_stdin("from a pipe")).success().stdout("from a pipe\n");
    let mut command = bed.command(&["agent", "--message-file", "-"]);
    Bed::finish(command.write_stdin(b"ab\xff".as_slice())).code(2).stderr(contains("the message file stdin is not UTF-8"));
}

#[test]
fn a_message_file_that_is_none_is_refused() {
    let bed = Bed::new();
    bed.file("latin1.txt", b"caf\xe9 au lait");
    refused(&bed, &["--message-file", "latin1.txt"], &["latin1.txt is not UTF-8", "the byte at offset 3", "hint: convert it"]);
    refused(&bed, &["--message-file", "nowhere.txt"], &["nowhere.txt cannot be read", "No such file"]);
    refused(&bed, &["--message-file", "."], &["cannot be read", "directory"]);
    bed.file("empty.txt", "\n");
    refused(&bed, &["--message-file", "empty.txt"], &["the message is empty"]);
    bed.file("large.txt", vec![b'x'; 4 * 1024 * 1024 + 1]);
    refused(
        &bed,
        &["--message-file", "large.txt"],
        &["larger than 4 MiB", "hint: put the material into a file of the workspace"],
    );
    refused(&bed, &["--message-file", "/dev/zero"], &["/dev/zero is larger than 4 MiB"]);
}

#[test]
fn chat_commands_are_refused_with_the_proper_way() {
    let bed = Bed::new();
    refused(&bed, &["--message", "/new"], &["`/new` is a chat command", "hint: `creel agent --new-session"]);
    refused(&bed, &["--message", " /model other/one"], &["`/model` is a chat command", "--model provider/model"]);
    bed.file("command.txt", "/compact now");
    refused(&bed, &["--message-file", "command.txt"], &["`/compact` is a chat command", "hint:"]);
    bed.creel(&["agent", "--message", "/etc/hosts is a file"]).success().stdout("/etc/hosts is a file\n");
}

#[test]
fn session_keys_that_make_no_sense_are_refused() {
    let bed = Bed::new();
    let long = "k".repeat(600);
    for (key, message) in [
        ("", "the session key is empty"),
        ("agent:main", "must have the form `agent:<agentId>:<rest>`"),
        ("agent::x", "must have the form `agent:<agentId>:<rest>`"),
        ("a::b", "an empty part between its colons"),
        ("two words", "holds white space"),
        ("agent:-x:main", "is not an agent id"),
        (long.as_str(), "at most 512"),
    ] {
        refused(&bed, &["--message", "hi", "--session-key", key], &[message]);
    }
}

#[test]
fn a_bare_key_is_put_below_its_agent_and_some_keys_are_complete() {
    let two = json!({ "agents": { "list": [{ "id": "main" }, { "id": "ops" }] } });
    for (arguments, key) in [
        (&[][..], "agent:main:main"),
        (&["--session-key", "telegram:direct:7"], "agent:main:telegram:direct:7"),
        (&["--agent", "ops", "--session-key", "incident"], "agent:ops:incident"),
        (&["--agent", "ops"], "agent:ops:main"),
        (&["--session-key", "agent:OPS:x"], "agent:ops:x"),
        (&["--session-key", "cron:nightly"], "cron:nightly"),
        (&["--session-key", "global"], "global"),
        (&["--agent", "ops", "--session-key", "global"], "agent:ops:global"),
    ] {
        let bed = Bed::configured(&two);
        let mut all = vec!["agent", "--message", "hi", "--json"];
        all.extend(arguments);
        assert_eq!(json_of(&bed.creel(&all).success())["sessionKey"], key, "{arguments:?}");
        assert_eq!(bed.sessions()[0]["sessionKey"], key);
    }
}

#[test]
fn an_agent_must_exist_and_agree_with_the_key() {
    let bed = Bed::new();
    refused(&bed, &["--message", "hi", "--agent", "ops"], &["there is no agent `ops`; configured: main", "agents.list"]);
    refused(&bed, &["--message", "hi", "--session-key", "agent:ops:main"], &["there is no agent `ops`"]);
    refused(&bed, &["--message", "hi", "--agent", "not an id"], &["`not an id` is not an agent id"]);
    refused(
        &bed,
        &["--message", "hi", "--agent", "main", "--session-key", "agent:ops:main"],
        &["belongs to agent `ops`, but agent `main` was asked for"],
    );
}

#[test]
fn wrong_options_say_what_would_be_right() {
    let bed = Bed::new();
    let levels = "off, minimal, low, medium, high, xhigh, adaptive, max, ultra";
    refused(&bed, &["--message", "hi", "--thinking", "deep"], &["invalid value 'deep'", levels]);
    for seconds in ["-1", "1.5", "soon"] {
        refused(&bed, &["--message", "hi", "--timeout", seconds], &["a whole number of seconds, 0 for no limit"]);
    }
    refused(&bed, &["--message", "hi", "--model", "echo"], &["`echo` is not a model reference", "`offline/echo`", "alias"]);
    refused(&bed, &["--message", "hi", "--plugin-dir", "nowhere"], &["--plugin-dir: nowhere does not exist"]);
    refused(&bed, &["--mesage", "hi"], &["unexpected argument '--mesage'", "--message"]);
}

#[test]
fn every_thinking_level_is_taken() {
    let bed = Bed::new();
    for level in ["off", "minimal", "low", "medium", "high", "xhigh", "adaptive", "max", "ultra"] {
        bed.creel(&["agent", "--message", level, "--thinking", level]).success().stdout(format!("{level}\n"));
    }
}

#[test]
fn a_model_may_be_named_by_its_alias() {
    let bed = Bed::configured(&json!({ "agents": { "defaults": {
        "model": "offline/script", "models": { "offline/echo": { "alias": "Parrot" } },
    } } }));
    bed.creel(&["agent", "--message", "hi", "--model", "parrot"]).success().stdout("hi\n");
    bed.creel(&["agent", "--message", "hi"]).code(1).stderr(contains("models.providers.offline.script"));
}

#[test]
fn a_path_that_is_not_utf8_is_not_passed_over() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let odd = OsStr::from_bytes(b"odd\xff");
    let bed = Bed::new();
    let mut by_option = bed.command(&["config", "check"]);
    by_option.arg("--state-dir").arg(odd);
    Bed::finish(&mut by_option).code(2).stderr(contains("--state-dir").and(contains("not UTF-8")));
    let mut by_variable = bed.command(&["config", "check"]);
    by_variable.env("CREEL_STATE_DIR", odd);
    Bed::finish(&mut by_variable).code(2).stderr(contains("CREEL_STATE_DIR").and(contains("not UTF-8")));
}

#[test]
fn places_come_from_options_then_variables_then_home() {
    let bed = Bed::new();
    let place = |assert| stdout(&assert);
    let said = place(bed.creel(&["config", "check", "--state-dir", "elsewhere"]).success());
    assert!(said.contains(&bed.work().join("elsewhere/creel.json").display().to_string()), "{said}");
    let mut unset = bed.command(&["config", "check"]);
    let said = place(Bed::finish(unset.env("CREEL_STATE_DIR", "")).success());
    assert!(said.contains(&bed.home().join(".creel/creel.json").display().to_string()), "{said}");
    let mut homeless = bed.command(&["config", "check"]);
    homeless.env_remove("HOME").env_remove("CREEL_STATE_DIR");
    Bed::finish(&mut homeless).code(3).stderr(contains("set CREEL_STATE_DIR"));
    let mut lost = bed.command(&["config", "check"]);
    Bed::finish(lost.env("HOME", "here")).code(3).stderr(contains("HOME is \"here\", which is no absolute path"));
    assert!(!fs::exists(bed.home().join(".creel")).unwrap(), "a look creates nothing");
}
