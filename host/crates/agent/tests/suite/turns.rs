//! Ordinary turns: the order of hooks, rows and requests, what a model may ask for, and what watchers see of it.

use agent::RunRequest;
use domain::message::{ContentBlock, StopReason};
use hooks::catalogue as hook;
use hooks::context::Trigger;
use serde_json::json;

use crate::support::{FakeTool, Setup, calls, key, says, says_nothing, seen};

#[tokio::test]
async fn every_hook_fires_in_its_place() {
    let look = FakeTool::answering("look", "blue");
    let exec = FakeTool::answering("exec", "done");
    let wanted = [("c1", "look", json!({})), ("c2", "exec", json!({}))];
    let chat = Setup::new([calls(wanted), says("It is blue.")]).tool(&look).tool(&exec).recorder().chat();
    chat.user("What colour is the sky?").await;

    let watching = [
        "message_received",
        "session_start",
        "llm_input",
        "model_call_started",
        "model_call_ended",
        "llm_output",
        "after_tool_call",
        "agent_end",
        "message_sent",
    ];
    let (observed, decided): (Vec<_>, Vec<_>) = chat.journal().into_iter().partition(|name| watching.contains(&name.as_str()));
    assert_eq!(
        decided,
        [
            "before_agent_reply",
            "before_model_resolve",
            "before_agent_start", // without messages; it had no opinion
            "agent_turn_prepare",
            "before_prompt_build",
            "before_agent_start", // so it is asked again, with messages
            "before_agent_run",
            "before_message_write", // the user
            "before_message_write", // the assistant
            "before_tool_call",
            "before_tool_call",
            "resolve_exec_env", // only for exec
            "tool_result_persist",
            "before_message_write",
            "tool_result_persist",
            "before_message_write",
            "before_message_write", // the answer
            "before_agent_finalize",
            "reply_payload_sending",
            "message_sending",
        ]
    );
    assert_eq!(
        observed,
        [
            "message_received",
            "session_start",
            "llm_input",
            "model_call_started",
            "model_call_ended",
            "llm_output",
            "after_tool_call",
            "after_tool_call",
            "llm_input",
            "model_call_started",
            "model_call_ended",
            "llm_output",
            "agent_end",
            "message_sent",
        ]
    );
}

#[tokio::test]
async fn a_turn_leaves_rows_and_requests_are_made_of_them() {
    let look = FakeTool::answering("look", "blue").with_result(|result| result.details = Some(json!({"nm": 470})));
    let chat =
        Setup::new([calls([("c1", "look", json!({"at": "sky"}))]).after_saying("Let me look."), says("Blue."), says("Yes.")])
            .tool(&look)
            .chat();
    let outcome = chat.user("What colour is the sky?").await;
    assert_eq!((outcome.model_calls, outcome.tool_calls), (2, 1));
    let turn = [
        "user: What colour is the sky?",
        r#"assistant: Let me look. [c1 look {"at":"sky"}]"#,
        "result c1: blue",
        "assistant: Blue.",
    ];
    assert_eq!(chat.rows(), turn);
    assert_eq!(chat.request(1), turn[..1]);
    assert_eq!(chat.request(2), turn[..3]);
    assert_eq!(chat.sent(), ["Blue."], "what was said before the tools is not the answer");

    chat.user("Sure?").await;
    assert_eq!(chat.request(3), [&turn[..], &["user: Sure?"]].concat());
    let parents: Vec<_> = chat.raw_rows().windows(2).map(|rows| rows[1].parent_id == Some(rows[0].id.clone())).collect();
    assert!(parents.into_iter().all(|is_child| is_child));
}

/// Two model calls, their usage, and what the session entry holds of them.
#[tokio::test]
async fn loop_039_usage_is_summed_and_kept() {
    let chat = Setup::new([calls([("c1", "look", json!({}))]).usage(100, 10), says("Done.").usage(200, 20)])
        .tool(&FakeTool::answering("look", "x"))
        .chat();
    let outcome = chat.user("go").await;
    let texts: Vec<_> = outcome.payloads.iter().map(|payload| payload.text.as_deref()).collect();
    assert_eq!(texts, [Some("Done.")]);
    assert_eq!((outcome.usage.input, outcome.usage.output), (Some(300), Some(30)));
    assert_eq!((outcome.last_call_usage.input, outcome.last_call_usage.output), (Some(200), Some(20)));
    let entry = chat.entry().await;
    assert_eq!((entry.input_tokens, entry.output_tokens), (300, 30));
}

/// T4: calls of a message that did not end for tools neither run nor stay.
#[tokio::test]
async fn calls_run_only_if_the_message_ended_for_tools() {
    let look = FakeTool::answering("look", "x");
    let cut = calls([("c1", "look", json!({}))]).after_saying("I was about to").with_reason(StopReason::Length);
    let chat = Setup::new([cut]).tool(&look).chat();
    chat.user("go").await;
    assert_eq!(look.ran().len(), 0);
    assert_eq!(chat.rows(), ["user: go", "assistant: I was about to"]);
    assert_eq!(chat.sent(), ["I was about to"]);
}

