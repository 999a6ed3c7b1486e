//! Turns that a plugin ends before the model is asked: claims and refusals.

use agent::RunRequest;
use domain::message::AgentMessage;
use domain::payload::ReplyPayload;
use domain::session::{RunStatus, TranscriptEvent};
use hooks::catalogue as hook;
use hooks::context::Trigger;
use hooks::events::{before_agent_reply, before_agent_run};
use hooks::{Fault, FaultKind};
use serde_json::json;

use crate::support::{Setup, Verdict, key, says, seen};

fn claim(reply: Option<ReplyPayload>) -> Option<before_agent_reply::Answer> {
    Some(before_agent_reply::Answer { handled: true, reply, reason: Some("for the log".into()) })
}

#[tokio::test]
async fn loop_029_a_claimed_turn_calls_no_model() {
    let chat = Setup::new([])
        .plugin::<hook::BeforeAgentReply, _>("responder", 0.0, |event, _, _| {
            claim(Some(ReplyPayload::text(format!("You said: {}", event.cleaned_body))))
        })
        .chat();
    let outcome = chat.user("Hi").await;
    assert_eq!(chat.model.requests().len(), 0);
    assert_eq!(chat.sent(), ["You said: Hi"]);
    assert_eq!(chat.events(), ["start", "end"]);
    assert_eq!((outcome.status, outcome.model), (RunStatus::Done, None));
}

#[tokio::test]
async fn loop_071_claimed_turns_are_known_to_later_ones() {
    let chat = Setup::new([says("Three.")])
        .plugin::<hook::BeforeAgentReply, _>("responder", 0.0, |event, _, _| match event.cleaned_body.as_str() {
            "one" => claim(Some(ReplyPayload::text("One it is."))),
            "two" => claim(None),
            _ => None,
        })
        .chat();
    for text in ["one", "two", "three"] {
        chat.user(text).await;
    }
    // The store refuses rows of a run that does not own the session, so each of these was appended by its owner.
    let rows = ["user: one", "assistant: One it is.", "user: two", "assistant: NO_REPLY", "user: three", "assistant: Three."];
    assert_eq!(chat.rows(), rows);
    assert_eq!(chat.request(1), rows[..5]);
    assert_eq!(chat.sent(), ["One it is.", "Three."]);
    let TranscriptEvent::Message { message: AgentMessage::Assistant(reply) } = &chat.raw_rows()[2].event else { panic!() };
    assert_eq!(reply.extra["origin"], "before_agent_reply");
}

#[tokio::test]
async fn a_claim_is_asked_for_before_everything_else_and_ends_the_turn() {
    let (ends, watch) = seen::<hook::AgentEnd>();
    let chat = Setup::new([])
        .plugin::<hook::AgentEnd, _>("w", 0.0, watch)
        .recorder()
        .plugin::<hook::BeforeAgentReply, _>("late", -1.0, |_, _, _| claim(None))
        .chat();
    let outcome = chat.user("Hi").await;
    assert_eq!(chat.journal()[0], "before_agent_reply");
    let others: Vec<_> = chat.journal().into_iter().skip(1).collect();
    for hook in ["before_model_resolve", "before_prompt_build", "before_agent_run", "llm_input", "before_agent_finalize"] {
        assert!(!others.contains(&hook.to_owned()), "{hook}");
    }
    assert!(chat.sent().is_empty() && outcome.payloads.is_empty(), "a silenced turn says nothing");
    let ends = ends.lock().unwrap();
    assert!(ends[0].success && ends[0].messages.len() == 2);
}

#[tokio::test]
async fn only_turns_of_people_jobs_and_the_heartbeat_can_be_claimed() {
    for (trigger, is_claimed) in
        [(Trigger::User, true), (Trigger::Cron, true), (Trigger::Heartbeat, true), (Trigger::Other("webhook".into()), false)]
    {
        let chat = Setup::new([says("from the model")])
            .plugin::<hook::BeforeAgentReply, _>("responder", 0.0, |_, _, _| claim(Some(ReplyPayload::text("claimed"))))
            .chat();
        chat.send(RunRequest { trigger, ..RunRequest::new("Hi", key()) }).await;
        assert_eq!(chat.sent(), [if is_claimed { "claimed" } else { "from the model" }]);
    }
}

