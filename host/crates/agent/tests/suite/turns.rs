//! Ordinary turns: the order of hooks, rows and requests, prompts, and what a model may ask for.

use domain::message::{AgentMessage, ContentBlock, StopReason};
use domain::model::ModelRef;
use domain::session::TranscriptEvent;
use hooks::catalogue as hook;
use hooks::events::{
    agent_turn_prepare, before_agent_finalize, before_agent_start, before_message_write, before_model_resolve,
    before_prompt_build,
};
use serde_json::{Value, json};

use crate::support::{FakeTool, Setup, calls, line, says, says_nothing, seen};

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

/// Texts of the turn reach the model around the prompt, in the order in which their hooks run, and are not stored.
#[tokio::test]
async fn hooks_shape_the_prompt_of_the_turn_only() {
    let (starts, legacy) = seen::<hook::BeforeAgentStart>();
    let chat = Setup::new([says("One."), says("Two.")])
        .plugin::<hook::AgentTurnPrepare, _>("p", 0.0, |event, _, _| {
            let prepend_context = Some(format!("prepare {}", event.prompt));
            Some(agent_turn_prepare::Answer { prepend_context, append_context: Some("after".into()) })
        })
        .plugin::<hook::BeforePromptBuild, _>("p", 0.0, |event, _, _| {
            assert_eq!(event.tool_authority, None);
            Some(before_prompt_build::Answer {
                prepend_context: Some(format!("build {}", event.messages.len())),
                prepend_system_context: Some("A".into()),
                system_prompt: Some("S".into()),
                append_system_context: Some("Z".into()),
                ..Default::default()
            })
        })
        .plugin::<hook::BeforeAgentStart, _>("p", 0.0, move |event, context, invocation| {
            legacy(event, context, invocation);
            let prompt = before_prompt_build::Answer { prepend_context: Some("legacy".into()), ..Default::default() };
            Some(before_agent_start::Answer { prompt, ..Default::default() })
        })
        .chat();
    chat.user("hello").await;
    assert_eq!(chat.request(1), ["user: prepare hello\n\nbuild 0\n\nlegacy\n\nhello\n\nafter"]);
    assert_eq!(chat.raw_request(1).system_prompt.as_deref(), Some("A\n\nS\n\nZ"));
    assert_eq!(starts.lock().unwrap().len(), 1, "an answer of the first phase is kept for the second");

    chat.user("again").await;
    assert_eq!(chat.request(2)[..2], ["user: hello", "assistant: One."]);
    assert_eq!(chat.request(2)[2], "user: prepare again\n\nbuild 2\n\nlegacy\n\nagain\n\nafter");
    assert_eq!(chat.raw_request(2).system_prompt, chat.raw_request(1).system_prompt);
    assert_eq!(chat.rows(), ["user: hello", "assistant: One.", "user: again", "assistant: Two."]);
}

#[tokio::test]
async fn a_model_is_chosen_for_one_run() {
    let chat = Setup::new([says("a")])
        .plugin::<hook::BeforeModelResolve, _>("router", 0.0, |event, _, _| {
            let model_override = event.prompt.contains("hard").then(|| "large".to_owned());
            Some(before_model_resolve::Answer { provider_override: None, model_override })
        })
        .plugin::<hook::BeforeAgentStart, _>("old", 0.0, |_, _, _| {
            let model = before_model_resolve::Answer {
                provider_override: Some("other".into()),
                model_override: Some("ignored where the newer hook speaks".into()),
            };
            Some(before_agent_start::Answer { model, ..Default::default() })
        })
        .chat();
    let outcome = chat.user("a hard question").await;
    assert_eq!(chat.raw_request(1).model, ModelRef::new("other", "large"));
    assert_eq!(outcome.model, Some(ModelRef::new("other", "large")));
    assert_eq!(chat.entry().await.extra["model"], "large");
}

