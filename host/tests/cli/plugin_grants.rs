//! `creel plugins grants|grant|revoke`: what is asked for, what is granted, and what comes of both in the configuration and in a run.

use std::fs;

use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};

use crate::support::{Bed, example, json_of, stdout, test_guest, write_plugin};

/// A plugin that imports key-value storage and asks for some more, and a configuration with a comment.
fn bed() -> Bed {
    let bed = Bed::new();
    let manifest = json!({
        "capabilities": {
            "kv": { "maxBytes": 4096 }, "http": { "allow": ["https://api.example.com"] }, "toolsInvoke": ["read"], "secrets": ["token"],
        },
        "hooks": [{ "hook": "message_sending" }],
    });
    let component = fs::read(test_guest("hook_script")).unwrap();
    write_plugin(&bed.work().join("plugins"), "asker", manifest, Some(&component));
    bed.write_config("// mine\n{\n  plugins: {\n    load: { paths: [\"../work/plugins\"] }, // there\n  },\n}\n");
    bed
}

/// The entry of the plugin as it is written.
fn entry(bed: &Bed) -> Value {
    config::written_value(&bed.read_config(), &config::KeyPath::of("plugins.entries.asker")).unwrap_or_default()
}

/// The row of one kind.
fn row(bed: &Bed, kind: &str) -> Value {
    let told = json_of(&bed.creel(&["plugins", "grants", "asker", "--json"]).success());
    let rows = told[0]["grants"].as_array().unwrap();
    rows.iter().find(|row| row["kind"] == kind).cloned().unwrap_or_default()
}

#[test]
fn what_is_asked_for_and_what_is_granted_stands_side_by_side() {
    let bed = bed();
    assert_eq!(row(&bed, "kv"), json!({ "kind": "kv", "asks": true, "granted": null }));
    bed.creel(&["plugins", "grant", "asker", "kv"])
        .success()
        .stdout(contains("plugins.entries.asker.capabilities.kv: { maxBytes: 4096 }"));
    assert_eq!(row(&bed, "kv")["granted"], "at most 4 KiB in 10000 keys");
    let people = stdout(&bed.creel(&["plugins", "grants"]).success().stderr(contains("creel plugins grant asker --all")));
    for word in ["asker", "toolsInvoke", "at most 4 KiB"] {
        assert!(people.contains(word), "{people}");
    }
    bed.creel(&["plugins", "grants", "asked"]).code(2).stderr(contains("did you mean `asker`?"));
}

#[test]
fn all_that_it_asks_for_is_written_and_only_the_operator_knows_secrets() {
    let bed = bed();
    bed.creel(&["plugins", "grant", "asker"]).code(2).stderr(contains("--all").and(contains("https://api.example.com")));
    let assert = bed.creel(&["plugins", "grant", "asker", "--all"]).success();
    assert.stderr(contains("capabilities.secrets is not granted: only you know"));
    assert_eq!(
        entry(&bed)["capabilities"],
        json!({ "kv": { "maxBytes": 4096 }, "http": { "allow": ["https://api.example.com"] }, "toolsInvoke": ["read"] })
    );
    assert_eq!(entry(&bed)["hooks"], json!({ "allowConversationAccess": true }), "its component has hooks that see what is said");
    let text = bed.read_config();
    assert!(text.starts_with("// mine\n") && text.contains("// there"), "{text}");
    // And it loads with that.
    let listed = json_of(&bed.creel(&["plugins", "list", "--json"]).success());
    assert_eq!((&listed[0]["state"], &listed[0]["notGranted"]), (&json!("on"), &json!(["secrets"])), "{listed}");
}

#[test]
fn names_are_added_and_taken_back_one_by_one() {
    let bed = bed();
    bed.creel(&["plugins", "grant", "asker", "kv=1mb", "env=LANG,TZ", "http=https://a.example"]).success();
    bed.creel(&["plugins", "grant", "asker", "env=TZ,HOME", "http=https://b.example,https://a.example"]).success();
    let capabilities = || entry(&bed)["capabilities"].clone();
    assert_eq!(
        capabilities(),
        json!({
            "kv": { "maxBytes": "1mb" }, "env": ["LANG", "TZ", "HOME"], "http": { "allow": ["https://a.example", "https://b.example"] },
        })
    );
    bed.creel(&["plugins", "revoke", "asker", "env=TZ", "http=https://a.example"]).success();
    assert_eq!(capabilities()["env"], json!(["LANG", "HOME"]));
    assert_eq!(capabilities()["http"], json!({ "allow": ["https://b.example"] }));
    bed.creel(&["plugins", "revoke", "asker", "env=TZ"]).code(2).stderr(contains("env does not hold \"TZ\""));
    bed.creel(&["plugins", "revoke", "asker", "kv", "http"]).success().stdout(contains("capabilities.kv is removed"));
    assert_eq!(capabilities(), json!({ "env": ["LANG", "HOME"] }));
    bed.creel(&["plugins", "grant", "asker", "conversation", "prompt"]).success();
    bed.creel(&["plugins", "revoke", "asker", "--all"]).success();
    assert_eq!((entry(&bed)["capabilities"].clone(), entry(&bed)["hooks"].clone()), (Value::Null, json!({})));
    bed.creel(&["plugins", "revoke", "asker", "--all"]).success().stdout(contains("nothing changes"));
}

