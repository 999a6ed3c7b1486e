//! `resolve_exec_env`: variables that plugins add to a command (plugin-hooks 5.11, 5.12).

use domain::message::text_of;
use hooks::HookId;
use serde_json::{Value, json};
use system_tests::{Handler, World, call, on, say};

use crate::script;

/// A handler of `resolve_exec_env` that adds variables.
fn adds(priority: f64, variables: Value) -> Handler {
    on("resolve_exec_env").priority(priority).answers(json!({ "env": variables }))
}

#[tokio::test]
async fn hooks_051_later_handlers_override_and_dangerous_names_are_dropped() {
    let show = json!({ "command": "echo \"A=$A PATH=$PATH LD=$LD_PRELOAD\"" });
    let world = |plugins: bool| {
        let world = World::new().turns([call("exec", show.clone()), say("done")]);
        if !plugins {
            return world;
        }
        world
            .plugin(script("high").handler(adds(10.0, json!({ "A": "1", "PATH": "/x" }))))
            .plugin(script("low").handler(adds(0.0, json!({ "A": "2", "LD_PRELOAD": "/y.so" }))))
    };
    let output = async |plugins: bool| {
        let host = world(plugins).start().await;
        host.say("go").await;
        assert_eq!(host.handled(HookId::ResolveExecEnv).len(), if plugins { 2 } else { 0 });
        let warnings = host.log().warnings(&["variable"]);
        (text_of(&host.tool_results().await[0].content), warnings)
    };
    let (without, _) = output(false).await;
    let (with, warnings) = output(true).await;
    assert!(without.contains("A= PATH="), "{without}");
    assert_eq!(with, without.replace("A= ", "A=2 "));
    for dropped in ["PATH", "LD_PRELOAD"] {
        assert!(warnings.iter().any(|line| line.contains(dropped)), "{dropped}: {warnings:?}");
    }
}

#[tokio::test]
async fn only_commands_are_asked_for() {
    let host = World::new()
        .plugin(script("a").handler(adds(0.0, json!({ "A": "1" }))).recording(&["resolve_exec_env"]))
        .turns([call("probe", json!({})), call("exec", json!({ "command": "true" })), say("done")])
        .start()
        .await;
    host.say("go").await;
    let calls = host.calls("a", "resolve_exec_env").await;
    assert_eq!(calls.len(), 1);
    assert_eq!((&calls[0].event["toolName"], &calls[0].event["host"]), (&json!("exec"), &json!("Gateway")));
}
