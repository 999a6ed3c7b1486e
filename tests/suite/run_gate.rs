//! `before_agent_run`: the last gate before the model (plugin-hooks 5.3).

use domain::session::RunStatus;
use hooks::HookId;
use serde_json::{Value, json};
use system_tests::{Host, Plugin, World, on, say};

use crate::script;

fn gate(action: Value) -> Plugin {
    script("gate").handler(on("before_agent_run").does(action)).recording(&["before_agent_run", "llm_input"])
}

async fn turn(plugin: Plugin) -> Host {
    let host = World::new().plugin(plugin).turns([say("answer")]).start().await;
    let outcome = host.say("my text").await;
    assert_eq!(outcome.status, RunStatus::Done);
    host
}

/// The model was not asked, the user's text is nowhere, and something else was said.
async fn assert_blocked(host: &Host, said: &str) {
    assert!(host.requests().is_empty());
    assert!(host.calls("gate", "llm_input").await.is_empty());
    assert_eq!(host.transcript().await, [format!("user: {said}")]);
    let rows = serde_json::to_string(&host.rows().await).unwrap();
    assert!(!rows.contains("my text"), "{rows}");
    assert_eq!(host.sent(), [said]);
}

#[tokio::test]
async fn hooks_045_only_nothing_and_a_plain_pass_let_a_run_through() {
    for passes in [json!({}), json!({ "answer": { "outcome": "pass" } })] {
        let host = turn(gate(passes)).await;
        assert_eq!(host.sent(), ["answer"]);
    }
    // A typed answer has no further keys and no null: a plugin whose language has them reports them as its error. What can still be
    // wrong is in the open field and in the rules of the texts.
    let block = |more: Value| {
        let mut answer = json!({ "outcome": "block", "reason": "r" });
        answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "answer": answer })
    };
    for refused in [
        json!({ "error": "the answer {outcome: \"pass\", extra: 1} has the unknown key `extra`" }),
        json!({ "error": "the answer is null" }),
        block(json!({ "metadata": "{ not json" })),
        block(json!({ "metadata": [1] })),
        block(json!({ "reason": " " })),
        block(json!({ "message": "" })),
        block(json!({ "category": " " })),
    ] {
        let host = turn(gate(refused.clone())).await;
        assert_blocked(&host, "This message was blocked by the plugin `gate`.").await;
        assert_eq!(host.log().warnings(&["plugin=gate", "hook=before_agent_run"]).len(), 1, "{refused}");
    }
}

#[tokio::test]
async fn hooks_046_a_trap_blocks_the_run() {
    let host = turn(gate(json!({ "trap": true }))).await;
    assert_blocked(&host, "This message was blocked by the plugin `gate`.").await;
}

#[tokio::test]
async fn a_block_is_terminal_and_keeps_its_reason_to_itself() {
    let block = json!({ "answer": {
        "outcome": "block", "reason": "the sender is on the list", "message": "Ask your administrator.", "category": "access",
        "metadata": { "rule": 7 },
    } });
    let world = World::new()
        .plugin(gate(block))
        .plugin(script("below").handler(on("before_agent_run").priority(-1.0)))
        .turns([say("answer")]);
    let host = world.start().await;
    host.say("my text").await;
    assert_blocked(&host, "Ask your administrator.").await;
    assert_eq!(host.order(HookId::BeforeAgentRun), ["gate"]);
    let rows = serde_json::to_string(&host.rows().await).unwrap();
    assert!(rows.contains("\"by\":\"gate\"") && !rows.contains("on the list"), "{rows}");
    let told = format!("{:?} {:?}", host.journal().entries(), host.log());
    assert!(!told.contains("on the list"), "a reason is sensitive");
}

#[tokio::test]
async fn the_gate_sees_the_prompt_as_built() {
    let shapes = on("before_prompt_build").answers(json!({ "prependContext": "before", "systemPrompt": "S" }));
    let host = turn(gate(json!({})).handler(shapes)).await;
    let call = host.calls("gate", "before_agent_run").await.remove(0);
    assert_eq!(call.event["prompt"], "before\n\nmy text");
    assert_eq!(call.event["systemPrompt"], "S");
    let messages = call.json_list("messages");
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0]["content"][0]["text"], "before\n\nmy text");
}
