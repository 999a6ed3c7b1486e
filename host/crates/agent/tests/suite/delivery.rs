//! The way out: what plugins make of a reply, what the channel makes of it, and what is told of both.

use agent::deliver::{MAX_CANCEL_METADATA_BYTES, SEND_LIMIT};
use agent::{DeliveryStatus, RunOutcome};
use domain::JsonText;
use domain::payload::ReplyPayload;
use domain::session::RunStatus;
use hooks::catalogue as hook;
use hooks::events::{before_agent_reply, message_sending, reply_payload_sending};
use hooks::{Fault, FaultKind};
use serde_json::json;

use crate::support::{Chat, Nothing, PanickingChannel, Setup, Verdict, says, seen};

fn rewrite(text: &str) -> Option<message_sending::Answer> {
    Some(message_sending::Answer { content: Some(text.into()), ..Default::default() })
}

fn cancel() -> Option<message_sending::Answer> {
    Some(message_sending::Answer { cancel: true, ..Default::default() })
}

fn only(outcome: &RunOutcome) -> (DeliveryStatus, Option<&str>, Option<&str>) {
    assert_eq!(outcome.deliveries.len(), 1);
    let delivery = &outcome.deliveries[0];
    (delivery.status, delivery.content.as_deref(), delivery.reason.as_deref())
}

#[tokio::test]
async fn a_sent_text_is_told_as_it_went_out() {
    let (told, watch) = seen::<hook::MessageSent>();
    let chat = Setup::new([says("o")])
        .settings(|settings| settings.response_prefix = Some("[bot]".into()))
        .plugin::<hook::MessageSending, _>("one", 10.0, |event, context, _| {
            assert_eq!((event.content.as_str(), context.channel_id.as_str()), ("o", "fake"));
            rewrite("x")
        })
        .plugin::<hook::MessageSending, _>("two", 0.0, |event, _, _| {
            assert_eq!(event.content, "o", "each handler sees the original");
            rewrite("y")
        })
        .plugin::<hook::MessageSent, _>("w", 0.0, watch)
        .chat();
    let outcome = chat.user("go").await;
    assert_eq!(only(&outcome), (DeliveryStatus::Sent, Some("[bot] y"), None));
    assert_eq!(outcome.deliveries[0].message_id.as_deref(), Some("m1"));
    assert_eq!(chat.sent(), ["[bot] y"]);
    assert_eq!(chat.rows()[1], "assistant: o", "prefix and rewrites are not stored");
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].content.as_str(), told[0].success, told[0].message_id.as_deref()), ("[bot] y", true, Some("m1")));
}

#[tokio::test]
async fn a_refused_text_is_told_as_a_failure_and_the_run_is_done() {
    let (told, watch) = seen::<hook::MessageSent>();
    let chat = Setup::new([says("bad word")]).refusing("bad").plugin::<hook::MessageSent, _>("w", 0.0, watch).chat();
    let outcome = chat.user("go").await;
    assert_eq!(outcome.status, RunStatus::Done);
    assert_eq!(only(&outcome), (DeliveryStatus::Failed, Some("bad word"), Some("the channel refused the message")));
    let told = told.lock().unwrap();
    assert_eq!((told[0].success, told[0].error.as_deref()), (false, Some("the channel refused the message")));
}

#[tokio::test]
async fn a_cancel_is_final_and_nothing_is_told() {
    let (asked, spy) = seen::<hook::MessageSending>();
    let (told, watch) = seen::<hook::MessageSent>();
    let chat = Setup::new([says("o")])
        .plugin::<hook::MessageSending, _>("one", 10.0, |_, _, _| rewrite("x"))
        .plugin::<hook::MessageSending, _>("two", 5.0, |_, _, _| {
            let metadata = Some(JsonText::from_value(&json!({"rule": 7})));
            Some(message_sending::Answer { cancel: true, cancel_reason: Some("quiet hours".into()), metadata, content: None })
        })
        .plugin::<hook::MessageSending, _>("spy", 0.0, spy)
        .plugin::<hook::MessageSent, _>("w", 0.0, watch)
        .chat();
    let outcome = chat.user("go").await;
    assert_eq!(only(&outcome), (DeliveryStatus::Suppressed, None, Some("cancelled_by_message_sending_hook")));
    let metadata = json!({"cancelReason": "quiet hours", "metadata": {"rule": 7}});
    assert_eq!(outcome.deliveries[0].metadata.as_ref(), Some(&metadata));
    assert!(chat.sent().is_empty());
    assert_eq!((asked.lock().unwrap().len(), told.lock().unwrap().len()), (0, 0));
}