#[tokio::test]
async fn a_hook_narrows_the_tools_and_adds_none() {
    let allow = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let hidden = FakeTool::answering("hidden", "x").with_spec(|spec| spec.optional = true);
    let chat = Setup::new([calls([("c1", "write", json!({}))]), says("I may not.")])
        .tool(&FakeTool::answering("read", "r"))
        .tool(&FakeTool::answering("write", "w"))
        .tool(&hidden)
        .plugin::<hook::BeforePromptBuild, _>("p", 0.0, move |_, _, _| {
            Some(before_prompt_build::Answer { tools_allow: allow(&["read", "hidden"]), ..Default::default() })
        })
        .chat();
    chat.user("write").await;
    let offered: Vec<_> = chat.raw_request(1).tools.into_iter().map(|tool| tool.name).collect();
    assert_eq!(offered, ["read"]);
    assert_eq!(chat.rows()[2], "error c1: there is no tool `write`; the tools are: read");
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

#[tokio::test]
async fn a_refused_prompt_is_replaced_in_its_place_and_the_text_of_the_turn_stays() {
    let chat = Setup::new([calls([("c1", "look", json!({}))]), says("Done.")])
        .tool(&FakeTool::answering("look", "x"))
        .plugin::<hook::AgentTurnPrepare, _>("p", 0.0, |_, _, _| {
            Some(agent_turn_prepare::Answer { prepend_context: Some("context".into()), append_context: None })
        })
        .plugin::<hook::BeforeMessageWrite, _>("guard", 0.0, |event, _, _| {
            let block = event.message.text().contains("password");
            Some(before_message_write::Answer { block, message: None })
        })
        .chat();
    chat.remembers_messages([json!({"role": "user", "content": "old"}), json!({"role": "assistant", "content": "answer"})]).await;
    chat.user("my password is x").await;
    let prompt = "user: context\n\n(the message was withheld)";
    assert_eq!(chat.request(1), ["user: old", "assistant: answer", prompt]);
    assert_eq!(chat.request(2), ["user: old", "assistant: answer", prompt, "assistant: [c1 look {}]", "result c1: x"]);
    assert!(chat.rows().iter().all(|row| !row.contains("password")));
}

#[tokio::test]
async fn the_last_gate_sees_what_the_model_would_get() {
    let (gates, watch) = seen::<hook::BeforeAgentRun>();
    let chat = Setup::new([says("ok")])
        .plugin::<hook::AgentTurnPrepare, _>("p", 0.0, |_, _, _| {
            Some(agent_turn_prepare::Answer { prepend_context: Some("context".into()), append_context: None })
        })
        .plugin::<hook::BeforeAgentRun, _>("gate", 0.0, watch)
        .chat();
    chat.remembers_messages([json!({"role": "user", "content": "old"}), json!({"role": "assistant", "content": "answer"})]).await;
    chat.user("new").await;
    let gate = gates.lock().unwrap()[0].clone();
    let messages = gate.messages.iter().map(|json| line(&AgentMessage::from_value(json.to_value()).unwrap()));
    assert_eq!(messages.collect::<Vec<_>>(), chat.request(1));
    assert_eq!(gate.prompt, "context\n\nnew");
    assert_eq!(gate.system_prompt, chat.raw_request(1).system_prompt);
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
async fn sessions_023_a_missing_result_is_made_up_behind_the_real_one() {
    let chat = Setup::new([says("ok")]).chat();
    let two_calls = json!([
        {"type": "toolCall", "id": "a", "name": "look", "arguments": {}},
        {"type": "toolCall", "id": "b", "name": "look", "arguments": {}},
    ]);
    let before: [Value; 3] = [
        json!({"role": "user", "content": "go"}),
        json!({"role": "assistant", "content": two_calls, "stopReason": "toolUse"}),
        json!({"role": "toolResult", "toolCallId": "a", "toolName": "look", "content": "seen"}),
    ];
    chat.remembers_messages(before).await;
    chat.user("and?").await;
    let request = chat.request(1);
    assert_eq!(request[2..], ["result a: seen", "error b: No result was recorded for this tool call.", "user: and?"]);
    assert_eq!(chat.rows().len(), 3 + 2, "what was made up is not stored");
}

#[tokio::test]
async fn sessions_024_a_result_without_a_call_is_left_out_and_its_row_stays() {
    let chat = Setup::new([says("ok")]).chat();
    chat.remembers_messages([
        json!({"role": "user", "content": "go"}),
        json!({"role": "toolResult", "toolCallId": "z", "toolName": "look", "content": "stray"}),
    ])
    .await;
    let before = chat.raw_rows();
    chat.user("and?").await;
    assert_eq!(chat.request(1), ["user: go", "user: and?"]);
    assert_eq!(chat.raw_rows()[..before.len()], before);
}

#[tokio::test]
async fn sessions_025_calls_of_an_aborted_message_are_not_replayed() {
    let chat = Setup::new([says("ok")]).chat();
    let content = json!([{"type": "text", "text": "half"}, {"type": "toolCall", "id": "a", "name": "look", "arguments": {}}]);
    chat.remembers_messages([
        json!({"role": "user", "content": "go"}),
        json!({"role": "assistant", "content": content, "stopReason": "aborted"}),
    ])
    .await;
    chat.user("and?").await;
    assert_eq!(chat.request(1), ["user: go", "assistant (aborted): half", "user: and?"]);
}

#[tokio::test]
async fn sessions_030_custom_data_stays_out_of_the_context_and_custom_messages_are_in() {
    let chat = Setup::new([says("ok")]).chat();
    chat.remembers([
        TranscriptEvent::Custom { custom_type: "state".into(), data: json!({"secret": 1}) },
        TranscriptEvent::CustomMessage { custom_type: "news".into(), content: "it rains".into(), display: false },
    ])
    .await;
    chat.user("and?").await;
    assert_eq!(chat.request(1), ["user: it rains", "user: and?"]);
}
