//! `creel plugins install|update|remove|verify|sign|trust`, with the real chain: an install policy that is a program, plugins that judge, and
//! a run that loads what was installed. The functions named `hooks_<number>_…` are the conformance cases of that number.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use creel::system::SystemClock;
use domain::PluginId;
use domain::ports::PluginKv;
use predicates::prelude::*;
use predicates::str::contains;
use serde_json::{Value, json};
use sessions::{SqlitePluginKv, StateDir};

use crate::support::{Bed, component_exporting, example, json_of, stderr, stdout, test_guest, write_plugin};

const EXPORT: &str = "creel:plugin/agent-end@0.1.0";

/// Writes version `version` of a plugin that could be installed, and gives its directory.
fn plugin(bed: &Bed, id: &str, version: &str) -> PathBuf {
    let folder = bed.work().join(format!("v{version}"));
    write_plugin(&folder, id, json!({ "version": version }), Some(&component_exporting(EXPORT)))
}

/// A bed whose install policy is a script: it blocks what is called `x`, allows everything else, and keeps a log.
fn with_policy(bed: &Bed, config: &mut Value) {
    let command = bed.work().join("policy.sh");
    let log = bed.work().join("policy.log");
    let script = format!(
        "#!/bin/sh\nread -r request\nprintf '%s\\n' \"$request\" >> {}\ncase \"$request\" in\n\
         *'\"targetName\":\"x\"'*) echo '{{\"protocolVersion\":1,\"decision\":\"block\",\"reason\":\"x is not for us\"}}';;\n\
         *) echo '{{\"protocolVersion\":1,\"decision\":\"allow\"}}';;\nesac\n",
        log.display()
    );
    fs::write(&command, script).unwrap();
    fs::set_permissions(&command, fs::Permissions::from_mode(0o700)).unwrap();
    let command = fs::canonicalize(command).unwrap();
    config["security"]["installPolicy"] = json!({ "enabled": true, "exec": { "command": command } });
}