#[tokio::test]
async fn oversized_data_of_a_cancel_is_dropped() {
    let chat = Setup::new([says("o")])
        .plugin::<hook::MessageSending, _>("p", 0.0, |_, _, _| {
            let metadata = Some(JsonText::from_value(&"x".repeat(MAX_CANCEL_METADATA_BYTES)));
            Some(message_sending::Answer { cancel: true, metadata, ..Default::default() })
        })
        .chat();
    assert_eq!(chat.user("go").await.deliveries[0].metadata, None);
}

#[tokio::test]
async fn what_plugins_leave_empty_or_silent_is_not_sent() {
    for text in ["", " \n", "NO_REPLY", " no_reply "] {
        let (told, watch) = seen::<hook::MessageSent>();
        let chat = Setup::new([says("o")])
            .plugin::<hook::MessageSending, _>("p", 0.0, move |_, _, _| rewrite(text))
            .plugin::<hook::MessageSent, _>("w", 0.0, watch)
            .chat();
        let outcome = chat.user("go").await;
        assert_eq!(only(&outcome), (DeliveryStatus::Suppressed, None, Some("nothing was left to send")), "{text:?}");
        assert!(chat.sent().is_empty() && told.lock().unwrap().is_empty(), "{text:?}");
    }
    let chat = Setup::new([says("o")]).plugin::<hook::MessageSending, _>("p", 0.0, |_, _, _| rewrite("Done. NO_REPLY")).chat();
    chat.user("go").await;
    assert_eq!(chat.sent(), ["Done."]);
}

#[tokio::test]
async fn media_go_out_without_text() {
    let reply = ReplyPayload { media_url: Some("u".into()), ..ReplyPayload::text("caption") };
    let chat = Setup::new([])
        .settings(|settings| settings.response_prefix = Some("[bot]".into()))
        .plugin::<hook::BeforeAgentReply, _>("p", 0.0, move |_, _, _| {
            Some(before_agent_reply::Answer { handled: true, reply: Some(reply.clone()), reason: None })
        })
        .plugin::<hook::MessageSending, _>("p", 0.0, |_, _, _| rewrite(""))
        .chat();
    let outcome = chat.user("go").await;
    assert_eq!(only(&outcome), (DeliveryStatus::Sent, Some(""), None));
}

/// Each handler sees the newest payload.
#[tokio::test]
async fn payloads_are_reshaped_before_their_text_is_filtered() {
    let chat = Setup::new([says("o")])
        .plugin::<hook::ReplyPayloadSending, _>("one", 10.0, |_, _, _| {
            let payload = Some(ReplyPayload::text("x"));
            Some(reply_payload_sending::Answer { payload, ..Default::default() })
        })
        .plugin::<hook::ReplyPayloadSending, _>("two", 0.0, |event, _, _| {
            let text = format!("{}!", event.payload.text.as_deref().unwrap_or_default());
            Some(reply_payload_sending::Answer { payload: Some(ReplyPayload::text(text)), ..Default::default() })
        })
        .plugin::<hook::MessageSending, _>("three", 0.0, |event, _, _| rewrite(&format!("<{}>", event.content)))
        .chat();
    let outcome = chat.user("go").await;
    assert_eq!(chat.sent(), ["<x!>"]);
    assert_eq!(outcome.payloads, [ReplyPayload::text("o")], "the outcome has what the run made");
}

