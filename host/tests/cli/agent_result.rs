//! `creel agent`: what comes out of a run, as text and as JSON, and its exit codes.

use predicates::prelude::*;
use predicates::str::{contains, is_empty};
use serde_json::{Value, json};

use crate::support::{Bed, Bell, Staged, json_of, stderr, stdout};

#[test]
fn text_is_the_reply_and_nothing_else() {
    let bed = Bed::new();
    bed.creel(&["agent", "--message", "hello there"]).success().stdout("hello there\n");
    bed.creel(&["agent", "--message", "again"]).success().stdout("again\n").stderr(is_empty());
}

#[test]
fn json_is_one_object_on_stdout() {
    let bed = Bed::new();
    let result = json_of(&bed.creel(&["agent", "--message", "hi", "--json"]).success());
    assert_eq!(result["status"], "done");
    assert_eq!(result["sessionKey"], "agent:main:main");
    assert_eq!(result["payloads"], json!([{ "text": "hi" }]));
    assert!(result["meta"]["durationMs"].is_u64(), "{result}");
    let agent = &result["meta"]["agentMeta"];
    assert_eq!((&agent["provider"], &agent["model"]), (&json!("offline"), &json!("echo")));
    assert_eq!(agent["sessionId"], result["sessionId"]);
    assert_eq!(result["meta"]["error"], Value::Null);
    let delivery = &result["deliveryStatus"];
    assert_eq!(
        (&delivery["status"], &delivery["succeeded"], &delivery["resultCount"]),
        (&json!("sent"), &json!(true), &json!(1)),
        "{delivery}"
    );
}

#[test]
fn diagnostics_go_to_stderr_also_with_json() {
    let bed = Bed::configured(&json!({ "tools": { "deny": ["zap"] } }));
    let assert = bed.creel(&["-v", "agent", "--message", "hi", "--json"]).success().stderr(contains("names no tool that exists"));
    assert_eq!(json_of(&assert)["payloads"][0]["text"], "hi");
}

#[test]
fn log_levels_follow_configuration_option_and_variable() {
    let told = "names no tool that exists";
    let config = |level: &str| json!({ "tools": { "deny": ["zap"] }, "logging": { "level": level } });
    for (level, option, variable, is_told) in [
        ("info", None, None, true),
        ("silent", None, None, false),
        ("fatal", None, None, false),
        ("silent", Some("-v"), None, true),
        ("info", None, Some("error"), false),
        ("silent", None, Some("warn"), true),
    ] {
        let bed = Bed::configured(&config(level));
        let mut command = bed.command(&["agent", "--message", "hi"]);
        command.args(option).envs(variable.map(|value| ("CREEL_LOG", value)));
        let assert = Bed::finish(&mut command).success().stdout("hi\n");
        assert_eq!(stderr(&assert).contains(told), is_told, "{level} {option:?} {variable:?}:\n{}", stderr(&assert));
    }
    let bed = Bed::new();
    let mut command = bed.command(&["agent", "--message", "hi"]);
    Bed::finish(command.env("CREEL_LOG", "a=b=c")).success().stdout("hi\n").stderr(contains("CREEL_LOG is ignored: `a=b=c`"));
    let mut command = bed.command(&["agent", "--message", "hi"]);
    Bed::finish(command.env("CREEL_LOG", "dbug")).success().stdout("hi\n").stderr(contains("CREEL_LOG is ignored: `dbug`"));
}

#[test]
fn a_provider_that_cannot_be_reached_is_told_once() {
    let bed = Bed::configured(&json!({
        "agents": { "defaults": { "model": "local/x", "skipBootstrap": true } },
        "models": { "providers": { "local": { "baseUrl": "http://127.0.0.1:9/v1", "models": [{ "id": "x" }] } } },
    }));
    let said = stderr(&bed.creel(&["agent", "--message", "hi"]).code(1).stdout(""));
    assert_eq!(said.matches("error: The model provider `local` could not be reached").count(), 1, "{said}");
    assert_eq!(said.matches("check the network and `models.providers.local.baseUrl`").count(), 1, "{said}");
}

#[test]
fn a_time_zone_without_end_is_not_read() {
    let bed = Bed::new();
    for (zone, is_told) in [("/dev/zero", true), (":/dev/zero", true), ("Europe/Berlin", false), ("nonsense", false)] {
        let mut command = bed.command(&["agent", "--message", "hi"]);
        let assert = Bed::finish(command.env("TZ", zone)).success().stdout("hi\n");
        assert_eq!(stderr(&assert).contains("UTC is used"), is_told, "{zone}: {}", stderr(&assert));
    }
}