/// What the policy was asked.
fn asked(bed: &Bed) -> Vec<Value> {
    let log = fs::read_to_string(bed.work().join("policy.log")).unwrap_or_default();
    log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A scripted plugin that judges installations, as it stands in the configuration.
fn judge(bed: &Bed, config: &mut Value, id: &str, priority: f64, action: Value) {
    let component = fs::read(test_guest("hook_script")).unwrap();
    let manifest = json!({
        "capabilities": { "kv": true }, "hooks": [{ "hook": "before_install", "priority": priority }],
    });
    let folder = write_plugin(&bed.work().join("judges"), id, manifest, Some(&component));
    let paths = &mut config["plugins"]["load"]["paths"];
    if paths.is_null() {
        *paths = json!([]);
    }
    paths.as_array_mut().unwrap().push(json!(folder));
    config["plugins"]["entries"][id] = json!({
        "enabled": true, "capabilities": { "kv": true },
        "config": { "handlers": { "before_install": { "": action } }, "record": ["before_install"], "tools": [] },
    });
}

/// What a judge was asked, oldest first.
async fn judged(bed: &Bed, id: &str) -> Vec<Value> {
    let kv = SqlitePluginKv::new(&StateDir::new(bed.state()), Arc::new(SystemClock));
    let plugin = PluginId::new(id);
    let mut events = Vec::new();
    for key in kv.list_keys(&plugin, "calls/", None, 1_000).await.unwrap().keys {
        let call: Value = serde_json::from_slice(&kv.get(&plugin, &key).await.unwrap().unwrap()).unwrap();
        events.push(call["event"].clone());
    }
    kv.close().await;
    events
}

fn installed(bed: &Bed, id: &str) -> Option<String> {
    let lock = fs::read_to_string(bed.state().join("creel.lock")).ok()?;
    let lock: Value = serde_json::from_str(&lock).unwrap();
    let version = lock["plugins"][id]["version"].as_str()?.to_owned();
    assert!(bed.state().join("plugins").join(id).join("plugin.wasm").is_file());
    Some(version)
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_plugin_is_installed_updated_verified_and_removed() {
    let bed = Bed::new();
    let told = json_of(&bed.creel(&["plugins", "install", path(&plugin(&bed, "y", "1")), "--json"]).success());
    assert_eq!((&told["id"], &told["version"], &told["replaced"]), (&json!("y"), &json!("1"), &Value::Null));
    assert_eq!(installed(&bed, "y").as_deref(), Some("1"));
    bed.creel(&["plugins", "install", "v1/y"]).code(2).stderr(contains("creel plugins update y"));
    plugin(&bed, "y", "2");
    bed.creel(&["plugins", "update", "y", "v2/y"]).success().stdout(contains("updated: plugin `y` 2, before 1"));
    // Without a source the new version is looked for where the last one came from.
    write_plugin(&bed.work().join("v2"), "y", json!({ "version": "3" }), None);
    bed.creel(&["plugins", "update", "y", "--dry-run"]).success().stdout(contains("would be updated: plugin `y` 3"));
    assert_eq!(installed(&bed, "y").as_deref(), Some("2"));
    bed.creel(&["plugins", "update", "y"]).success();
    assert_eq!(installed(&bed, "y").as_deref(), Some("3"));

    let verified = json_of(&bed.creel(&["plugins", "verify", "--json"]).success());
    assert_eq!((&verified[0]["id"], &verified[0]["state"]), (&json!("y"), &json!("as installed")));
    bed.creel(&["plugins", "verify", "nobody"]).code(2);
    bed.creel(&["plugins", "remove", "y"]).success().stdout(contains("removed: plugin `y`"));
    assert_eq!(installed(&bed, "y"), None);
    bed.creel(&["plugins", "remove", "y"]).code(2).stderr(contains("not installed"));
    let left: Vec<_> = fs::read_dir(bed.state().join("plugins")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".install"]);
}

#[test]
fn a_file_that_was_changed_keeps_the_plugin_out() {
    let bed = Bed::scripted(&json!([{ "play": [{ "text": "hello" }] }])).warm();
    bed.creel(&["plugins", "install", path(example("unit-convert"))]).success();
    let listed = json_of(&bed.creel(&["plugins", "list", "--json"]).success());
    assert_eq!((&listed[0]["id"], &listed[0]["state"]), (&json!("unit-convert"), &json!("on")));
    assert!(!listed.to_string().contains("unlocked"));
    let manifest = bed.state().join("plugins/unit-convert/creel.plugin.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("unit-convert.wasm", "./unit-convert.wasm")).unwrap();
    let listed = json_of(&bed.creel(&["plugins", "list", "--json"]).success());
    assert_eq!(listed[0]["state"], "failed");
    assert!(listed[0]["reason"].as_str().unwrap().contains("creel.plugin.json was changed after it was installed"), "{listed}");
    bed.creel(&["plugins", "verify"]).code(4).stdout(contains("changed")).stderr(contains("creel.plugin.json was changed"));
    let ran = bed.creel(&["agent", "--message", "hi"]).success();
    assert!(stderr(&ran).contains("was changed after it was installed"), "{}", stderr(&ran));
    fs::write(&manifest, text).unwrap();
    bed.creel(&["plugins", "verify"]).success();

    // A directory that was put there by hand loads as before, and is marked.
    let copied = bed.state().join("plugins/copied");
    fs::create_dir(&copied).unwrap();
    for file in ["creel.plugin.json", "tool-guard.wasm"] {
        fs::copy(example("tool-guard").join(file), copied.join(file)).unwrap();
    }
    let listed = json_of(&bed.creel(&["plugins", "list", "--json"]).success());
    let guard = listed.as_array().unwrap().iter().find(|plugin| plugin["id"] == "tool-guard").unwrap();
    assert_eq!(guard["state"], "on");
    assert!(guard["diagnostics"].to_string().contains("unlocked"), "{guard}");
    let verified = stdout(&bed.creel(&["plugins", "verify"]).success());
    assert!(verified.contains("unlocked"), "{verified}");
}

#[test]
fn more_rights_wait_for_consent() {
    let bed = Bed::new();
    bed.creel(&["plugins", "install", path(&plugin(&bed, "y", "1"))]).success();
    let wider = json!({ "version": "2", "capabilities": { "kv": true } });
    write_plugin(&bed.work().join("v2"), "y", wider, Some(&component_exporting(EXPORT)));
    bed.creel(&["plugins", "update", "y", "v2/y"])
        .code(7)
        .stderr(contains("capability kv").and(contains("--accept-capabilities")));
    assert_eq!(installed(&bed, "y").as_deref(), Some("1"));
    bed.creel(&["plugins", "update", "y", "v2/y", "--accept-capabilities"]).success().stdout(contains("accepted: capability kv"));
    assert_eq!(installed(&bed, "y").as_deref(), Some("2"));
}

#[test]
fn keys_are_made_trusted_used_and_dropped() {
    let bed = Bed::configured(&json!({ "plugins": { "install": { "requireSignature": true } } }));
    let y = plugin(&bed, "y", "1");
    bed.creel(&["plugins", "install", path(&y)]).code(7).stderr(contains("is not signed"));
    let public = stdout(&bed.creel(&["plugins", "trust", "keygen", "--output", "my.key", "--remark", "me"]).success());
    assert!(public.starts_with("creel-ed25519 ") && public.ends_with(" me\n"), "{public}");
    let mode = fs::metadata(bed.work().join("my.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    bed.creel(&["plugins", "trust", "keygen", "--output", "my.key"]).code(2);
    bed.creel(&["plugins", "sign", path(&y), "--key", "my.key"]).success().stdout(contains("creel.plugin.sig"));
    bed.creel(&["plugins", "install", path(&y)]).code(7).stderr(contains("not trusted"));
    bed.file("my.pub", &public);
    bed.creel(&["plugins", "trust", "add", "my.pub", "--remark", "myself"]).success();
    let keys = json_of(&bed.creel(&["plugins", "trust", "list", "--json"]).success());
    assert_eq!(keys[0]["remark"], "myself");
    let told = json_of(&bed.creel(&["plugins", "install", path(&y), "--json"]).success());
    assert_eq!(told["signer"], keys[0]["keyId"]);
    bed.creel(&["plugins", "trust", "remove", keys[0]["keyId"].as_str().unwrap()]).success();
    bed.creel(&["plugins", "trust", "list"]).success().stderr(contains("No key is trusted"));
    bed.creel(&["plugins", "trust", "remove", "nonsense"]).code(2);
    bed.creel(&["plugins", "trust", "add", "nonsense"]).code(2).stderr(contains("is not a public key"));
    assert_eq!(fs::read_dir(bed.temporary()).unwrap().count(), 0, "signing leaves nothing");
}

#[test]
fn a_warning_needs_its_own_acknowledgement() {
    let bed = Bed::new();
    let mut config = json!({});
    with_policy(&bed, &mut config);
    bed.write_config(&config.to_string());
    let command = config["security"]["installPolicy"]["exec"]["command"].as_str().unwrap().to_owned();
    fs::write(
        &command,
        "#!/bin/sh\necho '{\"protocolVersion\":1,\"decision\":\"warn\",\"reason\":\"look twice\",\"findings\":\
         [{\"ruleId\":\"new-author\",\"severity\":\"warn\",\"message\":\"nobody knows the author\"}]}'\n",
    )
    .unwrap();
    let y = plugin(&bed, "y", "1");
    let refused = bed.creel(&["plugins", "install", path(&y)]).code(7);
    let told = stderr(&refused);
    assert!(told.contains("look twice") && told.contains("warn new-author: nobody knows the author"), "{told}");
    let fingerprint = told.split("--accept-warning ").nth(1).unwrap().trim();
    assert_eq!(installed(&bed, "y"), None);
    bed.creel(&["plugins", "install", path(&y), "--accept-warning", &"0".repeat(64)]).code(7);
    bed.creel(&["plugins", "install", path(&y), "--accept-warning", fingerprint]).success();
    assert_eq!(installed(&bed, "y").as_deref(), Some("1"));
}

#[test]
fn a_policy_that_cannot_be_trusted_blocks_everything() {
    let bed = Bed::new();
    let mut config = json!({});
    with_policy(&bed, &mut config);
    bed.write_config(&config.to_string());
    let command = config["security"]["installPolicy"]["exec"]["command"].as_str().unwrap().to_owned();
    fs::set_permissions(&command, fs::Permissions::from_mode(0o777)).unwrap();
    let y = plugin(&bed, "y", "1");
    bed.creel(&["plugins", "install", path(&y)])
        .code(7)
        .stderr(contains("security_scan_failed").and(contains("changed by others")));
    bed.write_config(&json!({ "security": { "installPolicy": { "enabled": true } } }).to_string());
    bed.creel(&["plugins", "install", path(&y)]).code(7).stderr(contains("security_scan_failed"));
    assert_eq!((installed(&bed, "y"), asked(&bed).len()), (None, 0));
}

#[test]
fn without_a_required_judge_nothing_is_installed_but_the_judge() {
    let bed = Bed::new();
    let y = plugin(&bed, "y", "1");
    bed.write_config(&json!({ "plugins": { "entries": { "judge": { "required": true } } } }).to_string());
    bed.creel(&["plugins", "install", path(&y)]).code(7).stderr(contains("judge").and(contains("does not load")));
    bed.creel(&["plugins", "install", path(&plugin(&bed, "judge", "1"))]).success();
    bed.creel(&["plugins", "install", path(&y)]).success();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removed_plugin_leaves_no_storage_and_no_code() {
    let bed = Bed::new();
    let mut config = json!({});
    // The judge itself is what is installed and removed here.
    judge(&bed, &mut config, "judge", 0.0, json!({}));
    config["plugins"]["load"]["paths"] = json!([]);
    bed.write_config(&config.to_string());
    bed.creel(&["plugins", "install", path(&bed.work().join("judges/judge"))]).success();
    bed.creel(&["plugins", "install", path(&plugin(&bed, "y", "1"))]).success();
    assert_eq!(judged(&bed, "judge").await.len(), 1);
    let code = |bed: &Bed| {
        let files = fs::read_dir(bed.state().join("cache")).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|extension| extension == "code")).count()
    };
    assert_eq!(code(&bed), 1);
    let files = bed.state().join("plugin-data/judge");
    fs::create_dir_all(&files).unwrap();
    fs::write(files.join("kept"), "x").unwrap();
    bed.creel(&["plugins", "remove", "judge"]).success().stderr(contains("plugins.entries.judge"));
    assert_eq!((judged(&bed, "judge").await.len(), code(&bed), files.exists()), (0, 0, false));
    let kv = SqlitePluginKv::new(&StateDir::new(bed.state()), Arc::new(SystemClock));
    assert!(kv.list_keys(&PluginId::new("judge"), "", None, 10).await.unwrap().keys.is_empty());
    kv.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_039_a_handler_that_takes_more_than_15_seconds_refuses() {
    let bed = Bed::new();
    let mut config = json!({});
    with_policy(&bed, &mut config);
    judge(&bed, &mut config, "slow", 0.0, json!({ "sleepMs": 100_000 }));
    bed.write_config(&config.to_string());
    let started = std::time::Instant::now();
    bed.creel(&["plugins", "install", path(&plugin(&bed, "y", "1"))])
        .code(7)
        .stderr(contains("`y` is not installed").and(contains("`slow`")).and(contains("15")));
    assert!(started.elapsed() >= std::time::Duration::from_secs(15), "the budget is not shorter");
    assert!(started.elapsed() < std::time::Duration::from_secs(100), "the handler did not end by itself");
    let asked = asked(&bed);
    assert_eq!(asked.len(), 1, "the policy had run before");
    assert_eq!(asked[0]["targetName"], "y");
    assert_eq!(judged(&bed, "slow").await.len(), 1);
    assert_eq!(installed(&bed, "y"), None);
    assert!(!bed.state().join("plugins/y").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_064_the_policy_decides_first_and_hooks_run_only_where_they_are_loaded() {
    let bed = Bed::new();
    let mut allowing = json!({});
    // X of version 1 is there already, so that it can be updated.
    bed.creel(&["plugins", "install", path(&plugin(&bed, "x", "1"))]).success();
    with_policy(&bed, &mut allowing);
    judge(&bed, &mut allowing, "judge", 0.0, json!({ "answer": { "block": false } }));
    let mut without = allowing.clone();
    without["plugins"]["enabled"] = json!(false);
    for (version, config, is_loaded) in [("1", &without, false), ("2", &allowing, true)] {
        bed.write_config(&config.to_string());
        let before = judged(&bed, "judge").await.len();
        let refuses_x = |arguments: &[&str]| {
            let refused = bed.creel(arguments).code(7);
            assert!(stderr(&refused).contains("(security_scan_blocked): x is not for us"), "{}", stderr(&refused));
        };
        let x = plugin(&bed, "x", "9");
        refuses_x(&["plugins", "update", "x", path(&x)]);
        assert_eq!(installed(&bed, "x").as_deref(), Some("1"), "the old version stays");
        bed.creel(&["plugins", "remove", "x"]).success();
        refuses_x(&["plugins", "install", path(&x)]);
        assert_eq!(installed(&bed, "x"), None);
        assert_eq!(judged(&bed, "judge").await.len(), before, "the hook was never called for X");
        // X comes back for the next round, past the policy.
        bed.write_config("{}");
        bed.creel(&["plugins", "install", path(&plugin(&bed, "x", "1"))]).success();
        bed.write_config(&config.to_string());

        let y = plugin(&bed, "y", version);
        bed.creel(&["plugins", "install", path(&y)]).success();
        assert_eq!(installed(&bed, "y").as_deref(), Some(version));
        let newer = plugin(&bed, "y", &format!("{version}.1"));
        bed.creel(&["plugins", "update", "y", path(&newer)]).success();
        assert_eq!(installed(&bed, "y"), Some(format!("{version}.1")));
        let calls = judged(&bed, "judge").await.split_off(before);
        if is_loaded {
            assert_eq!(calls.len(), 2, "{calls:?}");
            for (call, mode) in calls.iter().zip(["install", "update"]) {
                assert_eq!((&call["targetName"], &call["plugin"]["pluginId"]), (&json!("y"), &json!("y")), "{call}");
                let staged = call["sourcePath"].as_str().unwrap();
                assert!(staged.contains("/plugins/.install/"), "it is staged and not active: {staged}");
                let is_seen = |request: &Value| request["sourcePath"] == staged && request["request"]["mode"] == mode;
                assert!(asked(&bed).iter().any(is_seen), "the policy saw the same material: {staged}");
            }
        } else {
            assert!(calls.is_empty(), "{calls:?}");
        }
        bed.creel(&["plugins", "remove", "y"]).success();
    }
    // The order: when the hook refuses, the policy had been asked, and nothing became active.
    let mut refusing = allowing.clone();
    let action = json!({ "": { "answer": { "block": true, "blockReason": "not today" } } });
    refusing["plugins"]["entries"]["judge"]["config"]["handlers"]["before_install"] = action;
    bed.write_config(&refusing.to_string());
    let before = asked(&bed).len();
    bed.creel(&["plugins", "install", path(&plugin(&bed, "y", "1"))]).code(7).stderr(contains("not today"));
    assert_eq!((asked(&bed).len(), installed(&bed, "y")), (before + 1, None));
}
