//! The example plugins as they are built and shipped, each doing its work in the real host. What each one can do in all is tested beside
//! it; here only that its component, its manifest and its settings work together.

use domain::message::text_of;
use serde_json::{Value, json};
use system_tests::{Answer, Guest, Host, PROBE, World, call, say};

use crate::guests::examples;

/// An example with settings and everything that it asks for.
fn with(example: Guest, settings: Value) -> World {
    World::new().example(
        example,
        json!({ "config": settings, "capabilities": { "kv": true }, "hooks": { "allowConversationAccess": true } }),
    )
}

async fn result(host: &Host) -> String {
    text_of(&host.tool_results().await[0].content)
}

#[tokio::test]
async fn the_tool_guard_blocks_a_destructive_command() {
    let host = with(examples::TOOL_GUARD, json!({}))
        .turns([call("exec", json!({ "command": "rm -rf /" })), say("I will not")])
        .reviewer([Answer::NoRoute])
        .start()
        .await;
    host.say("clean up").await;
    assert!(result(&host).await.contains("removes"), "{:?}", host.tool_results().await);
    assert!(host.tool_results().await[0].is_error);
}

#[tokio::test]
async fn the_secret_redactor_keeps_a_secret_out_of_the_transcript() {
    let settings = json!({ "patterns": [{ "name": "badge", "pattern": "B-[0-9]{4}" }] });
    let host = with(examples::SECRET_REDACTOR, settings)
        .turns([call(PROBE, json!({ "says": "the badge is B-1234" })), say("noted")])
        .start()
        .await;
    host.say("look").await;
    let stored = result(&host).await;
    assert!(stored.contains("badge") && !stored.contains("B-1234"), "{stored}");
}

#[tokio::test]
async fn the_outbound_filter_rewrites_and_keeps_back() {
    let settings = json!({ "replace": [{ "word": "acme", "with": "a customer" }], "forbid": [{ "word": "falcon" }] });
    let host = with(examples::OUTBOUND_FILTER, settings).turns([say("ask Acme"), say("project Falcon")]).start().await;
    host.say("who").await;
    host.say("what").await;
    assert_eq!(host.sent(), ["ask a customer"]);
}

#[tokio::test]
async fn the_context_injector_adds_stable_and_passing_text() {
    let settings = json!({
        "guidance": { "after": "Be brief." },
        "notes": [{ "keywords": ["hours"], "text": "We open at nine." }],
    });
    let host = with(examples::CONTEXT_INJECTOR, settings).start().await;
    host.say("your hours?").await;
    assert!(host.system_prompts()[0].ends_with("Be brief."));
    assert!(host.prompts()[0].contains("We open at nine."), "{:?}", host.prompts());
}

#[tokio::test]
async fn the_model_router_chooses() {
    let settings = json!({ "rules": [{ "keywords": ["proof"], "model": "smart" }] });
    let host = with(examples::MODEL_ROUTER, settings).model("smart", [say("q.e.d.")]).start().await;
    let outcome = host.say("write a proof").await;
    assert_eq!(outcome.model.unwrap().to_string(), "offline/smart");
}

#[tokio::test]
async fn the_auto_responder_answers_without_a_model() {
    let settings = json!({ "rules": [{ "keywords": ["hours"], "reply": "We open at nine." }] });
    let host = with(examples::AUTO_RESPONDER, settings).start().await;
    host.say("your hours?").await;
    assert_eq!(host.sent(), ["We open at nine."]);
    assert!(host.requests().is_empty());
}

#[tokio::test]
async fn the_run_journal_counts_what_it_watches() {
    let host = with(examples::RUN_JOURNAL, json!({})).start().await;
    host.say("hello").await;
    assert!(!host.keys("run-journal").await.is_empty());
}

#[tokio::test]
async fn unit_convert_is_a_tool_like_any_other() {
    let host = with(examples::UNIT_CONVERT, json!({}))
        .turns([call("convert_units", json!({ "value": 26.2, "from": "mi", "to": "km" })), say("42 km")])
        .start()
        .await;
    host.say("how far").await;
    assert!(result(&host).await.contains("42."), "{}", result(&host).await);
}

#[tokio::test]
async fn the_install_gate_loads() {
    let host = with(examples::INSTALL_GATE, json!({})).start().await;
    assert!(host.loads("install-gate"));
}
