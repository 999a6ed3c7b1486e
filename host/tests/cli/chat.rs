//! `creel chat`: turns in one process, and plugins that are loaded again while it runs.

use std::fs;
use std::path::PathBuf;

use predicates::prelude::*;
use predicates::str::contains;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Bed, Bell, Ended, Staged, json_of, stdout, test_guest, write_plugin};

/// A plugin that puts a word into each outgoing message, and the configuration that says which.
struct Marked {
    bed: Bed,
    config: Value,
    plugin: PathBuf,
}

impl Marked {
    fn new(turns: &Value, word: &str) -> Self {
        let bed = Bed::new();
        let manifest = json!({ "version": "1", "capabilities": { "kv": true }, "hooks": [{ "hook": "message_sending" }] });
        let component = fs::read(test_guest("hook_script")).unwrap();
        let plugin = write_plugin(&bed.work().join("plugins"), "marker", manifest, Some(&component));
        let config = json!({
            "agents": { "defaults": { "model": "offline/script", "skipBootstrap": true } },
            "models": { "providers": { "offline": { "script": "script.json5" } } },
            "plugins": {
                "load": { "paths": [plugin], "watch": false },
                "entries": { "marker": { "capabilities": { "kv": true }, "hooks": { "allowConversationAccess": true } } },
            },
        });
        fs::write(bed.state().join("script.json5"), json!({ "turns": turns }).to_string()).unwrap();
        let mut marked = Self { bed, config, plugin };
        marked.say(word);
        marked
    }

    /// Changes the word in the configuration.
    fn say(&mut self, word: &str) {
        self.config["plugins"]["entries"]["marker"]["config"] = json!({
            "handlers": { "message_sending": { "": { "answer": { "content": word } } } }, "record": [], "tools": [],
        });
        self.write();
    }

    /// Writes the configuration in one step, as editors do.
    fn write(&self) {
        let path = self.bed.config_path();
        let new = path.with_extension("new");
        fs::write(&new, self.config.to_string()).unwrap();
        fs::rename(new, path).unwrap();
    }

    fn chat(&self) -> Staged {
        Staged::start(self.bed.process(&["chat"]))
    }

    fn reload(&self) -> Value {
        json_of(&self.bed.creel(&["plugins", "reload", "--json"]).success())
    }
}

fn two_replies() -> Value {
    json!([{ "play": [{ "text": "one" }] }, { "play": [{ "text": "two" }] }])
}

fn end(chat: Staged) -> Ended {
    let ended = chat.end();
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    ended
}

#[test]
fn each_line_is_a_turn_of_one_conversation() {
    let bed = Bed::scripted(&two_replies());
    let assert = Bed::finish(bed.command(&["chat"]).write_stdin("hello\n\nand then\\\nmore\n/quit\nnever read\n"));
    assert.success().stdout("one\ntwo\n");
    let said: Vec<Value> = bed.transcript("main").iter().filter(|row| row["message"]["role"] == "user").cloned().collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[1].to_string().contains("and then\\nmore"), "{}", said[1]);
    assert_eq!(bed.sessions().len(), 1);
}

#[test]
fn a_new_transcript_can_be_begun_and_other_commands_are_refused() {
    let bed = Bed::scripted(&two_replies());
    let assert = Bed::finish(bed.command(&["chat"]).write_stdin("hello\n/new\nagain\n/stop\n/help\n"));
    assert.success().stdout("one\ntwo\n").stderr(contains("no command \"/stop\"").and(contains("/reload loads plugins")));
    assert_eq!(bed.transcript("main").iter().filter(|row| row["message"]["role"] == "user").count(), 1);
}