/// A final text that is the silent token: (a) alone, from the model; (b) with media, which only a plugin's reply can carry.
#[tokio::test]
async fn loop_020_a_silent_text_is_not_sent_and_its_media_are() {
    let chat = Setup::new([says("  no_reply\n")]).chat();
    let outcome = chat.user("psst").await;
    assert_eq!(outcome.payloads, []);
    assert_eq!(chat.rows()[1], "assistant:   no_reply\n");

    let with_media = ReplyPayload {
        text: Some("  no_reply\n".into()),
        media_urls: vec!["https://x/cat.png".into()],
        ..ReplyPayload::default()
    };
    let chat = Setup::new([])
        .plugin::<hook::BeforeAgentReply, _>("responder", 0.0, move |_, _, _| claim(Some(with_media.clone())))
        .chat();
    let outcome = chat.user("psst").await;
    let media_only = ReplyPayload { media_urls: vec!["https://x/cat.png".into()], ..ReplyPayload::default() };
    assert_eq!(outcome.payloads, [media_only]);
    assert_eq!(chat.rows()[1], "assistant:   no_reply\n");
}

#[tokio::test]
async fn a_reply_of_media_alone_is_not_stored_as_silence() {
    let reply = ReplyPayload { media_url: Some("https://x/cat.png".into()), ..ReplyPayload::default() };
    let chat =
        Setup::new([]).plugin::<hook::BeforeAgentReply, _>("responder", 0.0, move |_, _, _| claim(Some(reply.clone()))).chat();
    chat.user("Draw a cat").await;
    assert_eq!(chat.rows()[1], "assistant: [media: https://x/cat.png]");
}

#[tokio::test]
async fn marks_of_trust_are_not_taken_from_a_reply() {
    let mut reply = ReplyPayload::text("x");
    reply.extra.insert("trustedLocalMedia".into(), json!(true));
    reply.extra.insert("other".into(), json!(1));
    let chat =
        Setup::new([]).plugin::<hook::BeforeAgentReply, _>("responder", 0.0, move |_, _, _| claim(Some(reply.clone()))).chat();
    let outcome = chat.user("Hi").await;
    let keys: Vec<_> = outcome.payloads[0].extra.keys().collect();
    assert_eq!(keys, ["other"]);
}

fn block(message: Option<&str>) -> Option<before_agent_run::Answer> {
    Some(before_agent_run::Answer::Block(before_agent_run::Block {
        reason: "CLASSIFIED".into(),
        message: message.map(str::to_owned),
        category: Some("policy".into()),
        metadata: Some(domain::JsonText::from_value(&json!({"detail": "CLASSIFIED"}))),
    }))
}

#[tokio::test]
async fn a_blocked_run_keeps_neither_the_text_nor_the_reason() {
    let (ends, watch) = seen::<hook::AgentEnd>();
    let chat = Setup::new([])
        .plugin::<hook::BeforeAgentRun, _>("gate", 10.0, |_, _, _| block(Some("This cannot be discussed.")))
        .plugin::<hook::BeforeAgentRun, _>("spy", 0.0, |_, _, _| -> Option<before_agent_run::Answer> {
            panic!("asked after a block")
        })
        .plugin::<hook::AgentEnd, _>("w", 0.0, watch)
        .chat();
    let outcome = chat.user("the FORBIDDEN word").await;
    assert_eq!(chat.rows(), ["user: This cannot be discussed."]);
    assert_eq!(chat.sent(), ["This cannot be discussed."]);
    assert_eq!((outcome.status, outcome.model_calls, outcome.model.as_ref()), (RunStatus::Done, 0, None));
    let TranscriptEvent::Message { message: AgentMessage::User(row) } = &chat.raw_rows()[1].event else { panic!() };
    assert_eq!(row.extra["blocked"], json!({"by": "gate", "at": 1_000, "category": "policy"}));

    let entry = chat.entry().await;
    let everything = format!("{:?} {:?} {:?} {outcome:?} {entry:?}", chat.raw_rows(), chat.events(), ends.lock().unwrap());
    for word in ["FORBIDDEN", "CLASSIFIED"] {
        assert!(!everything.contains(word), "{word} in {everything}");
    }
    assert_eq!(chat.events(), ["start", "end"]);
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_fails_or_hangs_blocks() {
    for hangs in [false, true] {
        let chat = Setup::new([])
            .plugin::<hook::BeforeAgentRun, _>("gate", 0.0, move |_, _, _| match hangs {
                true => Verdict::Hangs,
                false => Verdict::Faults(Fault::new(FaultKind::Trap, "unreachable")),
            })
            .chat();
        chat.user("secret plans").await;
        assert_eq!(chat.rows(), ["user: This message was blocked by the plugin `gate`."]);
        assert_eq!(chat.sent(), ["This message was blocked by the plugin `gate`."]);
    }
}

#[tokio::test]
async fn a_block_without_a_text_names_the_plugin() {
    let chat = Setup::new([]).plugin::<hook::BeforeAgentRun, _>("gate", 0.0, |_, _, _| block(None)).chat();
    chat.user("x").await;
    assert_eq!(chat.rows(), ["user: This message was blocked by the plugin `gate`."]);
}
