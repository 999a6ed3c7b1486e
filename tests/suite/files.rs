//! Files of a plugin: what an operator grants, what a plugin written against the standard library of its language makes of it, and what
//! it cannot do.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use domain::message::text_of;
use serde_json::{Value, json};
use system_tests::{Host, PROBE, Plugin, World, call, say};

use crate::guests;

/// A plugin that uses files as the calls of the model say.
fn world(grant: Value) -> World {
    World::new().plugin(Plugin::new("files", guests::CAP_FILES).operator(json!({ "capabilities": { "fs": grant } })))
}

/// What came of each step.
async fn steps(world: World, steps: Value) -> (Host, World, Value) {
    let world = world.turns([call(PROBE, json!({ "steps": steps })), say("done")]);
    let host = world.start().await;
    host.say("go").await;
    let results = host.tool_results().await;
    let report = text_of(&results[results.len() - 1].content);
    let report = serde_json::from_str(&report).unwrap_or_else(|_| panic!("no report: {report}"));
    (host, world, report)
}

#[tokio::test]
async fn a_plugin_keeps_files_in_a_directory_of_its_own() {
    let asked = json!([
        ["make", "/data/notes"],
        ["write", "/data/notes/a", "one"],
        ["append", "/data/notes/a", " two"],
        ["read", "/data/notes/a"],
        ["move", "/data/notes/a", "/data/notes/b"],
        ["list", "/data/notes"],
    ]);
    let (_host, world, found) = steps(world(json!(true)), asked).await;
    assert_eq!(found, json!([true, true, true, "one two", true, ["b"]]));
    let place = world.state_dir().join("plugin-data/files");
    assert_eq!(fs::read_to_string(place.join("notes/b")).unwrap(), "one two");
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);

    let (_host, _, found) = steps(world, json!([["read", "/data/notes/b"], ["remove", "/data/notes/b"]])).await;
    assert_eq!(found, json!(["one two", true]), "the next host finds them");
}

#[tokio::test]
async fn without_a_grant_there_are_no_files_and_no_directory() {
    let (_host, world, found) = steps(world(json!(false)), json!([["write", "/data/a", "x"], ["list", "/data"]])).await;
    assert!(found[0]["refused"].is_string() && found[1]["refused"].is_string(), "{found}");
    assert!(!world.state_dir().join("plugin-data").exists());
}

#[tokio::test]
async fn the_operators_numbers_decide_and_the_log_says_which_line_raises_them() {
    for (grant, fits) in
        [(json!({ "maxBytes": 3000 }), false), (json!({ "maxBytes": 4000 }), true), (json!({ "maxFiles": 2 }), false)]
    {
        let asked =
            json!([["fill", "/data/a", 2000], ["fill", "/data/b", 1000], ["fill", "/data/c", 1000], ["fill", "/data/a", 2000]]);
        let (host, world, found) = steps(world(grant.clone()), asked).await;
        assert_eq!((&found[0], &found[1], &found[3]), (&json!(true), &json!(true), &json!(true)), "{grant}");
        match fits {
            true => assert_eq!(found[2], true, "{grant}"),
            false => assert!(found[2]["refused"].is_string(), "{found}"),
        }
        // How a refused write through a stream is called is the library's choice; a file that may not be made is told by its cause.
        if !grant["maxFiles"].is_null() {
            assert!(found[2]["why"].as_str().unwrap().to_lowercase().contains("quota exceeded"), "{found}");
        }
        let kept = fs::metadata(world.state_dir().join("plugin-data/files/c")).map_or(0, |metadata| metadata.len());
        assert_eq!(kept, if fits { 1000 } else { 0 });
        let told = host.log().warnings(&["plugins.entries.files.capabilities.fs.max"]);
        assert_eq!(told.len(), usize::from(!fits), "{told:?}");
    }
}

#[tokio::test]
async fn a_grant_for_reading_lets_nothing_be_changed() {
    let world = world(json!({ "mode": "read" }));
    let place = world.state_dir().join("plugin-data/files");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("given"), "by the operator").unwrap();
    let asked = json!([
        ["read", "/data/given"],
        ["write", "/data/given", "x"],
        ["append", "/data/given", "x"],
        ["resize", "/data/given", 0],
        ["write", "/data/new", "x"],
        ["make", "/data/dir"],
        ["move", "/data/given", "/data/taken"],
        ["remove", "/data/given"],
        ["list", "/data"],
    ]);
    let (host, _world, found) = steps(world, asked).await;
    let outcomes = found.as_array().unwrap();
    assert_eq!((&outcomes[0], &outcomes[8]), (&json!("by the operator"), &json!(["given"])));
    assert!(outcomes[1..8].iter().all(|outcome| outcome["refused"].is_string()), "{found}");
    assert_eq!(fs::read_to_string(place.join("given")).unwrap(), "by the operator");
    assert_eq!(host.log().warnings(&["capabilities.fs.mode: \"readWrite\""]).len(), 1);
}

#[tokio::test]
async fn no_path_leads_out_of_the_directory() {
    let world = world(json!(true));
    let place = world.state_dir().join("plugin-data/files");
    fs::create_dir_all(&place).unwrap();
    let secret = world.state_dir().join("secret");
    fs::write(&secret, "outside").unwrap();
    symlink(&secret, place.join("absolute")).unwrap();
    symlink("../../secret", place.join("relative")).unwrap();
    fs::create_dir_all(world.state_dir().join("plugin-data/other")).unwrap();
    fs::write(world.state_dir().join("plugin-data/other/a"), "of another plugin").unwrap();
    let paths = [
        secret.display().to_string(),
        "/data/absolute".to_owned(),
        "/data/relative".to_owned(),
        "/data/../../secret".to_owned(),
        "/data/../other/a".to_owned(),
        "/data/x/../../../secret".to_owned(),
        "/etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
    ];
    let verbs = |path: &String| [json!(["read", path]), json!(["write", path, "x"]), json!(["append", path, "x"])];
    let asked: Vec<Value> = paths.iter().flat_map(verbs).collect();
    let (_host, world, found) = steps(world, json!(asked)).await;
    for (step, outcome) in asked.iter().zip(found.as_array().unwrap()) {
        assert!(outcome["refused"].is_string(), "{step}: {outcome}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "outside");
    assert_eq!(fs::read_to_string(world.state_dir().join("plugin-data/other/a")).unwrap(), "of another plugin");
}
