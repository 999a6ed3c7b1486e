//! What leaves the host when plugins watch the way out: nothing before they passed it, and never what they cancelled or rewrote.

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, Staged, example, json_of, stderr, stdout, test_guest, write_plugin};

/// The outbound filter: one word is replaced, another one must not leave.
fn filtered(turns: &Value) -> Bed {
    let config = json!({
        "replace": [{ "word": "Bluebird", "with": "the new product" }],
        "forbid": [{ "word": "layoffs", "rule": "hr-news" }],
    });
    Bed::scripted_with(
        turns,
        json!({ "plugins": {
            "load": { "paths": [example("outbound-filter")] },
            "entries": { "outbound-filter": { "capabilities": { "kv": true }, "config": config } },
        } }),
    )
    .warm()
}

#[test]
fn a_rewritten_reply_is_the_only_one_that_is_seen() {
    let bed = filtered(&json!([{ "play": [{ "text": "We announce Bluebird today." }] }]));
    bed.creel(&["agent", "--message", "news?"]).success().stdout("We announce the new product today.\n");
    let assert = bed.creel(&["agent", "--message", "news?", "--json"]).success();
    let result = json_of(&assert);
    assert_eq!(result["payloads"], json!([{ "text": "We announce the new product today." }]));
    assert_eq!(result["deliveryStatus"]["status"], "sent");
    for stream in [stdout(&assert), stderr(&assert)] {
        assert!(!stream.contains("Bluebird"), "{stream}");
    }
}

#[test]
fn a_cancelled_reply_is_told_and_nowhere_to_be_seen() {
    let bed = filtered(&json!([{ "play": [{ "text": "Between us: layoffs are planned." }] }]));
    let human = bed.creel(&["agent", "--message", "news?"]).success().stdout("");
    assert!(stderr(&human).contains("the reply was not sent: a plugin cancelled it"), "{}", stderr(&human));
    assert!(stderr(&human).contains("hr-news"), "{}", stderr(&human));
    let machine = bed.creel(&["agent", "--message", "news?", "--json"]).success();
    let result = json_of(&machine);
    assert_eq!((&result["payloads"], &result["status"]), (&json!([]), &json!("done")));
    let delivery = &result["deliveryStatus"];
    assert_eq!((&delivery["status"], &delivery["succeeded"]), (&json!("suppressed"), &json!(true)));
    assert_eq!(delivery["reason"], "cancelled_by_message_sending_hook");
    for assert in [human, machine] {
        for stream in [stdout(&assert), stderr(&assert)] {
            assert!(!stream.contains("layoffs"), "{stream}");
        }
    }
}

/// A first answer with a call, which tells when its text has gone by.
fn two_steps() -> Value {
    json!([
        { "play": [{ "text": "Bluebird is a secret. " }, { "call": { "name": "exec", "arguments": { "command": "true" } } }] },
        { "play": [{ "pauseMs": 600_000 }] },
    ])
}

/// Runs on a terminal until the call, and gives what is on it by then.
fn shown_until_the_call(bed: &Bed) -> String {
    let mut run = Staged::on_terminal(bed, &["agent", "--message", "news?"], &[("TERM", "dumb")]);
    run.until_stdout("· exec");
    run.stdout()
}

#[test]
fn nothing_is_shown_before_a_filter_has_passed_it() {
    let shown = shown_until_the_call(&filtered(&two_steps()));
    assert!(!shown.contains("Bluebird") && !shown.contains("secret"), "{shown}");
}

#[test]
fn without_a_filter_text_is_shown_while_the_model_speaks() {
    let shown = shown_until_the_call(&Bed::scripted(&two_steps()));
    assert!(shown.contains("Bluebird is a secret."), "{shown}");
}

#[test]
fn a_file_or_a_pipe_gets_the_reply_only() {
    let bed = Bed::scripted(&json!([
        { "play": [{ "text": "first " }, { "call": { "name": "exec", "arguments": { "command": "true" } } }] },
        { "play": [{ "text": "second" }] },
    ]));
    bed.creel(&["agent", "--message", "go"]).success().stdout("second\n").stderr(contains("· exec"));
}

#[test]
fn with_json_nothing_is_shown_before_the_end() {
    let bed = Bed::scripted(&json!([
        { "play": [{ "text": "first " }, { "call": { "name": "exec", "arguments": { "command": "touch called" } } }] },
        { "play": [{ "text": "second" }] },
    ]));
    let assert = bed.creel(&["agent", "--message", "go", "--json"]).success();
    let result = json_of(&assert);
    assert_eq!(result["payloads"], json!([{ "text": "second" }]));
    assert_eq!(result["meta"]["agentMeta"]["toolCalls"], 1);
    assert!(bed.workspace().join("called").exists());
}

#[test]
fn a_payload_has_the_media_that_went_out_and_no_other() {
    let bed = Bed::new();
    let component = std::fs::read(test_guest("hook_script")).unwrap();
    let manifest = json!({
        "hooks": [{ "hook": "before_agent_reply" }, { "hook": "reply_payload_sending" }],
        "capabilities": { "kv": true }, "activation": { "onStartup": true },
    });
    let plugins = bed.work().join("plugins");
    write_plugin(&plugins, "media", manifest, Some(&component));
    let reply = json!({ "text": "look", "mediaUrls": ["file:///secret.png"] });
    let sent = json!({ "text": "look", "mediaUrls": ["https://example.org/public.png"] });
    bed.write_config(
        &json!({ "plugins": { "load": { "paths": [plugins] }, "entries": { "media": {
            "capabilities": { "kv": true },
            "hooks": { "allowConversationAccess": true },
            "config": { "record": [], "tools": [], "handlers": {
                "before_agent_reply": { "": { "answer": { "handled": true, "reply": reply } } },
                "reply_payload_sending": { "": { "answer": { "payload": sent } } },
            } },
        } } } })
        .to_string(),
    );
    bed.creel(&["agent", "--message", "show me"]).success().stdout("look\nhttps://example.org/public.png\n");
    let assert = bed.creel(&["agent", "--message", "show me", "--json"]).success();
    assert_eq!(json_of(&assert)["payloads"], json!([{ "text": "look", "mediaUrl": "https://example.org/public.png" }]));
    assert!(!stdout(&assert).contains("secret.png"), "{}", stdout(&assert));
}

#[test]
fn a_reply_that_cannot_be_written_fails_the_command() {
    let bed = Bed::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut process = bed.process(&["agent", "--message", "hi"]);
    let output = process.stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(contains("error: the reply was not sent: stdout cannot be written").eval(&said), "{said}");
}
