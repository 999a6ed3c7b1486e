//! Hooks of the way in and of the way out (plugin-hooks 4.12 to 4.14, 5.10).

use agent::DeliveryStatus;
use domain::model::FailureClass;
use hooks::HookId;
use serde_json::{Value, json};
use system_tests::{CHANNEL, Handler, Host, Plugin, World, fail, on, say};

use crate::script;

/// A handler of `message_sending` that answers.
fn sends(priority: f64, answer: Value) -> Handler {
    on("message_sending").priority(priority).answers(answer)
}

/// A plugin that records what it is asked and told about outgoing messages.
fn spy(id: &str) -> Plugin {
    script(id).recording(&["message_sending", "message_sent"])
}

/// Texts that a plugin was shown before they went out.
async fn shown(host: &Host, plugin: &str) -> Vec<String> {
    let calls = host.calls(plugin, "message_sending").await;
    calls.iter().map(|call| call.event["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn hooks_033_everybody_sees_the_original_and_the_last_rewrite_counts() {
    let host = World::new()
        .plugin(spy("high").handler(sends(10.0, json!({ "content": "x" }))))
        .plugin(spy("low").handler(sends(0.0, json!({ "content": "y" }))))
        .turns([say("o")])
        .start()
        .await;
    host.say("go").await;
    assert_eq!(shown(&host, "high").await, ["o"]);
    assert_eq!(shown(&host, "low").await, ["o"]);
    assert_eq!(host.sent(), ["y"]);
}

#[tokio::test]
async fn hooks_034_a_cancel_is_terminal_and_nothing_is_sent() {
    let cancels = sends(5.0, json!({ "cancel": true, "cancelReason": "names a customer" }));
    let host = World::new()
        .plugin(script("rewrites").handler(sends(10.0, json!({ "content": "x" }))))
        .plugin(script("cancels").handler(cancels))
        .plugin(spy("spy"))
        .turns([say("o")])
        .start()
        .await;
    let outcome = host.say("go").await;
    assert!(host.sent().is_empty());
    assert!(host.calls("spy", "message_sending").await.is_empty());
    assert!(host.calls("spy", "message_sent").await.is_empty());
    let delivery = &outcome.deliveries[0];
    assert_eq!(delivery.status, DeliveryStatus::Suppressed);
    assert_eq!(delivery.reason.as_deref(), Some("cancelled_by_message_sending_hook"));
    assert_eq!(delivery.metadata.as_ref().unwrap()["cancelReason"], "names a customer");
}

#[tokio::test]
async fn hooks_035_a_lower_false_lifts_no_cancel() {
    let host = World::new()
        .plugin(script("cancels").handler(sends(10.0, json!({ "cancel": true }))))
        .plugin(script("soft").handler(sends(0.0, json!({ "cancel": false, "content": "anyway" }))))
        .turns([say("o")])
        .start()
        .await;
    host.say("go").await;
    assert!(host.sent().is_empty());
    assert_eq!(host.order(HookId::MessageSending), ["cancels"]);
}

#[tokio::test]
async fn hooks_036_a_handler_past_its_budget_lets_the_message_out() {
    let slow = script("slow")
        .handler(on("message_sending").does(json!({ "loop": true })))
        .operator(json!({ "hooks": { "timeouts": { "message_sending": 100 } } }));
    let host = World::new().plugin(slow).turns([say("o")]).start().await;
    let outcome = host.say("go").await;
    assert_eq!(host.sent(), ["o"]);
    assert_eq!(outcome.deliveries[0].status, DeliveryStatus::Sent);
    assert_eq!(host.log().warnings(&["plugin=slow", "timeout"]).len(), 1);
}

#[tokio::test]
async fn hooks_037_each_handler_gets_the_newest_payload() {
    let sets = on("reply_payload_sending").priority(10.0).answers(json!({ "payload": { "text": "x" } }));
    let appends = on("reply_payload_sending").does(json!({ "append": "!" }));
    let host = World::new()
        .plugin(script("sets").handler(sets))
        .plugin(script("appends").handler(appends).recording(&["reply_payload_sending"]))
        .plugin(spy("spy"))
        .turns([say("o")])
        .start()
        .await;
    host.say("go").await;
    let seen = host.calls("appends", "reply_payload_sending").await;
    assert_eq!(seen[0].json("payload"), json!({ "text": "x" }));
    assert_eq!(seen[0].event["kind"], "Final");
    assert_eq!(shown(&host, "spy").await, ["x!"]);
    assert_eq!(host.sent(), ["x!"]);
}

#[tokio::test]
async fn a_cancelled_payload_goes_no_further() {
    let cancels = on("reply_payload_sending").answers(json!({ "cancel": true, "reason": "not now" }));
    let host = World::new().plugin(script("a").handler(cancels)).plugin(spy("spy")).turns([say("o")]).start().await;
    let outcome = host.say("go").await;
    assert_eq!(outcome.deliveries[0].status, DeliveryStatus::Suppressed);
    assert_eq!(outcome.deliveries[0].reason.as_deref(), Some("not now"));
    assert!(host.sent().is_empty() && host.calls("spy", "message_sending").await.is_empty());
}

#[tokio::test]
async fn hooks_069_each_attempt_to_deliver_is_told_as_it_went() {
    let rewrites = on("message_sending").does(json!({ "append": " (checked)" }));
    let host = World::new()
        .plugin(script("rewrites").handler(rewrites))
        .plugin(script("recorder").handler(on("message_sent").traps()).recording(&["message_sent"]))
        // An answer that breaks off leaves two payloads: what went wrong, and what was said before.
        .turns([say("half an answer").and_fail(FailureClass::Overloaded, "the provider is overloaded")])
        .refusing("half an answer")
        .start()
        .await;
    let outcome = host.say("go").await;
    assert_eq!(outcome.deliveries.len(), 2);
    let events: Vec<Value> = host.calls("recorder", "message_sent").await.into_iter().map(|call| call.event).collect();
    let sent = |success: bool| events.iter().find(|event| event["success"] == success).unwrap();
    assert_eq!(events.len(), 2);
    assert_eq!(sent(true)["content"], host.sent()[0].as_str());
    assert!(host.sent()[0].ends_with("try again later. (checked)"), "{:?}", host.sent());
    assert_eq!((&sent(true)["messageId"], &sent(true)["error"]), (&json!("m1"), &Value::Null));
    assert_eq!(sent(false)["content"], "half an answer (checked)");
    assert!(sent(false)["error"].as_str().unwrap().contains("refused"));
    // The recorder traps, which changes nothing.
    let statuses: Vec<DeliveryStatus> = outcome.deliveries.iter().map(|delivery| delivery.status).collect();
    assert_eq!(statuses, [DeliveryStatus::Sent, DeliveryStatus::Failed]);
    assert_eq!(outcome.deliveries[0].message_id.as_deref(), Some("m1"));
}

#[tokio::test]
async fn the_agent_does_not_wait_for_those_who_watch_the_way_in() {
    let sleeps = on("message_received").does(json!({ "sleepMs": 300 }));
    let plugin = script("watcher").handler(sleeps).recording(&["message_received"]);
    let host = World::new().plugin(plugin).turns([say("done")]).start().await;
    host.accept(host.request("hello")).await.run().await;
    assert_eq!(host.sent(), ["done"]);
    assert!(host.handled(HookId::MessageReceived).is_empty(), "the run did not wait");
    host.settle().await;
    let calls = host.calls("watcher", "message_received").await;
    assert_eq!(calls.len(), 1);
    assert_eq!((&calls[0].event["content"], &calls[0].event["from"]), (&json!("hello"), &json!("operator")));
    assert_eq!(calls[0].context["channelId"], CHANNEL);
}

#[tokio::test]
async fn an_empty_rewrite_is_a_rewrite() {
    let host = World::new().plugin(script("a").handler(sends(0.0, json!({ "content": "" })))).turns([say("o")]).start().await;
    let outcome = host.say("go").await;
    assert!(host.sent().is_empty());
    assert_eq!(outcome.deliveries[0].status, DeliveryStatus::Suppressed);
}

#[tokio::test]
async fn an_error_text_passes_the_hooks_like_any_other() {
    let host = World::new().plugin(spy("spy")).turns([fail(FailureClass::Auth, "the key sk-1 was refused")]).start().await;
    host.say("go").await;
    let shown = shown(&host, "spy").await;
    assert_eq!(shown, host.sent());
    assert!(shown[0].contains("does not accept the credentials"), "{shown:?}");
}
