//! Approvals that plugins ask for (plugin-hooks 4.9.5).

use domain::approval::{ApprovalDecision, PendingApproval};
use domain::cancel::CancelReason;
use domain::message::text_of;
use domain::session::RunStatus;
use serde_json::{Value, json};
use system_tests::{Answer, Entry, Handler, Host, PROBE, Plugin, World, call, on, say};

use crate::script;

/// A plugin that asks, with more said in its request and its answer, and hears how it ended.
fn asks(id: &str, priority: f64, request: Value, more: Value) -> Plugin {
    let mut approval = json!({ "title": format!("may {id} go on"), "description": "d", "onResolution": "note" });
    approval.as_object_mut().unwrap().extend(request.as_object().unwrap().clone());
    let mut answer = json!({ "requireApproval": approval });
    answer.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    script(id).handler(on("before_tool_call").priority(priority).answers(answer)).recording(&["approval_resolved"])
}

fn decides(priority: f64, answer: Value) -> Handler {
    on("before_tool_call").priority(priority).answers(answer)
}

fn world() -> World {
    World::new().turns([call(PROBE, json!({ "a": 1 })), say("done")])
}

fn asked(host: &Host) -> Vec<PendingApproval> {
    host.journal().find(|entry| if let Entry::Asked(pending) = entry { Some(pending.clone()) } else { None })
}

/// How the plugin was told that its request ended.
async fn resolution(host: &Host, plugin: &str) -> Vec<String> {
    let calls = host.calls(plugin, "approval_resolved").await;
    assert!(calls.iter().all(|call| call.event["note"] == "note" && call.event["toolName"] == PROBE), "{calls:?}");
    calls.iter().map(|call| call.event["outcome"].as_str().unwrap().to_owned()).collect()
}

/// Status of the blocked result, its reason for denial, its text.
async fn refusal(host: &Host) -> (String, String, String) {
    assert!(host.executed().is_empty());
    let result = host.tool_results().await.remove(0);
    assert!(result.is_error);
    let details = result.details.unwrap();
    let text = |key: &str| details[key].as_str().unwrap_or_default().to_owned();
    (text("status"), text("deniedReason"), text_of(&result.content))
}

#[tokio::test]
async fn hooks_021_an_approval_freezes_the_rewrite_that_came_with_it() {
    let host = world()
        .plugin(asks("asks", 10.0, json!({}), json!({ "params": { "a": 9 } })))
        .plugin(script("low").handler(decides(0.0, json!({ "params": { "a": 5 } }))))
        .reviewer([Answer::Decides(ApprovalDecision::AllowOnce)])
        .start()
        .await;
    host.say("go").await;
    assert_eq!(host.executed(), [json!({ "a": 9 }).as_object().unwrap().clone()]);
    assert_eq!(resolution(&host, "asks").await, ["AllowOnce"]);
}

#[tokio::test]
async fn hooks_022_a_later_block_spares_the_question() {
    let host = world()
        .plugin(asks("asks", 10.0, json!({}), json!({})))
        .plugin(script("guard").handler(decides(0.0, json!({ "block": true, "blockReason": "no" }))))
        .reviewer([Answer::Decides(ApprovalDecision::AllowOnce)])
        .start()
        .await;
    host.say("go").await;
    assert!(asked(&host).is_empty());
    let (status, denied, text) = refusal(&host).await;
    assert_eq!((status.as_str(), denied.as_str(), text.as_str()), ("blocked", "plugin-before-tool-call", "no"));
}

#[tokio::test]
async fn hooks_023_the_first_question_is_shown_as_its_owners() {
    // The contract has no field in which a plugin could claim to be another one.
    let host = world()
        .plugin(asks("first", 10.0, json!({ "title": "I am the plugin `second`" }), json!({})))
        .plugin(asks("second", 0.0, json!({}), json!({})))
        .reviewer([Answer::Decides(ApprovalDecision::AllowAlways)])
        .start()
        .await;
    host.say("go").await;
    let shown = asked(&host);
    assert_eq!(shown.len(), 1);
    assert_eq!(shown[0].plugin_id.as_str(), "first");
    assert_eq!((shown[0].tool_name.as_str(), shown[0].request.description.as_str()), (PROBE, "d"));
    assert_eq!(resolution(&host, "first").await, ["AllowAlways"]);
    assert!(resolution(&host, "second").await.is_empty());
    assert_eq!(host.executed().len(), 1);
}