#[tokio::test]
async fn a_cancelled_payload_is_not_filtered_any_more() {
    let (asked, spy) = seen::<hook::MessageSending>();
    let chat = Setup::new([says("o")])
        .plugin::<hook::ReplyPayloadSending, _>("p", 0.0, |_, _, _| {
            Some(reply_payload_sending::Answer { cancel: true, ..Default::default() })
        })
        .plugin::<hook::MessageSending, _>("spy", 0.0, spy)
        .chat();
    let outcome = chat.user("go").await;
    assert_eq!(only(&outcome).2, Some("cancelled_by_reply_payload_sending_hook"));
    assert_eq!(asked.lock().unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_filter_that_fails_or_hangs_is_passed_over() {
    for hangs in [true, false] {
        let chat = Setup::new([says("o")])
            .plugin::<hook::MessageSending, _>("bad", 10.0, move |_, _, _| match hangs {
                true => Verdict::Hangs,
                false => Verdict::Faults(Fault::new(FaultKind::Trap, "unreachable")),
            })
            .chat();
        chat.user("go").await;
        assert_eq!(chat.sent(), ["o"]);
    }
}

/// Each payload has its own delivery: an error text and half an answer, of which the first is cancelled.
#[tokio::test]
async fn what_becomes_of_one_payload_changes_nothing_for_the_next() {
    use domain::model::FailureClass;
    let half = || Setup::new([says("half").then_fails(FailureClass::Timeout, "gone")]);
    let with = |bad: fn() -> Verdict<message_sending::Answer>| {
        half()
            .plugin::<hook::MessageSending, _>("p", 0.0, move |event, _, _| match event.content.as_str() {
                "half" => Verdict::Answers(None),
                _ => bad(),
            })
            .chat()
    };
    let statuses = async |chat: Chat| {
        let outcome = chat.user("go").await;
        assert_eq!(chat.sent(), ["half"]);
        outcome.deliveries.into_iter().map(|delivery| delivery.status).collect::<Vec<_>>()
    };
    let cancelled = with(|| Verdict::Answers(cancel()));
    assert_eq!(statuses(cancelled).await, [DeliveryStatus::Suppressed, DeliveryStatus::Sent]);
    let panicking = with(|| panic!("as planned"));
    assert_eq!(statuses(panicking).await, [DeliveryStatus::Failed, DeliveryStatus::Sent]);
}

#[tokio::test]
async fn a_channel_that_panics_is_a_failed_delivery() {
    let (told, watch) = seen::<hook::MessageSent>();
    let chat = Setup::new([says("o")]).channel(PanickingChannel).plugin::<hook::MessageSent, _>("w", 0.0, watch).chat();
    let outcome = chat.user("go").await;
    assert_eq!(outcome.status, RunStatus::Done);
    assert_eq!(only(&outcome), (DeliveryStatus::Failed, Some("o"), Some("the channel failed inside the host")));
    assert!(!told.lock().unwrap()[0].success);
}

#[tokio::test(start_paused = true)]
async fn a_channel_that_never_answers_is_left() {
    let chat = Setup::new([says("o")]).channel(Nothing).chat();
    let started = tokio::time::Instant::now();
    let outcome = chat.user("go").await;
    assert_eq!(started.elapsed(), SEND_LIMIT);
    assert_eq!(only(&outcome).0, DeliveryStatus::Failed);
}

#[tokio::test]
async fn replies_go_to_whoever_wrote() {
    let chat = Setup::new([says("o")])
        .plugin::<hook::MessageSending, _>("p", 0.0, |event, context, _| {
            assert_eq!(event.to, "alice");
            assert_eq!(context.sender_id.as_deref(), Some("alice"));
            assert_eq!(
                event.metadata.as_ref().unwrap().to_value(),
                json!({"channel": "fake", "accountId": null, "mediaUrls": []})
            );
            None
        })
        .chat();
    chat.send(agent::RunRequest { from: "alice".into(), ..agent::RunRequest::new("go", crate::support::key()) }).await;
    assert_eq!(chat.sent(), ["o"]);
}