#[test]
fn with_json_each_run_is_one_object() {
    let bed = Bed::scripted(&two_replies());
    let assert = Bed::finish(bed.command(&["chat", "--json"]).write_stdin("hello\nagain\n")).success();
    let told = stdout(&assert);
    let runs: Vec<Value> = serde_json::Deserializer::from_str(&told).into_iter().map(Result::unwrap).collect();
    let texts: Vec<&str> = runs.iter().map(|run| run["payloads"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(texts, ["one", "two"]);
}

#[test]
fn a_run_that_fails_ends_its_turn_and_a_script_hears_of_it() {
    let bed = Bed::scripted(
        &json!([{ "play": [{ "error": { "class": "rate_limit", "message": "down" } }] }, { "play": [{ "text": "two" }] }]),
    );
    let assert = Bed::finish(bed.command(&["chat"]).write_stdin("hello\nagain\n"));
    assert.code(1).stdout(contains("two\n"));
}

#[test]
fn input_that_is_no_text_ends_the_chat() {
    let bed = Bed::scripted(&two_replies());
    Bed::finish(bed.command(&["chat"]).write_stdin(&b"hello\n\xff\xfe\n"[..])).code(2).stdout("one\n").stderr(contains("UTF-8"));
}

#[test]
fn settings_that_change_count_from_the_next_turn_on() {
    let mut marked = Marked::new(&two_replies(), "first");
    let mut chat = marked.chat();
    chat.answer("hello").until_stdout("first");
    marked.say("second");
    let told = marked.reload();
    assert_eq!((&told[0]["plugins"][0]["what"], &told[0]["error"]), (&json!("replaced"), &Value::Null), "{told}");
    assert_eq!(marked.reload()[0]["plugins"][0]["what"], "unchanged");
    chat.answer("again").until_stdout("second").answer("/quit");
    let ended = end(chat);
    assert_eq!(ended.stdout, "first\nsecond\n");
    assert!(ended.status.success() && ended.stderr.contains("marker 1 is loaded in place of the one before"), "{}", ended.stderr);
}

#[test]
fn a_run_under_way_keeps_the_plugins_that_it_began_with() {
    let ring = json!({ "call": { "name": "exec", "arguments": { "command": "echo > bell; cat go" } } });
    let turns = json!([{ "play": [ring] }, { "play": [{ "text": "one" }] }, { "play": [{ "text": "two" }] }]);
    let mut marked = Marked::new(&turns, "first");
    let bell = Bell::hang(&marked.bed);
    let go = marked.bed.workspace().join("go");
    assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
    let mut chat = marked.chat();
    chat.answer("hello");
    bell.wait();
    marked.say("second");
    assert_eq!(marked.reload()[0]["plugins"][0]["what"], "replaced");
    fs::write(&go, "on with it").unwrap();
    chat.until_stdout("first").answer("again").until_stdout("second").answer("/quit");
    assert_eq!(end(chat).stdout, "first\nsecond\n");
}

#[test]
fn files_that_change_are_noticed() {
    let turns = ["one", "two", "three", "four"].map(|text| json!({ "play": [{ "text": text }] }));
    let mut marked = Marked::new(&json!(turns), "first");
    marked.config["plugins"]["load"]["watch"] = json!(true);
    marked.config["plugins"]["load"]["watchDebounceMs"] = json!(20);
    marked.write();
    let mut chat = marked.chat();
    chat.answer("hello").until_stdout("first");
    let manifest = marked.plugin.join("creel.plugin.json");
    let newer = fs::read_to_string(&manifest).unwrap().replace(r#""version":"1""#, r#""version":"2""#);
    fs::write(&manifest, newer).unwrap();
    marked.say("second");
    chat.until_stderr("marker 2 is loaded in place of the one before").answer("again").until_stdout("second");
    // What is broken is told, and what was there goes on.
    fs::write(&manifest, "{ not a manifest").unwrap();
    chat.until_stderr("the one before goes on").answer("once more").until_stdout("second\nsecond");
    // What is gone has ended.
    fs::remove_file(&manifest).unwrap();
    chat.until_stderr("marker has ended").answer("and last").until_stdout("four");
    chat.answer("/quit");
    end(chat);
}

#[test]
fn a_component_that_does_not_load_leaves_the_one_before() {
    let marked = Marked::new(&two_replies(), "first");
    let mut chat = marked.chat();
    chat.answer("hello").until_stdout("first");
    let whole = fs::read(marked.plugin.join("plugin.wasm")).unwrap();
    fs::write(marked.plugin.join("plugin.wasm"), &whole[..whole.len() / 2]).unwrap();
    let told = json_of(&marked.bed.creel(&["plugins", "reload", "--json"]).code(4));
    let change = &told[0]["plugins"][0];
    assert_eq!(change["what"], "kept", "{told}");
    assert!(change["why"].as_str().unwrap().contains("cut off"), "{told}");
    chat.answer("again").until_stdout("first\nfirst");
    fs::write(marked.plugin.join("plugin.wasm"), whole).unwrap();
    assert_eq!(marked.reload()[0]["plugins"][0]["what"], "unchanged");
    chat.answer("/quit");
    end(chat);
}

#[test]
fn grants_that_are_taken_back_do_not_go_on_with_a_plugin_that_no_longer_loads() {
    let mut marked = Marked::new(&two_replies(), "first");
    let mut chat = marked.chat();
    chat.answer("hello").until_stdout("first");
    marked.config["plugins"]["entries"]["marker"]["capabilities"]["kv"] = json!(false);
    marked.write();
    let told = json_of(&marked.bed.creel(&["plugins", "reload", "--json"]).code(4));
    assert_eq!(told[0]["plugins"][0]["what"], "failed", "{told}");
    chat.answer("again").until_stdout("first\ntwo").answer("/quit");
    end(chat);
}

#[test]
fn a_reload_that_would_leave_a_required_plugin_out_changes_nothing() {
    let mut marked = Marked::new(&two_replies(), "first");
    marked.config["plugins"]["entries"]["marker"]["required"] = json!(true);
    marked.write();
    let mut chat = marked.chat();
    chat.answer("hello").until_stdout("first");
    marked.config["plugins"]["entries"]["marker"]["enabled"] = json!(false);
    marked.say("second");
    let told = json_of(&marked.bed.creel(&["plugins", "reload", "--json"]).code(4));
    assert!(told[0]["error"].as_str().unwrap().contains("is required and does not serve"), "{told}");
    chat.answer("again").until_stdout("first\nfirst").answer("/quit");
    assert!(end(chat).stderr.contains("nothing is loaded again"));
}

#[test]
fn a_configuration_that_is_wrong_changes_nothing() {
    let mut marked = Marked::new(&two_replies(), "first");
    let mut chat = marked.chat();
    chat.answer("hello").until_stdout("first");
    marked.config["plugins"]["enabled"] = json!("perhaps");
    marked.say("second");
    let told = marked.bed.process(&["plugins", "reload"]).output().unwrap();
    assert_eq!(told.status.code(), Some(3), "the command reads the same file");
    chat.answer("/reload").until_stderr("nothing is loaded again").answer("again").until_stdout("first\nfirst").answer("/quit");
    end(chat);
}

#[test]
fn without_a_process_there_is_nothing_to_reload() {
    let bed = Bed::new();
    bed.creel(&["plugins", "reload"]).success().stdout(contains("no process runs with"));
    assert_eq!(json_of(&bed.creel(&["plugins", "reload", "--json"]).success()), json!([]));
}

#[test]
fn a_socket_of_a_process_that_was_killed_is_taken_away() {
    let bed = Bed::scripted(&two_replies());
    let control = || fs::read_dir(bed.state().join("control")).unwrap().count();
    let mut chat = Staged::start(bed.process(&["chat"]));
    chat.answer("hello").until_stdout("one").signal(Signal::KILL);
    chat.end();
    assert_eq!(control(), 1);
    bed.creel(&["plugins", "reload"]).success().stdout(contains("no process runs with"));
    assert_eq!(control(), 0);
    // One that ends by itself leaves nothing.
    Bed::finish(bed.command(&["chat"]).write_stdin("")).success();
    assert_eq!(control(), 0);
}

#[test]
fn what_is_no_request_is_refused_and_the_next_one_is_served() {
    use std::io::{Read as _, Write as _};
    let bed = Bed::scripted(&two_replies());
    let mut chat = Staged::start(bed.process(&["chat"]));
    chat.answer("hello").until_stdout("one");
    let socket = fs::read_dir(bed.state().join("control")).unwrap().next().unwrap().unwrap().path();
    for (line, expected) in
        [("nonsense\n", "no request"), ("{\"command\":\"power.off\"}\n", "does not know"), ("\n", "no request")]
    {
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        stream.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(expected), "{line:?}: {answer}");
    }
    assert_eq!(json_of(&bed.creel(&["plugins", "reload", "--json"]).success())[0]["plugins"], json!([]));
    chat.answer("/quit");
    end(chat);
}

#[test]
fn a_plugin_that_is_added_is_loaded() {
    let bed = Bed::scripted_with(
        &two_replies(),
        json!({ "plugins": {
        "load": { "paths": ["../work/plugins"] }, "entries": { "newcomer": { "capabilities": { "kv": true } } },
    } }),
    );
    let mut chat = Staged::start(bed.process(&["chat"]));
    chat.answer("hello").until_stdout("one");
    let plugins = bed.work().join("plugins");
    let component = fs::read(test_guest("hook_script")).unwrap();
    write_plugin(&plugins, "newcomer", json!({ "version": "0.3", "capabilities": { "kv": true } }), Some(&component));
    chat.until_stderr("newcomer 0.3 is loaded").answer("/quit");
    end(chat);
}

#[test]
fn an_interrupt_at_the_prompt_ends_the_chat() {
    let bed = Bed::scripted(&two_replies());
    let mut chat = Staged::start(bed.process(&["chat"]));
    chat.answer("hello").until_stdout("one").signal(Signal::INT);
    assert_eq!(end(chat).status.code(), Some(130));
}

#[test]
fn on_a_terminal_there_is_a_prompt_and_ends_are_no_failures() {
    let bed = Bed::scripted(&two_replies());
    let mut chat = Staged::on_terminal(&bed, &["chat"], &[("TERM", "dumb")]);
    chat.until_stdout("> ").answer("hello").until_stdout("one").answer("/quit");
    let ended = chat.end();
    assert!(ended.status.success(), "{}", ended.stdout);
}

#[test]
fn what_keeps_a_turn_from_beginning_ends_that_turn_only() {
    let mut marked = Marked::new(&two_replies(), "first");
    let alias = json!({ "offline/script": { "alias": "fast" } });
    marked.config["agents"]["defaults"]["models"] = alias.clone();
    marked.write();
    let mut chat = Staged::start(marked.bed.process(&["chat", "--model", "fast"]));
    chat.answer("hello").until_stdout("first");
    marked.config["agents"]["defaults"]["models"] = json!({});
    marked.write();
    marked.reload();
    chat.answer("again").until_stderr("an alias of agents.defaults.models will do too");
    marked.config["agents"]["defaults"]["models"] = alias;
    marked.write();
    marked.reload();
    chat.answer("once more").until_stdout("first\nfirst").answer("/quit");
    assert_eq!(end(chat).status.code(), Some(2), "a script hears of it");
}

#[test]
fn what_was_said_of_plugins_is_said_again_only_when_somebody_asks() {
    let mut marked = Marked::new(&two_replies(), "first");
    marked.config["plugins"]["load"]["watch"] = json!(true);
    marked.config["plugins"]["load"]["watchDebounceMs"] = json!(20);
    marked.write();
    let mut chat = marked.chat();
    chat.answer("hello").until_stdout("first");
    marked.say("second");
    chat.until_stderr("marker 1 is loaded in place of the one before");
    fs::write(marked.plugin.join("plugin.wasm"), "no component").unwrap();
    chat.until_stderr("the one before goes on");
    chat.answer("/reload").until_stderr("marker 1 does not load, so the one before goes on: ");
    fs::write(marked.plugin.join("plugin.wasm"), fs::read(test_guest("hook_script")).unwrap()).unwrap();
    chat.answer("/reload").until_stderr("all plugins are as before").answer("/quit");
    let ended = end(chat);
    // What the plugin that goes on has to say is not news, and what is said of one that loads again is.
    let count = |told: &str| ended.stderr.matches(told).count();
    assert_eq!((count("which is deprecated"), count("registers tools, but")), (1, 2), "{}", ended.stderr);
}
