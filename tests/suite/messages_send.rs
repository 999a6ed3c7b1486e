//! Messages that plugins send: on which channels the operator lets them, and that they go the way of the agent's own replies.

use hooks::HookId;
use hooks::record::HandlerOutcome;
use serde_json::{Value, json};
use system_tests::{CHANNEL, Host, Plugin, World, call, on, say};
use tracing::Level;

use domain::message::text_of;

use crate::{guests, script};

/// A plugin whose tool `announce` sends messages, and whose handlers cancel all that they hear of: the reply of the run, too.
fn announcer(granted: Value) -> Plugin {
    let hooks = ["reply_payload_sending", "message_sending", "session_start"].map(|hook| json!({ "hook": hook }));
    Plugin::new("announcer", guests::CAP_MESSAGES)
        .manifest(json!({ "contracts": { "tools": ["announce"] }, "hooks": hooks }))
        .operator(json!({ "capabilities": { "messagesSend": granted } }))
}

/// The model calls `announce`.
async fn announced(world: World, messages: Value) -> (Host, World, Value) {
    let world = world.turns([call("announce", json!({ "messages": messages })), say("done")]);
    let host = world.start().await;
    host.say("go").await;
    let results = host.tool_results().await;
    let report = text_of(&results[results.len() - 1].content);
    (host, world, serde_json::from_str(&report).unwrap_or_else(|_| panic!("no report: {report}")))
}

fn statuses(found: &Value) -> Vec<&str> {
    found.as_array().unwrap().iter().map(|it| it["status"].as_str().or(it["error"].as_str()).unwrap()).collect()
}

#[tokio::test]
async fn hooks_076_own_handlers_are_left_out_of_a_message_that_a_plugin_sends() {
    let other = script("other").handler(on("message_sending").answers(json!({ "content": "seen by the other" })));
    let world = World::new().plugin(announcer(json!(true))).plugin(other.recording(&["message_sending"]));
    let (host, _world, found) = announced(world, json!([{ "content": "hello" }])).await;
    assert_eq!(statuses(&found), ["DeliveryStatus::Sent"], "the call returns");
    let announcement = &host.outbound()[0];
    assert_eq!((announcement.content.as_str(), announcement.channel.as_str()), ("seen by the other", CHANNEL));
    assert_eq!(host.calls("other", "message_sending").await[0].event["content"], "hello", "the other handler runs");
    for hook in [HookId::MessageSending, HookId::ReplyPayloadSending] {
        let handled = host.handled(hook);
        let first = handled.iter().find(|it| it.plugin.as_str() == "announcer").unwrap();
        assert_eq!(first.outcome, HandlerOutcome::SkippedNested, "with a note in the trace");
    }
    // Outside the chain its handlers count: they cancel the reply of the run.
    assert_eq!(host.outbound().len(), 1);
}

#[tokio::test]
async fn handlers_of_others_can_keep_a_message_back() {
    let filter = script("filter").handler(on("message_sending").answers(json!({ "cancel": true })));
    let (host, _world, found) =
        announced(World::new().plugin(announcer(json!([CHANNEL]))).plugin(filter), json!([{ "content": "hello" }])).await;
    assert_eq!(statuses(&found), ["DeliveryStatus::Suppressed"]);
    assert_eq!(found[0]["detail"], "cancelled_by_message_sending_hook");
    assert!(host.outbound().is_empty());
}

#[tokio::test]
async fn a_channel_that_refuses_is_told_in_the_receipt() {
    let world = World::new().plugin(announcer(json!(true))).refusing("bad");
    let (host, _world, found) =
        announced(world, json!([{ "content": "bad words" }, { "content": "good words", "to": "ops" }])).await;
    assert_eq!(statuses(&found), ["DeliveryStatus::Failed", "DeliveryStatus::Sent"]);
    let sent: Vec<_> = host.outbound().into_iter().filter(|it| it.content == "good words").map(|it| it.to).collect();
    assert_eq!(sent, ["ops"]);
}

#[tokio::test]
async fn a_key_sends_one_message_also_after_a_restart() {
    let world = World::new().plugin(announcer(json!(true))).refusing("bad");
    let asked = json!([{ "content": "bad", "key": "k" }, { "content": "one", "key": "k" }, { "content": "two", "key": "k" }]);
    let (host, world, found) = announced(world, asked).await;
    assert_eq!(
        statuses(&found),
        ["DeliveryStatus::Failed", "DeliveryStatus::Sent", "DeliveryStatus::Suppressed"],
        "what did not go out uses up no key"
    );
    assert_eq!(host.sent().iter().filter(|text| ["one", "two"].contains(&text.as_str())).count(), 1);
    host.close().await;
    let (host, _world, found) =
        announced(world, json!([{ "content": "three", "key": "k" }, { "content": "four", "key": "l" }])).await;
    assert_eq!(statuses(&found), ["DeliveryStatus::Suppressed", "DeliveryStatus::Sent"]);
    assert!(host.sent().contains(&"four".to_owned()) && !host.sent().contains(&"three".to_owned()));
}

#[tokio::test]
async fn a_channel_that_is_not_granted_is_refused_and_the_line_is_told_once() {
    for granted in [json!([]), json!(["pager"])] {
        let (host, _world, found) =
            announced(World::new().plugin(announcer(granted)), json!([{ "content": "a" }, { "content": "b" }])).await;
        assert!(statuses(&found).iter().all(|it| it.starts_with("Denied")), "{found}");
        assert!(host.outbound().is_empty());
        let line = format!("add \"{CHANNEL}\" to plugins.entries.announcer.capabilities.messagesSend");
        assert_eq!(host.log().warnings(&[&line, "hook=tool"]).len(), 1);
    }
    let host = World::new().plugin(announcer(json!(false))).start().await;
    assert!(host.problem("announcer").contains("plugins.entries.announcer.capabilities.messagesSend"));
}

#[tokio::test]
async fn what_does_not_fit_is_an_answer() {
    let asked = json!([
        { "content": " " },
        { "content": "x", "channel": "pager" },
        { "content": "x", "account": "second" },
        { "content": "x", "key": "" },
        { "content": "x", "key": "k".repeat(513) },
    ]);
    let (host, _world, found) = announced(World::new().plugin(announcer(json!(true))), asked).await;
    let expected = ["Invalid", "NotFound", "NotFound", "Invalid", "Invalid"];
    assert!(statuses(&found).iter().zip(expected).all(|(found, expected)| found.starts_with(expected)), "{found}");
    assert!(host.outbound().is_empty());
}

#[tokio::test]
async fn outside_a_run_nothing_is_sent() {
    let host = World::new().plugin(announcer(json!(true))).turns([say("done")]).start().await;
    host.say("go").await;
    assert!(host.outbound().is_empty());
    assert_eq!(host.log().lines(Level::INFO, &["before any run: Err(Unavailable("]).len(), 1);
}