#[test]
fn a_session_goes_on_until_a_new_one_is_asked_for() {
    let bed = Bed::new();
    let id = |arguments: &[&str]| {
        let mut all = vec!["agent", "--json", "--message", "hi"];
        all.extend(arguments);
        json_of(&bed.creel(&all).success())["sessionId"].clone()
    };
    let first = id(&[]);
    assert_eq!(id(&[]), first);
    let second = id(&["--new-session"]);
    assert_ne!(second, first);
    assert_eq!(id(&[]), second);
    assert_ne!(id(&["--session-key", "other"]), second);
    let rows = bed.transcript(first.as_str().unwrap());
    assert_eq!(rows.iter().filter(|row| row["type"] == "message").count(), 4, "the old transcript is still there: {rows:?}");
}

#[test]
fn the_model_sees_the_earlier_turns() {
    let turns = json!([
        { "play": [{ "text": "noted" }] },
        { "expect": { "anywhere": { "contains": ["my number is seven", "noted"] } }, "play": [{ "text": "seven" }] },
    ]);
    let bed = Bed::scripted(&turns);
    // A script is played from its beginning by each process, so the second turn is reached by a second script.
    bed.creel(&["agent", "--message", "my number is seven"]).success().stdout("noted\n");
    std::fs::write(bed.state().join("script.json5"), json!({ "turns": [turns[1]] }).to_string()).unwrap();
    bed.creel(&["agent", "--message", "which one?"]).success().stdout("seven\n");
}

#[test]
fn a_model_that_is_not_configured_names_the_key_to_set() {
    let bed = Bed::new();
    for (model, key) in [("acme/big", "models.providers.acme.baseUrl"), ("offline/script", "models.providers.offline.script")] {
        let assert = bed.creel(&["agent", "--message", "hi", "--model", model]).code(1).stdout("");
        assert_eq!(stderr(&assert).matches(key).count(), 1, "said once:\n{}", stderr(&assert));
        let result = json_of(&bed.creel(&["agent", "--message", "hi", "--json", "--model", model]).code(1).stderr(contains(key)));
        assert_eq!(result["status"], "failed");
        assert!(result["meta"]["error"].as_str().unwrap().contains(key), "{result}");
        assert_eq!(result["payloads"][0]["isError"], true);
    }
}

#[test]
fn a_failing_model_is_told_on_stderr_with_its_cause() {
    let error = json!({ "error": { "class": "rate_limit", "message": "slow down, said the provider" } });
    let bed = Bed::scripted(&json!([{ "play": [{ "text": "Half an " }, error] }]));
    let assert = bed.creel(&["agent", "--message", "hi"]).code(1).stdout("Half an \n");
    let said = stderr(&assert);
    assert!(said.contains("error: The model provider `offline` got too many requests"), "{said}");
    assert!(said.contains("\n  cause: slow down, said the provider\n"), "the operator sees the cause: {said}");
    assert_eq!(said.matches("error:").count(), 1, "one failure, told once: {said}");
    let assert = bed.creel(&["agent", "--message", "hi", "--json"]).code(1);
    assert_eq!(stderr(&assert), "error: slow down, said the provider\n");
}

#[test]
fn a_run_that_takes_too_long_says_so() {
    let turns = json!([{ "play": [{ "text": "Let me think. " }, { "pauseMs": 600_000 }, { "text": "never" }] }]);
    let bed = Bed::scripted(&turns);
    let assert = bed.creel(&["agent", "--message", "hi", "--timeout", "1"]).code(6).stdout("Let me think. \n");
    assert!(stderr(&assert).contains("error: the run took longer than its 1 s"), "{}", stderr(&assert));
    let result = json_of(&bed.creel(&["agent", "--message", "hi", "--timeout", "1", "--json"]).code(6));
    assert_eq!((&result["status"], &result["meta"]["aborted"]), (&json!("timeout"), &json!(true)));
    assert_eq!(result["payloads"], json!([{ "text": "Let me think. " }]));
    let bed = Bed::scripted_with(&turns, json!({ "agents": { "defaults": { "timeoutSeconds": 1 } } }));
    bed.creel(&["agent", "--message", "hi"]).code(6).stderr(contains("its 1 s"));
}

#[test]
fn zero_seconds_are_no_limit() {
    let bed = Bed::scripted(&json!([{ "play": [{ "pauseMs": 1200 }, { "text": "done" }] }]));
    bed.creel(&["agent", "--message", "hi", "--timeout", "1"]).code(6);
    bed.creel(&["agent", "--message", "hi", "--timeout", "0"]).success().stdout("done\n");
}

