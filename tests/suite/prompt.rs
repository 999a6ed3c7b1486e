//! The hooks that shape a prompt, and the old combined one (plugin-hooks 4.2, 4.3).

use std::time::Duration;

use domain::session::RunStatus;
use hooks::HookId;
use serde_json::{Value, json};
use system_tests::{Handler, Host, Plugin, World, call, on, say};

use crate::{guests, script};

/// A handler of `before_prompt_build` that answers.
fn shapes(priority: f64, answer: Value) -> Handler {
    on("before_prompt_build").priority(priority).answers(answer)
}

fn pair(high: Value, low: Value) -> World {
    World::new().plugin(script("high").handler(shapes(10.0, high))).plugin(script("low").handler(shapes(0.0, low)))
}

fn offered(host: &Host, request: usize) -> Vec<String> {
    host.requests()[request].tools.iter().map(|tool| tool.name.clone()).collect()
}

#[tokio::test]
async fn hooks_005_texts_join_in_execution_order() {
    let world =
        pair(json!({ "prependContext": "a", "appendContext": "x" }), json!({ "prependContext": "b", "appendContext": "y" }));
    let host = world.start().await;
    host.say("hello").await;
    assert_eq!(host.prompts(), ["a\n\nb\n\nhello\n\nx\n\ny"]);
}

#[tokio::test]
async fn hooks_006_the_first_system_prompt_wins() {
    let host = pair(json!({ "systemPrompt": "S1" }), json!({ "systemPrompt": "S2" })).start().await;
    host.say("hello").await;
    assert_eq!(host.system_prompts(), ["S1"]);
    assert_eq!(host.order(HookId::BeforePromptBuild), ["high", "low"]);
}

#[tokio::test]
async fn hooks_007_tool_lists_intersect() {
    let lists = || pair(json!({ "toolsAllow": ["read", "exec"] }), json!({ "toolsAllow": ["exec", "write"] }));
    let host = lists().start().await;
    host.say("hello").await;
    assert_eq!(offered(&host, 0), ["exec"]);

    let host = lists().plugin(script("nothing").handler(shapes(-1.0, json!({ "toolsAllow": [] })))).start().await;
    host.say("hello").await;
    assert_eq!(offered(&host, 0), [""; 0]);
}

#[tokio::test]
async fn hooks_008_a_handler_past_its_budget_is_left_out() {
    assert_eq!(HookId::BeforePromptBuild.row().budget, Some(Duration::from_secs(15)));
    for conduct in [json!({ "loop": true }), json!({ "spinMs": 400, "answer": { "prependContext": "late" } })] {
        let slow = script("slow")
            .handler(on("before_prompt_build").priority(10.0).does(conduct.clone()))
            .operator(json!({ "hooks": { "timeouts": { "before_prompt_build": 100 } } }));
        let quick = script("quick").handler(shapes(0.0, json!({ "prependContext": "b" })));
        let host = World::new().plugin(slow).plugin(quick).start().await;
        let outcome = host.say("hello").await;
        assert_eq!(outcome.status, RunStatus::Done, "{conduct}");
        assert_eq!(host.prompts(), ["b\n\nhello"], "{conduct}");
        let lines = host.log().warnings(&["plugin=slow", "hook=before_prompt_build"]);
        assert_eq!(lines.len(), 1, "{conduct}: {lines:?}");
        assert!(lines[0].contains("timeout") && lines[0].contains("100 ms"), "{lines:?}");
    }
}

#[tokio::test]
async fn hooks_009_a_handler_with_tool_authority_runs_in_the_second_phase_only() {
    let authorised = on("before_prompt_build")
        .with("requiresToolAuthority", true)
        .priority(10.0)
        .answers(json!({ "systemPrompt": "mine", "toolsAllow": [], "prependContext": "authorised" }));
    let ordinary = shapes(0.0, json!({ "prependContext": "ordinary", "toolsAllow": ["read"] }));
    let host = World::new()
        .plugin(script("authority").handler(authorised).recording(&["before_prompt_build"]))
        .plugin(script("ordinary").handler(ordinary).recording(&["before_prompt_build"]))
        .start()
        .await;
    host.say("hello").await;
    // The higher priority did not bring it into the first phase.
    assert_eq!(host.order(HookId::BeforePromptBuild), ["ordinary", "authority"]);
    let calls = host.calls("authority", "before_prompt_build").await;
    assert_eq!(calls.len(), 1);
    assert!(calls[0].event["toolAuthority"].is_string(), "{:?}", calls[0]);
    assert!(host.calls("ordinary", "before_prompt_build").await[0].event["toolAuthority"].is_null());
    assert_eq!(host.prompts(), ["ordinary\n\nauthorised\n\nhello"]);
    assert_ne!(host.system_prompts(), ["mine"]);
    assert_eq!(offered(&host, 0), ["read"]);
}

