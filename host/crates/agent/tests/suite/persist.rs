//! The two hooks that guard rows, and what the model gets of what they leave.

use domain::message::{AgentMessage, ContentBlock};
use hooks::catalogue as hook;
use hooks::events::{before_message_write, tool_result_persist};
use hooks::{Fault, FaultKind};
use serde_json::json;

use crate::support::{Chat, FakeTool, Setup, Verdict, calls, says, seen};

/// The message with its text changed.
fn edited(message: &AgentMessage, edit: impl Fn(&str) -> String) -> AgentMessage {
    let mut value = message.to_value();
    value["content"] = json!([{"type": "text", "text": edit(&message.text())}]);
    AgentMessage::from_value(value).unwrap()
}

fn persist(event: &tool_result_persist::Event, edit: impl Fn(&str) -> String) -> Option<tool_result_persist::Answer> {
    let message = edited(&AgentMessage::ToolResult(event.message.clone()), edit);
    Some(tool_result_persist::Answer { message })
}

fn one_call(result: &str) -> Setup {
    let tool = FakeTool::answering("read", result).with_result(|result| result.details = Some(json!({"raw": "token=abc"})));
    Setup::new([calls([("c1", "read", json!({}))]), says("I read it.")]).tool(&tool)
}

#[tokio::test]
async fn what_the_persist_hook_left_is_what_the_model_gets() {
    let chat = one_call("it says token=abc")
        .plugin::<hook::ToolResultPersist, _>("redactor", 0.0, |event, _, _| {
            assert!(!event.is_synthetic);
            persist(event, |text| text.replace("token=abc", "***"))
        })
        .chat();
    chat.user("read it").await;
    assert_eq!(chat.rows()[2], "result c1: it says ***");
    assert_eq!(chat.request(2)[2], "result c1: it says ***");
    assert_eq!(chat.tool_events()[1], "read c1 result it says token=abc", "the event is older than the hook");
    let requests = format!("{:?}", chat.model.requests());
    assert!(!requests.contains("token=abc"), "neither text nor details: {requests}");
}

#[tokio::test]
async fn the_chain_is_persist_then_write_and_each_sees_the_newest_message() {
    let append = |mark: &'static str| move |text: &str| format!("{text}{mark}");
    let chat = one_call("r SECRET ")
        .plugin::<hook::ToolResultPersist, _>("one", 10.0, move |event, _, _| {
            assert_eq!(event.message.content, [ContentBlock::text("r *** ")], "capped and masked before the hooks");
            persist(event, append("1"))
        })
        .plugin::<hook::ToolResultPersist, _>("two", 0.0, move |event, _, _| persist(event, append("2")))
        .plugin::<hook::BeforeMessageWrite, _>("three", 0.0, move |event, _, _| {
            let AgentMessage::ToolResult(_) = &event.message else { return None };
            let message = Some(edited(&event.message, append("3 SECRET")));
            Some(before_message_write::Answer { block: false, message })
        })
        .chat();
    chat.user("read it").await;
    assert_eq!(chat.rows()[2], "result c1: r *** 123 ***", "and capped and masked behind them");
}

#[tokio::test]
async fn a_refused_result_is_made_up_for_the_model_and_the_tool_has_run() {
    let tool = FakeTool::answering("read", "secret");
    let (spied, spy) = seen::<hook::BeforeMessageWrite>();
    let chat = Setup::new([calls([("c1", "read", json!({}))]), says("ok")])
        .tool(&tool)
        .plugin::<hook::BeforeMessageWrite, _>("guard", 10.0, |event, _, _| {
            Some(before_message_write::Answer { block: event.message.role() == "toolResult", message: None })
        })
        .plugin::<hook::BeforeMessageWrite, _>("spy", 0.0, spy)
        .chat();
    chat.user("read it").await;
    assert_eq!(tool.ran().len(), 1);
    assert_eq!(chat.rows(), ["user: read it", "assistant: [c1 read {}]", "assistant: ok"]);
    assert_eq!(chat.request(2)[2], "error c1: No result was recorded for this tool call.");
    assert_eq!(spied.lock().unwrap().iter().filter(|event| event.message.role() == "toolResult").count(), 0);
}

fn failing(required: bool) -> Chat {
    let fault = || Fault::new(FaultKind::Trap, "unreachable");
    let setup = one_call("it says token=abc")
        .plugin::<hook::ToolResultPersist, _>("redactor", 0.0, move |_, _, _| Verdict::Faults(fault()))
        .plugin::<hook::ToolResultPersist, _>("other", -1.0, |event, _, _| persist(event, |text| text.to_uppercase()));
    if required { setup.required("redactor").chat() } else { setup.chat() }
}

#[tokio::test]
async fn a_failing_redactor_is_passed_over_unless_it_is_required() {
    let chat = failing(false);
    chat.user("read it").await;
    assert_eq!(chat.rows()[2], "result c1: IT SAYS TOKEN=ABC", "changes of others are kept");

    let chat = failing(true);
    chat.user("read it").await;
    let placeholder = "result c1: [withheld: the required plugin `redactor` failed and could not check this content]";
    assert_eq!(chat.rows()[2], placeholder);
    assert_eq!(chat.request(2)[2], placeholder);
    let rows = format!("{:?}", chat.raw_rows());
    assert!(!rows.to_lowercase().contains("token=abc"), "neither text nor details: {rows}");
}

#[tokio::test(start_paused = true)]
async fn a_required_guard_of_rows_that_hangs_leaves_placeholders_everywhere() {
    let chat = Setup::new([calls([("c1", "read", json!({"path": "token=abc"}))]).after_saying("token=abc"), says("token=abc")])
        .tool(&FakeTool::answering("read", "token=abc"))
        .plugin::<hook::BeforeMessageWrite, _>("guard", 0.0, |_, _, _| Verdict::Hangs)
        .required("guard")
        .chat();
    chat.user("token=abc").await;
    let text = "[withheld: the required plugin `guard` failed and could not check this content]";
    let expected = [
        format!("user: {text}"),
        format!("assistant: {text} [c1 read {{}}]"),
        format!("result c1: {text}"),
        format!("assistant: {text}"),
    ];
    assert_eq!(chat.rows(), expected);
    assert_eq!(chat.request(2), expected[..3]);
    assert!(!format!("{:?}", chat.model.requests()).contains("token=abc"));
}

#[tokio::test]
async fn a_guard_may_not_change_what_a_row_is() {
    let chat = one_call("r")
        .plugin::<hook::ToolResultPersist, _>("bad", 10.0, |event, _, _| {
            let mut message = event.message.clone();
            message.tool_call_id = domain::CallId::new("other");
            Some(tool_result_persist::Answer { message: AgentMessage::ToolResult(message) })
        })
        .plugin::<hook::BeforeMessageWrite, _>("bad", 10.0, |_, _, _| {
            Some(before_message_write::Answer { block: false, message: Some(AgentMessage::user("mine", 0)) })
        })
        .chat();
    chat.user("read it").await;
    assert_eq!(chat.rows(), ["user: mine", "assistant: [c1 read {}]", "result c1: r", "assistant: I read it."]);
}