#[test]
fn a_session_that_another_process_uses_is_busy() {
    let command = json!({ "command": "echo > bell; sleep 600" });
    let bed = Bed::scripted(&json!([{ "play": [{ "call": { "name": "exec", "arguments": command } }] }]));
    let bell = Bell::hang(&bed);
    let _first = Staged::start(bed.process(&["agent", "--message", "one"]));
    bell.wait();
    let echo = |arguments: &[&str]| {
        let mut all = vec!["agent", "--model", "offline/echo", "--message", "two"];
        all.extend(arguments);
        bed.creel(&all)
    };
    let assert = echo(&[]).code(5).stdout("");
    assert!(stderr(&assert).contains("session `agent:main:main` is in use by run"), "{}", stderr(&assert));
    assert_eq!(json_of(&echo(&["--json"]).code(5))["status"], "failed");
    echo(&["--session-key", "other"]).success().stdout("two\n");
}

#[test]
fn silence_is_no_output_and_no_failure() {
    let bed = Bed::scripted(&json!([{ "play": [{ "text": "NO_REPLY" }] }]));
    bed.creel(&["agent", "--message", "hi"]).success().stdout("");
    let result = json_of(&bed.creel(&["agent", "--message", "hi", "--json"]).success());
    assert_eq!(result["payloads"], json!([]));
    assert_eq!(result["deliveryStatus"]["status"], "suppressed");
    assert_eq!(result["deliveryStatus"]["reason"], "no_visible_payload");
}

#[test]
fn a_reply_with_a_prefix_is_printed_once() {
    let bed = Bed::configured(&json!({ "messages": { "responsePrefix": "[creel]" } }));
    bed.creel(&["agent", "--message", "hi"]).success().stdout("[creel] hi\n");
    assert_eq!(json_of(&bed.creel(&["agent", "--message", "hi", "--json"]).success())["payloads"][0]["text"], "[creel] hi");
}

#[test]
fn tools_work_in_the_workspace_and_are_told_on_stderr() {
    let bed = Bed::scripted(&json!([
        { "play": [{ "text": "Writing. " }, { "call": { "name": "write", "arguments": { "path": "note.txt", "content": "rope" } } }] },
        { "play": [{ "call": { "name": "read", "arguments": { "path": "missing.txt" } } }] },
        { "play": [{ "text": "Done." }] },
    ]));
    let assert = bed.creel(&["agent", "--message", "note it"]).success().stdout("Done.\n");
    let said = stderr(&assert);
    assert!(said.contains("· write {\"path\":\"note.txt\",\"content\":\"rope\"}"), "{said}");
    assert!(said.contains("read: "), "the failure of a tool is told: {said}");
    assert_eq!(std::fs::read_to_string(bed.workspace().join("note.txt")).unwrap(), "rope");
}

#[test]
fn a_workspace_that_cannot_be_used_fails_with_the_key_to_set() {
    let bed = Bed::new();
    let blocked = bed.file("blocked", "a file, not a directory");
    bed.write_config(&json!({ "agents": { "defaults": { "workspace": blocked } } }).to_string());
    bed.creel(&["agent", "--message", "hi"])
        .code(1)
        .stdout("")
        .stderr(contains("blocked").and(contains("agents.defaults.workspace")));
}

#[test]
fn failures_are_an_object_with_json() {
    let bed = Bed::new();
    let assert = bed.creel(&["agent", "--message", "/new", "--json"]).code(2).stderr(contains("chat command"));
    let error = &json_of(&assert)["error"];
    assert_eq!(error["exitCode"], 2);
    assert!(error["message"].as_str().unwrap().contains("`/new`"), "{error}");
    assert_eq!(error["hints"].as_array().unwrap().len(), 1);
}

#[test]
fn help_and_version_are_on_stdout() {
    let bed = Bed::new();
    let help = stdout(&bed.creel(&["--help"]).success().stderr(""));
    for command in ["agent", "plugins", "sessions", "config", "demo", "completions"] {
        assert!(help.contains(command), "{help}");
    }
    bed.creel(&["--version"]).success().stdout(contains(env!("CARGO_PKG_VERSION")));
    bed.creel(&[]).code(2).stdout("").stderr(contains("Usage: creel"));
    for shell in ["bash", "zsh", "fish"] {
        bed.creel(&["completions", shell]).success().stdout(contains("session-key")).stderr("");
    }
}