#[tokio::test]
async fn hooks_010_explicit_hooks_win_over_the_old_one() {
    let legacy = on("before_agent_start").answers(json!({ "modelOverride": "m", "prependContext": "L" }));
    let plugin = script("both")
        .handler(legacy)
        .handler(on("before_model_resolve").answers(json!({ "modelOverride": "n" })))
        .handler(shapes(0.0, json!({ "prependContext": "N" })))
        .recording(&["before_agent_start"]);
    let host = World::new().plugin(plugin).model("n", [say("done")]).model("m", [say("wrong")]).start().await;
    let outcome = host.say("hello").await;
    assert_eq!(outcome.model.unwrap().to_string(), "offline/n");
    assert_eq!(host.prompts(), ["N\n\nL\n\nhello"]);
    let calls = host.calls("both", "before_agent_start").await;
    assert_eq!(calls.len(), 1);
    assert!(calls[0].event["messages"].is_null(), "{:?}", calls[0]);
    assert_eq!(calls[0].event["prompt"], "hello");
}

#[tokio::test]
async fn an_old_handler_without_an_answer_is_asked_again_with_messages() {
    let legacy = on("before_agent_start").does_in_turn([json!({}), json!({ "answer": { "prependContext": "L" } })]);
    let plugin = script("old").handler(legacy).recording(&["before_agent_start"]);
    let host = World::new().plugin(plugin).start().await;
    host.say("hello").await;
    let calls = host.calls("old", "before_agent_start").await;
    let with_messages: Vec<bool> = calls.iter().map(|call| call.event["messages"].is_array()).collect();
    assert_eq!(with_messages, [false, true]);
    assert_eq!(host.prompts(), ["L\n\nhello"]);
}

#[tokio::test]
async fn hooks_058_stable_parts_stay_and_parts_of_a_turn_go() {
    let answer = |turn: &str| {
        json!({ "answer": {
            "prependSystemContext": "A", "systemPrompt": "S", "appendSystemContext": "Z", "prependContext": turn,
        } })
    };
    let plugin = script("shaper")
        .handler(on("before_prompt_build").does_in_turn([answer("T1"), answer("T2")]))
        .recording(&["before_prompt_build"]);
    let host = World::new().plugin(plugin).turns([say("one"), say("two")]).start().await;
    host.say("hello").await;
    host.say("again").await;

    let calls = host.calls("shaper", "before_prompt_build").await;
    assert_eq!(calls[0].json_list("messages"), [Value::Null; 0]);
    let earlier: Vec<String> = calls[1].json_list("messages").iter().map(|message| message["role"].to_string()).collect();
    assert_eq!(earlier, ["\"user\"", "\"assistant\""]);
    assert_eq!(host.system_prompts(), ["A\n\nS\n\nZ", "A\n\nS\n\nZ"]);
    assert_eq!(host.prompts(), ["T1\n\nhello", "T2\n\nagain"]);
    assert_eq!(host.transcript().await, ["user: hello", "assistant: one", "user: again", "assistant: two"]);
    let second = format!("{:?}", host.requests()[1]);
    assert!(!second.contains("T1"), "{second}");
}

#[tokio::test]
async fn hooks_077_the_old_hook_is_deprecated_and_works_beside_the_new_ones() {
    let old = Plugin::new("old", guests::HOOK_LEGACY).operator(json!({ "hooks": { "allowConversationAccess": true } }));
    let new = Plugin::new("new", guests::HOOK_EXPLICIT).operator(json!({ "hooks": { "allowConversationAccess": true } }));
    let host = World::new().plugin(old).plugin(new).model("chosen", [say("done")]).start().await;
    let outcome = host.say("hello").await;

    let deprecated: Vec<String> = host.diagnostics().into_iter().filter(|text| text.contains("deprecated")).collect();
    assert_eq!(deprecated.len(), 1, "{deprecated:?}");
    for part in ["`old`", "before_agent_start", "before_model_resolve", "before_prompt_build"] {
        assert!(deprecated[0].contains(part), "{deprecated:?}");
    }
    assert_eq!(outcome.model.unwrap().to_string(), "offline/chosen");
    assert_eq!(host.prompts(), ["from the explicit hook\n\nfrom the legacy hook\n\nhello"]);
}

#[tokio::test]
async fn prepared_turn_text_stands_before_that_of_the_prompt_hook() {
    let plugin = script("a")
        .handler(on("agent_turn_prepare").answers(json!({ "prependContext": "P", "appendContext": "Q" })))
        .handler(shapes(0.0, json!({ "prependContext": "B", "appendContext": "C" })));
    let host = World::new().plugin(plugin).start().await;
    host.say("hello").await;
    assert_eq!(host.prompts(), ["P\n\nB\n\nhello\n\nQ\n\nC"]);
}

#[tokio::test]
async fn the_model_cannot_call_a_tool_that_a_plugin_took_away() {
    let plugin = script("a").handler(shapes(0.0, json!({ "toolsAllow": ["read"] })));
    let world = World::new().plugin(plugin).turns([call("probe", json!({})), say("done")]);
    let host = world.start().await;
    host.say("hello").await;
    assert!(host.executed().is_empty());
    assert!(host.tool_results().await[0].is_error);
}