/// The model must hear of arguments that did not parse, or it would send them again for ever.
#[tokio::test]
async fn the_model_hears_that_its_arguments_are_no_object() {
    let look = FakeTool::answering("look", "x");
    let (ends, watch) = seen::<hook::AfterToolCall>();
    let chat = Setup::new([calls([("c1", "look", json!("{\"at\": "))]), says("Sorry.")])
        .tool(&look)
        .plugin::<hook::AfterToolCall, _>("w", 0.0, watch)
        .chat();
    chat.user("go").await;
    assert_eq!(look.ran().len(), 0);
    assert_eq!(chat.request(2)[1..], ["assistant: [c1 look {}]", "error c1: the arguments are no object"]);
    assert_eq!(ends.lock().unwrap()[0].params.as_str(), "{}");
}

#[tokio::test]
async fn observers_of_model_calls_see_history_prompt_and_pictures_apart() {
    let (inputs, watch_inputs) = seen::<hook::LlmInput>();
    let (outputs, watch_outputs) = seen::<hook::LlmOutput>();
    let picture =
        FakeTool::answering("draw", "here").with_result(|result| result.content.push(ContentBlock::image("QQ==", "image/png")));
    let chat = Setup::new([calls([("c1", "draw", json!({}))]).after_saying("Drawing.").usage(1, 2), says("A cat.")])
        .tool(&picture)
        .plugin::<hook::LlmInput, _>("w", 0.0, watch_inputs)
        .plugin::<hook::LlmOutput, _>("w", 0.0, watch_outputs)
        .chat();
    let old = json!([{"type": "text", "text": "old"}, {"type": "image", "data": "QQ==", "mimeType": "image/png"}]);
    chat.remembers_messages([json!({"role": "user", "content": old}), json!({"role": "assistant", "content": "answer"})]).await;
    chat.user("Draw a cat").await;
    let inputs = inputs.lock().unwrap();
    let shape: Vec<_> =
        inputs.iter().map(|input| (input.prompt.as_str(), input.history_messages.len(), input.images_count)).collect();
    assert_eq!(shape, [("Draw a cat", 2, 0), ("Draw a cat", 5, 1)]);
    assert_eq!(inputs[0].tools.as_ref().map(|tools| tools.len()), Some(1));
    let outputs = outputs.lock().unwrap();
    assert_eq!(outputs[0].assistant_texts, ["Drawing."]);
    assert_eq!(outputs[0].usage.and_then(|usage| usage.input), Some(1));
    assert_eq!(outputs[1].assistant_texts, ["A cat."]);
}

#[tokio::test]
async fn a_failed_tool_is_told_if_nothing_else_is() {
    for (answer, report, expected) in [
        (says_nothing(), true, vec!["The tool `look` failed, and there is no answer beside that."]),
        (says_nothing(), false, vec![]),
        (says("NO_REPLY"), true, vec![]),
        (says("It did not work."), true, vec!["It did not work."]),
    ] {
        let chat = Setup::new([calls([("c1", "look", json!({}))]), answer])
            .tool(&FakeTool::failing("look", "too dark"))
            .settings(|settings| settings.report_tool_errors = report)
            .chat();
        chat.user("go").await;
        assert_eq!(chat.sent(), expected);
        assert_eq!(chat.rows()[2], "error c1: too dark");
    }
}

#[tokio::test]
async fn a_failure_that_a_later_call_made_good_is_not_told() {
    let chat = Setup::new([calls([("c1", "bad", json!({})), ("c2", "good", json!({}))]), says_nothing()])
        .tool(&FakeTool::failing("bad", "too dark"))
        .tool(&FakeTool::answering("good", "x"))
        .chat();
    chat.user("go").await;
    assert!(chat.sent().is_empty());
}

#[tokio::test]
async fn only_people_keep_a_session_fresh() {
    let chat = Setup::new([says("a"), says("b")]).chat();
    chat.remembers([]).await;
    chat.send(RunRequest { trigger: Trigger::Heartbeat, ..RunRequest::new("tick", key()) }).await;
    assert_eq!(chat.entry().await.last_interaction_at, 1);
    chat.user("Hi").await;
    assert_eq!(chat.entry().await.last_interaction_at, 1_000);
}

#[tokio::test]
async fn plugins_hear_who_wrote_what_and_where() {
    let setup = Setup::new([says("a")]);
    let journal = setup.journal.clone();
    let chat = setup
        .plugin::<hook::MessageReceived, _>("w", 0.0, move |event, context, _| {
            let run = context.run_id.as_ref().unwrap();
            journal.note(format!(
                "{} says {:?} in {} to {} for {run}",
                event.from,
                event.content,
                context.channel_id,
                context.session_key.as_ref().unwrap()
            ));
            assert_eq!(context.sender_id.as_deref(), Some("alice"));
            journal.note("known");
            None
        })
        .chat();
    let outcome = chat.send(RunRequest { from: "alice".into(), ..RunRequest::new("Hi", key()) }).await;
    let heard = format!("alice says \"Hi\" in fake to agent:main:main for {}", outcome.run_id);
    assert_eq!(chat.journal(), [heard.as_str(), "known"]);
}
