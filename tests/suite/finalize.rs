//! `before_agent_finalize`: one more pass before an answer is accepted (plugin-hooks 5.4).

use hooks::HookId;
use serde_json::{Value, json};
use system_tests::{Handler, World, on, say};

use crate::script;

/// A handler of `before_agent_finalize` that answers.
fn judges(name: &str, priority: f64, answer: Value) -> Handler {
    on("before_agent_finalize").named(name).priority(priority).answers(answer)
}

fn revise(reason: &str) -> Value {
    json!({
        "action": "revise", "reason": reason, "retry": { "instruction": "say it again", "idempotencyKey": "k" },
    })
}

#[tokio::test]
async fn hooks_047_finalize_beats_revise_and_everybody_is_asked() {
    let plugin = script("judge")
        .handler(judges("ten", 10.0, json!({ "action": "revise", "reason": "r1" })))
        .handler(judges("five", 5.0, json!({ "action": "finalize" })))
        .handler(judges("zero", 0.0, json!({ "action": "revise", "reason": "r2" })));
    let host = World::new().plugin(plugin).turns([say("answer")]).start().await;
    host.say("go").await;
    assert_eq!(host.requests().len(), 1);
    assert_eq!(host.sent(), ["answer"]);
    assert_eq!(host.order(HookId::BeforeAgentFinalize), ["judge.ten", "judge.five", "judge.zero"]);
}

#[tokio::test]
async fn hooks_048_a_key_is_worth_one_more_pass() {
    let plugin = script("judge")
        .handler(judges("one", 10.0, revise("r1")))
        .handler(judges("two", 0.0, revise("r2")))
        .recording(&["before_agent_finalize"]);
    let host = World::new().plugin(plugin).turns([say("first"), say("second")]).start().await;
    host.say("go").await;
    assert_eq!(host.prompts(), ["go", "r1\n\nr2\n\nsay it again"]);
    assert_eq!(host.sent(), ["second"]);
    let calls = host.calls("judge", "before_agent_finalize").await;
    let active: Vec<Value> = calls.iter().map(|call| call.event["stopHookActive"].clone()).collect();
    assert_eq!(active, [false, false, true, true]);
    assert_eq!(calls[0].event["lastAssistantMessage"], "first");
    assert_eq!(calls[2].event["lastAssistantMessage"], "second");
}

#[tokio::test]
async fn a_run_has_three_revisions_in_all() {
    let again = |n: u32| json!({ "answer": { "action": "revise", "reason": format!("reason {n}") } });
    let handler = on("before_agent_finalize").does_in_turn([again(1), again(2), again(3), again(4)]);
    let turns = [say("1"), say("2"), say("3"), say("4")];
    let host = World::new().plugin(script("judge").handler(handler)).turns(turns).start().await;
    host.say("go").await;
    assert_eq!(host.requests().len(), 4);
    assert_eq!(host.sent(), ["4"]);
}

#[tokio::test]
async fn a_failing_judge_is_left_out() {
    let host = World::new()
        .plugin(script("broken").handler(on("before_agent_finalize").traps()))
        .plugin(script("judge").handler(judges("", 0.0, revise("r"))))
        .turns([say("first"), say("second")])
        .start()
        .await;
    host.say("go").await;
    assert_eq!(host.sent(), ["second"]);
}