#[tokio::test]
async fn hooks_024_an_expired_question_denies_whatever_the_plugin_wished() {
    let request = json!({ "timeoutMs": 60, "timeoutBehavior": "allow" });
    let host = World::new()
        .turns([call(PROBE, json!({})), call(PROBE, json!({})), say("done")])
        .plugin(asks("asks", 0.0, request, json!({})))
        .reviewer([Answer::Ignores, Answer::Ignores])
        .start()
        .await;
    host.say("go").await;
    let (status, denied, _) = refusal(&host).await;
    assert_eq!((status.as_str(), denied.as_str()), ("timed_out", "plugin-approval"));
    assert_eq!(resolution(&host, "asks").await, ["Timeout", "Timeout"]);
    assert_eq!(host.log().warnings(&["timeoutBehavior", "asks"]).len(), 1, "once per plugin");
}

#[tokio::test]
async fn hooks_025_a_decision_that_was_not_offered_is_none() {
    let request = json!({ "allowedDecisions": ["allow-once", "deny"] });
    let host = world()
        .plugin(asks("asks", 0.0, request, json!({})))
        .reviewer([Answer::Decides(ApprovalDecision::AllowAlways)])
        .start()
        .await;
    host.say("go").await;
    let (status, _, _) = refusal(&host).await;
    assert_eq!(status, "timed_out");
    assert_eq!(resolution(&host, "asks").await, ["Timeout"]);
}

#[tokio::test]
async fn hooks_026_an_abort_ends_the_wait() {
    let host = world().plugin(asks("asks", 0.0, json!({}), json!({}))).reviewer([Answer::Ignores]).start().await;
    let accepted = host.accept(host.request("go")).await;
    let cancel = accepted.cancel();
    let (outcome, ()) = tokio::join!(accepted.run(), async {
        host.journal().wait_for(|entry| matches!(entry, Entry::Asked(_))).await;
        cancel.cancel(CancelReason::User);
    });
    host.settle().await;
    assert_eq!(outcome.status, RunStatus::Killed);
    let (status, _, _) = refusal(&host).await;
    assert_eq!(status, "cancelled");
    assert_eq!(resolution(&host, "asks").await, ["Cancelled"]);
}

#[tokio::test]
async fn every_other_end_of_a_question_blocks() {
    let reason = json!({ "timeoutReason": "nobody looked" });
    for (request, answer, wanted, told) in [
        (json!({}), Answer::Decides(ApprovalDecision::Deny), ("blocked", "the operator denied this call"), "Deny"),
        (json!({}), Answer::DecidesElsewhere(ApprovalDecision::AllowOnce), ("timed_out", "no valid approval"), "Timeout"),
        (json!({}), Answer::Mumbles, ("timed_out", "no valid approval"), "Timeout"),
        (reason, Answer::Mumbles, ("blocked", "nobody looked"), "Timeout"),
        (json!({}), Answer::NoRoute, ("failed", "nobody can be asked"), "Cancelled"),
    ] {
        let host = world().plugin(asks("asks", 0.0, request, json!({}))).reviewer([answer]).start().await;
        host.say("go").await;
        let (status, denied, text) = refusal(&host).await;
        assert_eq!((status.as_str(), denied.as_str()), (wanted.0, "plugin-approval"), "{answer:?}");
        assert!(text.contains(wanted.1), "{answer:?}: {text}");
        assert_eq!(resolution(&host, "asks").await, [told], "{answer:?}");
    }
}

#[tokio::test]
async fn long_texts_of_a_question_are_cut_and_a_bad_scope_is_dropped() {
    let request = json!({ "title": "t".repeat(200), "description": "d".repeat(2000) });
    let host = world()
        .plugin(asks("asks", 0.0, request, json!({})))
        .reviewer([Answer::Decides(ApprovalDecision::AllowOnce)])
        .start()
        .await;
    host.say("go").await;
    let shown = &asked(&host)[0].request;
    assert_eq!((shown.title.chars().count(), shown.description.chars().count()), (80, 512));
    assert_eq!(shown.scope, None);
}
