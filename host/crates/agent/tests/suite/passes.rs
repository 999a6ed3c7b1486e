//! Further passes that plugins ask for before an answer is accepted.

use domain::message::AgentMessage;
use hooks::catalogue as hook;
use hooks::events::{before_agent_finalize, before_message_write};

use crate::support::{Setup, says, seen};

#[tokio::test]
async fn a_plugin_asks_for_another_pass_until_its_budget_is_spent() {
    let (asked, watch) = seen::<hook::BeforeAgentFinalize>();
    let chat = Setup::new([says("Draft."), says("Better.")])
        .plugin::<hook::BeforeAgentFinalize, _>("critic", 0.0, move |event, context, invocation| {
            watch(event, context, invocation);
            let retry =
                before_agent_finalize::Retry { instruction: "Give a source.".into(), idempotency_key: None, max_attempts: None };
            Some(before_agent_finalize::Answer {
                action: Some(before_agent_finalize::Action::Revise),
                reason: Some("No source.".into()),
                retry: Some(retry),
            })
        })
        .chat();
    let outcome = chat.user("Who was it?").await;
    assert_eq!(
        chat.rows(),
        ["user: Who was it?", "assistant: Draft.", "note revise: No source.\n\nGive a source.", "assistant: Better."]
    );
    assert_eq!(chat.request(2)[2], "user: No source.\n\nGive a source.");
    assert_eq!(chat.sent(), ["Better."]);
    assert_eq!(outcome.model_calls, 2);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.iter().map(|event| event.stop_hook_active).collect::<Vec<_>>(), [false, true]);
    assert_eq!(asked[1].last_assistant_message.as_deref(), Some("Better."));
    assert_eq!(asked[1].messages.as_ref().unwrap().len(), 4);
}

#[tokio::test]
async fn three_passes_are_the_most_and_finalize_beats_revise() {
    let revise = |reason: String| {
        let action = Some(before_agent_finalize::Action::Revise);
        Some(before_agent_finalize::Answer { action, reason: Some(reason), retry: None })
    };
    let chat = Setup::new([says("1"), says("2"), says("3"), says("4")])
        .plugin::<hook::BeforeAgentFinalize, _>("critic", 0.0, move |event, _, _| {
            revise(format!("{:?}", event.last_assistant_message))
        })
        .chat();
    assert_eq!(chat.user("go").await.model_calls, 4);
    assert_eq!(chat.sent(), ["4"]);

    let chat = Setup::new([says("1")])
        .plugin::<hook::BeforeAgentFinalize, _>("critic", 10.0, move |_, _, _| revise("r".to_owned()))
        .plugin::<hook::BeforeAgentFinalize, _>("boss", 0.0, |_, _, _| {
            let action = Some(before_agent_finalize::Action::Finalize);
            Some(before_agent_finalize::Answer { action, ..Default::default() })
        })
        .chat();
    assert_eq!(chat.user("go").await.model_calls, 1);
}

/// A note for another pass is a row like others: guards see it, rewrite it, refuse it.
#[tokio::test]
async fn guards_of_rows_see_the_note_for_another_pass() {
    let with_guard = |guard: fn(&before_message_write::Event) -> before_message_write::Answer| {
        Setup::new([says("Draft."), says("Better.")])
            .plugin::<hook::BeforeAgentFinalize, _>("critic", 0.0, |_, _, _| {
                let action = Some(before_agent_finalize::Action::Revise);
                Some(before_agent_finalize::Answer { action, reason: Some("token=abc".into()), retry: None })
            })
            .plugin::<hook::BeforeMessageWrite, _>("guard", 0.0, move |event, _, _| Some(guard(event)))
            .chat()
    };
    let rewriting = with_guard(|event| {
        let AgentMessage::Custom(map) = &event.message else { return before_message_write::Answer::default() };
        assert_eq!(map["customType"], "revise");
        let mut map = map.clone();
        map.insert("content".into(), "token=***".into());
        before_message_write::Answer { block: false, message: Some(AgentMessage::Custom(map)) }
    });
    rewriting.user("go").await;
    assert_eq!(rewriting.rows()[2], "note revise: token=***");
    assert_eq!(rewriting.request(2)[2], "user: token=***");

    let refusing = with_guard(|event| before_message_write::Answer { block: event.message.role() == "custom", message: None });
    let outcome = refusing.user("go").await;
    assert_eq!(outcome.model_calls, 1, "without its note a pass would ask the model to answer itself");
    assert_eq!(refusing.sent(), ["Draft."]);
}
