//! What plugins make of a prompt: texts around it, the system prompt, the model, the tools.

use agent::RunRequest;
use domain::message::{AgentMessage, ImageBlock};
use domain::model::ModelRef;
use hooks::catalogue as hook;
use hooks::events::{agent_turn_prepare, before_agent_start, before_message_write, before_model_resolve, before_prompt_build};
use serde_json::json;

use crate::support::{FakeTool, Setup, calls, key, says, seen};

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
async fn the_newer_hook_s_provider_counts_before_the_old_one_s() {
    let provider = |name: &str| before_model_resolve::Answer { provider_override: Some(name.into()), model_override: None };
    let chat = Setup::new([says("a")])
        .plugin::<hook::BeforeAgentStart, _>("old", 10.0, move |_, _, _| {
            Some(before_agent_start::Answer { model: provider("stub"), ..Default::default() })
        })
        .plugin::<hook::BeforeModelResolve, _>("new", 0.0, move |_, _, _| Some(provider("other")))
        .chat();
    chat.user("go").await;
    assert_eq!(chat.raw_request(1).model, ModelRef::new("other", "model"));
}

/// Handlers of the second phase know the final tools, and only their text of the turn counts.
#[tokio::test]
async fn handlers_with_tool_authority_run_when_the_tools_are_final() {
    let (asked, watch) = seen::<hook::BeforePromptBuild>();
    let chat = Setup::new([says("a"), says("b")])
        .tool(&FakeTool::answering("read", "r"))
        .plugin_with_authority::<hook::BeforePromptBuild, _>("late", move |event, context, invocation| {
            watch(event, context, invocation);
            Some(before_prompt_build::Answer {
                prepend_context: Some("late".into()),
                system_prompt: Some("IGNORED".into()),
                tools_allow: Some(Vec::new()),
                ..Default::default()
            })
        })
        .chat();
    chat.user("one").await;
    chat.user("two").await;
    assert_eq!(chat.request(1), ["user: late\n\none"]);
    assert!(!chat.raw_request(1).system_prompt.unwrap().contains("IGNORED"));
    assert_eq!(chat.raw_request(1).tools.len(), 1);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), 2, "once per run");
    assert!(asked[0].tool_authority.is_some() && asked[0].tool_authority == asked[1].tool_authority);
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
    let images = vec![ImageBlock { data: "QQ==".into(), mime_type: "image/png".into(), extra: Default::default() }];
    chat.send(RunRequest { images, ..RunRequest::new("new", key()) }).await;
    let gate = gates.lock().unwrap()[0].clone();
    let messages = gate.messages.iter().map(|json| AgentMessage::from_value(json.to_value()).unwrap());
    assert_eq!(messages.collect::<Vec<_>>(), chat.raw_request(1).messages, "pictures included");
    assert_eq!(gate.prompt, "context\n\nnew");
    assert_eq!(gate.system_prompt, chat.raw_request(1).system_prompt);
}
