//! `before_agent_reply`: plugins that answer or silence a turn (plugin-hooks 4.4).

use agent::RunRequest;
use domain::session::RunStatus;
use hooks::HookId;
use hooks::context::Trigger;
use serde_json::json;
use system_tests::{Handler, World, on};

use crate::script;

/// A handler of `before_agent_reply` that claims with a text.
fn claims(text: &str) -> Handler {
    on("before_agent_reply").answers(json!({ "handled": true, "reply": { "text": text } }))
}

#[tokio::test]
async fn hooks_012_the_first_claim_answers_the_turn() {
    let declines = on("before_agent_reply").priority(10.0).answers(json!({ "handled": false }));
    let host = World::new()
        .plugin(script("declines").handler(declines))
        .plugin(script("claims").handler(claims("we open at nine").priority(0.0)))
        .plugin(script("below").handler(claims("never").priority(-1.0)))
        .start()
        .await;
    let outcome = host.say("when do you open").await;
    assert_eq!(outcome.status, RunStatus::Done);
    assert_eq!(host.sent(), ["we open at nine"]);
    assert_eq!(host.order(HookId::BeforeAgentReply), ["declines", "claims"]);
    assert!(host.requests().is_empty());
    assert_eq!(host.transcript().await, ["user: when do you open", "assistant: we open at nine"]);
}

#[tokio::test]
async fn hooks_013_a_claim_without_a_reply_is_silence() {
    let silences = on("before_agent_reply").answers(json!({ "handled": true }));
    let host = World::new().plugin(script("quiet").handler(silences)).start().await;
    let outcome = host.say("beep").await;
    assert_eq!(outcome.status, RunStatus::Done);
    assert!(outcome.error.is_none());
    assert!(outcome.deliveries.is_empty() && host.sent().is_empty());
    assert!(host.requests().is_empty());
}

#[tokio::test]
async fn hooks_014_a_handler_runs_for_its_triggers_only() {
    let handler = claims("scheduled").with("eligibleTriggers", json!(["heartbeat", "cron"]));
    let host = World::new().plugin(script("timed").handler(handler)).start().await;
    host.say("hello").await;
    assert_eq!(host.handled(HookId::BeforeAgentReply).len(), 0);
    assert_eq!(host.sent(), ["hello"]);
    for (count, trigger) in [(1, Trigger::Heartbeat), (2, Trigger::Cron)] {
        host.run(RunRequest { trigger, ..host.request("tick") }).await;
        assert_eq!(host.handled(HookId::BeforeAgentReply).len(), count);
    }
    assert_eq!(host.sent(), ["hello", "scheduled", "scheduled"]);
}

#[tokio::test]
async fn hooks_015_after_a_trap_the_next_claim_wins() {
    let host = World::new()
        .plugin(script("broken").handler(on("before_agent_reply").priority(10.0).traps()))
        .plugin(script("second").handler(claims("here")))
        .start()
        .await;
    host.say("hello").await;
    assert_eq!(host.sent(), ["here"]);
    assert_eq!(host.log().warnings(&["plugin=broken", "hook=before_agent_reply"]).len(), 1);
}