#[test]
fn all_of_something_is_taken_back_as_a_whole() {
    let bed = bed();
    bed.creel(&["plugins", "grant", "asker", "messagesSend", "--force"]).success();
    bed.creel(&["plugins", "grant", "asker", "messagesSend=terminal", "--force"]).success().stdout(contains("nothing changes"));
    bed.creel(&["plugins", "revoke", "asker", "messagesSend=terminal"])
        .code(2)
        .stderr(contains("all of messagesSend is granted"));
    bed.creel(&["plugins", "revoke", "asker", "kv=1mb"]).code(2).stderr(contains("kv is taken back as a whole"));
}

#[test]
fn what_the_plugin_has_no_use_for_is_refused() {
    let bed = bed();
    let before = bed.read_config();
    let refused = bed.creel(&["plugins", "grant", "asker", "sessionExtension"]).code(2);
    refused.stderr(contains("neither asks for sessionExtension nor imports it").and(contains("--force")));
    bed.creel(&["plugins", "grant", "asker", "htp=https://a"]).code(2).stderr(contains("did you mean `http`?"));
    bed.creel(&["plugins", "grant", "other", "kv"]).code(2).stderr(contains("there is no plugin `other`"));
    assert_eq!(bed.read_config(), before);
    bed.creel(&["plugins", "grant", "asker", "sessionExtension", "--force"]).success().stderr(contains("has no effect").not());
    assert_eq!(entry(&bed)["capabilities"], json!({ "sessionExtension": true }));
}

#[test]
fn what_would_be_no_configuration_is_not_written() {
    let bed = bed();
    let before = bed.read_config();
    for what in
        ["kv=plenty", "fs=write", "http=ftp://a.example", "kv={ maxKeys: 0 }", "toolsInvoke=", "env={", "random=x", "clock"]
    {
        let refused = bed.creel(&["plugins", "grant", "asker", what, "--force"]).failure();
        assert!([2, 3].contains(&refused.get_output().status.code().unwrap()), "{what}");
        assert_eq!(bed.read_config(), before, "{what}");
    }
    bed.creel(&["plugins", "grant", "asker", "kv=plenty"])
        .code(3)
        .stderr(contains("nothing was changed").and(contains("capabilities.kv")));
}

#[test]
fn a_dry_run_shows_and_writes_nothing() {
    let bed = bed();
    let before = bed.read_config();
    bed.creel(&["plugins", "grant", "asker", "--all", "--dry-run"])
        .success()
        .stdout(contains("would hold").and(contains("maxBytes: 4096")));
    assert_eq!(bed.read_config(), before);
    bed.creel(&["plugins", "grant", "asker", "kv"]).success();
    let before = bed.read_config();
    bed.creel(&["plugins", "revoke", "asker", "kv", "--dry-run"]).success().stdout(contains("capabilities.kv is removed"));
    assert_eq!(bed.read_config(), before);
}

#[test]
fn a_secret_is_named_by_its_variable_and_never_shown() {
    let bed = bed();
    bed.creel(&["plugins", "grant", "asker", "secrets.token=TOKEN"]).code(2).stderr(contains("--allow"));
    bed.creel(&["plugins", "grant", "asker", "secrets=TOKEN"]).code(2).stderr(contains("secrets.NAME=VARIABLE"));
    let granted = ["plugins", "grant", "asker", "secrets.token=TOKEN", "kv", "--allow", "https://api.example.com"];
    bed.creel(&granted).success().stdout(contains("{ env: \"TOKEN\" }"));
    let written = json!({ "token": { "value": { "env": "TOKEN" }, "allow": ["https://api.example.com"] } });
    assert_eq!(entry(&bed)["capabilities"]["secrets"], written);
    for command in [&["plugins", "grants"][..], &["plugins", "inspect", "asker"], &["plugins", "inspect", "asker", "--json"]] {
        let mut process = bed.command(command);
        let assert = Bed::finish(process.env("TOKEN", "hush-hush")).success();
        assert!(!stdout(&assert).contains("hush-hush"), "{}", stdout(&assert));
    }
    let mut process = bed.command(&["plugins", "inspect", "asker"]);
    Bed::finish(process.env("TOKEN", "hush-hush")).success().stdout(contains("secrets: token, for https://api.example.com"));
    bed.creel(&["plugins", "revoke", "asker", "secrets.token"]).success();
    assert_eq!(entry(&bed)["capabilities"]["secrets"], json!({}));
}

#[test]
fn a_grant_counts_in_the_next_run_and_one_that_was_taken_back_does_not() {
    let config = json!({ "plugins": { "load": { "paths": [example("run-journal")] } } });
    let bed = Bed::configured(&config).warm();
    let run = |bed: &Bed| bed.creel(&["agent", "--message", "hello"]).success();
    run(&bed).stderr(contains("run-journal").and(contains("kv")));
    bed.creel(&["plugins", "grant", "run-journal", "--all"]).success();
    run(&bed).stderr(contains("run-journal").not());
    bed.creel(&["plugins", "revoke", "run-journal", "--all"]).success().stderr(contains("does not load"));
    run(&bed).stderr(contains("run-journal").and(contains("kv")));
}
