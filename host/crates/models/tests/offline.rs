//! The built-in models, through the registry as the agent uses them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::cancel::{Cancel, CancelReason};
use domain::message::{AgentMessage, ContentBlock, StopReason, Usage};
use domain::model::{ConnectionFailure, FailureClass, ModelEvent, ModelRef, ModelRegistry, ModelRequest};
use domain::test_support::FakeClock;
use futures_util::StreamExt;
use models::{Registry, Script};
use serde_json::{Value, json};
use support::{ask_registry, request};
use tokio::time::Instant;

fn registry(script: &str) -> Registry {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("demo.json5");
    std::fs::write(&path, script).unwrap();
    load(&path)
}

fn load(path: &Path) -> Registry {
    let registry = Registry::new([], Some(path), Arc::new(FakeClock::at(support::NOW_MS)));
    assert_eq!(registry.problems(), Vec::<String>::new());
    registry
}

fn to(model: &str) -> ModelRequest {
    request(&format!("offline/{model}"), json!([{"role": "user", "content": "hello there"}]))
}

fn script() -> ModelRequest {
    to("script")
}

/// The refusal of a request by a script whose one turn expects this.
async fn difference(expect: &str, request: ModelRequest) -> Option<String> {
    let registry = registry(&format!("{{turns: [{{expect: {expect}, play: [{{text: 'fine'}}]}}]}}"));
    let outcome = ask_registry(&registry, request).await;
    match outcome.last() {
        ModelEvent::Done { .. } => None,
        ModelEvent::Failed { partial, failure } => {
            assert_eq!((failure.class, partial.content.len(), outcome.events.len()), (FailureClass::Format, 0, 2));
            Some(failure.message.clone())
        }
        other => panic!("no end: {other:?}"),
    }
}

#[tokio::test]
async fn echo_repeats_the_last_user_text_in_words() {
    let registry = Registry::new([], None, Arc::new(FakeClock::at(support::NOW_MS)));
    let mut asked = request(
        "offline/echo",
        json!([
            {"role": "user", "content": "first"},
            {"role": "assistant", "content": "x"},
            {"role": "user", "content": [{"type": "text", "text": "to be "}, {"type": "text", "text": "or not"}]},
            {"role": "assistant", "content": "y"},
        ]),
    );
    asked.system_prompt = Some("12345678".to_owned());
    let outcome = ask_registry(&registry, asked).await;
    assert_eq!(outcome.events[0], ModelEvent::Start);
    assert_eq!(outcome.events[1], ModelEvent::TextDelta { index: 0, delta: "to ".to_owned() });
    assert_eq!(outcome.streamed_text(), "to be \nor not");
    let message = outcome.done();
    assert_eq!(message.content, [ContentBlock::text("to be \nor not")]);
    // 8 of the prompt, 5 + 1 + 6 + 6 + 1 of the messages; 13 of the answer.
    assert_eq!(message.usage, Usage { input: Some(7), output: Some(4), total: Some(11), ..Usage::default() });
    assert_eq!((message.stop_reason, message.timestamp), (StopReason::Stop, support::NOW_MS));
    assert_eq!((message.provider.as_str(), message.model.as_str(), message.api.as_str()), ("offline", "echo", "offline"));
}

#[tokio::test]
async fn echo_without_a_text_says_so() {
    let registry = Registry::new([], None, Arc::new(FakeClock::at(0)));
    let picture = json!([{"role": "user", "content": [{"type": "image", "data": "QQ==", "mimeType": "image/png"}]}]);
    let outcome = ask_registry(&registry, request("offline/echo", picture)).await;
    assert_eq!(outcome.failed().1.class, FailureClass::Format);
}

#[tokio::test]
async fn the_documented_script_plays() {
    let document = include_str!("../SCRIPT.md");
    let text = document.split("```json5 script\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let registry = registry(text);
    let mut first = request("offline/script", json!([{"role": "user", "content": "please list"}]));
    first.tools = vec![support::tool("exec")];
    let answer = ask_registry(&registry, first.clone()).await;
    let message = answer.done().clone();
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    let kinds: Vec<Value> = message.content.iter().map(|block| json!(block)["type"].clone()).collect();
    assert_eq!(kinds, ["thinking", "text", "toolCall"]);
    assert_eq!(message.tool_calls().next().unwrap().id.as_str(), "script-1-1");

    let mut second = first.clone();
    second.messages.push(AgentMessage::Assistant(message));
    let result = json!({"role": "toolResult", "toolCallId": "script-1-1", "content": "README.md"});
    second.messages.push(serde_json::from_value(result).unwrap());
    let answer = ask_registry(&registry, second).await;
    assert_eq!(answer.events[1], ModelEvent::TextDelta { index: 0, delta: "There is ".to_owned() });
    let usage = Usage { input: Some(120), output: Some(8), cache_read: Some(100), cache_write: None, total: Some(228) };
    assert_eq!(answer.done().usage, usage);

    let answer = ask_registry(&registry, first).await;
    let (partial, failure) = answer.failed();
    assert_eq!((failure.class, failure.status, failure.message.as_str()), (FailureClass::Overloaded, Some(503), "try later"));
    assert_eq!(domain::message::text_of(&partial.content), "I will");

    assert_eq!(ask_registry(&registry, to("fast")).await.streamed_text(), "Quick answer.");
    assert_eq!(ask_registry(&registry, to("smart")).await.done().stop_reason, StopReason::Length);
}

#[tokio::test]
async fn lists_have_their_own_positions_and_end() {
    let registry =
        registry("{turns: [{play: [{text: 'one'}]}, {play: [{text: 'two'}]}], models: {fast: [{play: [{text: 'quick'}]}]}}");
    for (model, text) in [("script", "one"), ("fast", "quick"), ("script", "two")] {
        assert_eq!(ask_registry(&registry, to(model)).await.streamed_text(), text);
    }
    for (model, words) in
        [("script", "`turns` is used up: it has 2 turns, and this is request 3"), ("fast", "`models.fast` is used up")]
    {
        let outcome = ask_registry(&registry, to(model)).await;
        let failure = outcome.failed().1;
        assert_eq!(failure.class, FailureClass::Format);
        assert!(failure.message.contains(words) && failure.message.contains("demo.json5"), "{}", failure.message);
    }
}

#[tokio::test]
async fn generated_ids_avoid_the_history_and_given_ids_stand() {
    let registry = registry("{turns: [{play: [{call: {name: 'a'}}, {call: {name: 'b', id: 'mine', arguments: 'broken'}}]}]}");
    let history = json!([
        {"role": "assistant", "content": [{"type": "toolCall", "id": "script-1-1", "name": "a", "arguments": {}}]},
        {"role": "toolResult", "toolCallId": "script-1-1", "content": "ok"},
    ]);
    let outcome = ask_registry(&registry, request("offline/script", history)).await;
    let calls: Vec<_> = outcome.done().tool_calls().map(|call| (call.id.as_str(), call.arguments.clone())).collect();
    assert_eq!(calls, [("script-1-1_2", json!({})), ("mine", json!("broken"))]);
}

#[tokio::test]
async fn a_cut_answer_has_no_calls() {
    let registry = registry("{turns: [{play: [{text: 'x'}, {call: {name: 'a'}}], stopReason: 'length'}]}");
    let outcome = ask_registry(&registry, script()).await;
    assert_eq!((outcome.done().stop_reason, outcome.done().tool_calls().count()), (StopReason::Length, 0));
}

#[tokio::test]
async fn errors_carry_their_connection() {
    let registry = registry("{turns: [{play: [{error: {class: 'timeout', message: 'm', connection: 'reset'}}]}]}");
    let outcome = ask_registry(&registry, script()).await;
    assert_eq!(outcome.failed().1.connection, Some(ConnectionFailure::Reset));
}

#[tokio::test(start_paused = true)]
async fn pauses_take_their_time() {
    let registry = registry("{turns: [{play: [{text: 'a'}, {pauseMs: 60000}, {text: 'b'}]}]}");
    let started = Instant::now();
    assert_eq!(ask_registry(&registry, script()).await.done().content, [ContentBlock::text("ab")]);
    assert_eq!(started.elapsed(), Duration::from_secs(60));
}

#[tokio::test(start_paused = true)]
async fn cancelling_ends_a_pause_with_what_was_said() {
    let registry = registry("{turns: [{play: [{text: 'a'}, {call: {name: 'x'}}, {pauseMs: 60000}, {text: 'b'}]}]}");
    let cancel = Cancel::default();
    let client = registry.resolve(&ModelRef::new("offline", "script")).unwrap().client;
    let started = Instant::now();
    let events = client.stream(script(), cancel.clone()).await.collect::<Vec<_>>();
    let (events, ()) = tokio::join!(events, async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel(CancelReason::User);
    });
    assert_eq!(started.elapsed(), Duration::from_secs(1));
    let Some(ModelEvent::Failed { partial, failure }) = events.last() else { panic!("not failed: {events:?}") };
    assert_eq!((failure.class, partial.stop_reason), (FailureClass::Aborted, StopReason::Aborted));
    assert_eq!(partial.content, [ContentBlock::text("a")]);
}

#[tokio::test]
async fn expectations_that_hold_let_the_turn_play() {
    let mut asked = request(
        "offline/script",
        json!([
            {"role": "user", "content": "list the files"},
            {"role": "assistant", "content": [{"type": "toolCall", "id": "a", "name": "exec", "arguments": {"command": "ls"}}]},
            {"role": "toolResult", "toolCallId": "a", "content": "one\ntwo"},
        ]),
    );
    asked.system_prompt = Some("be brief".to_owned());
    asked.tools = vec![support::tool("exec")];
    let expect = "{lastUser: {contains: ['list', 'files'], excludes: 'rm'}, toolResults: {contains: 'two', excludes: ['sk-']},
        system: {contains: 'brief'}, anywhere: {contains: 'ls', excludes: 'password'}, tools: ['exec'], withoutTools: ['write'],
        model: 'offline/script'}";
    assert_eq!(difference(expect, asked).await, None);
}

#[tokio::test]
async fn expectations_that_fail_say_what_differs() {
    let with_result = || {
        request(
            "offline/script",
            json!([
                {"role": "assistant", "content": [{"type": "toolCall", "id": "a", "name": "exec", "arguments": {"key": "sk-1"}}]},
                {"role": "toolResult", "toolCallId": "a", "content": "old"},
                {"role": "assistant", "content": [{"type": "toolCall", "id": "b", "name": "exec", "arguments": {}}]},
                {"role": "toolResult", "toolCallId": "b", "content": "new"},
            ]),
        )
    };
    let mut with_tool = script();
    with_tool.tools = vec![support::tool("exec")];
    for (expect, request, words) in [
        ("{lastUser: {contains: 'bye'}}", script(), "`turns[0]` expects the last user text to contain `bye`; found: hello there"),
        ("{lastUser: {excludes: 'the'}}", script(), "the last user text not to contain `the`; found: hello there"),
        ("{lastUser: {contains: 'x'}}", request("offline/script", json!([])), "there is none"),
        ("{toolResults: {contains: 'old'}}", with_result(), "a tool result to contain `old`; found: new"),
        ("{anywhere: {excludes: 'sk-'}}", with_result(), r#"the request not to contain `sk-`; found: exec {"key":"sk-1"}"#),
        ("{system: {contains: 'x'}}", script(), "the system prompt to contain `x`; there is none"),
        ("{tools: ['write']}", with_tool.clone(), "the tool `write` to be offered; offered are: `exec`"),
        ("{tools: ['write']}", script(), "offered are: none"),
        ("{withoutTools: ['exec']}", with_tool, "the tool `exec` not to be offered"),
        ("{model: 'offline/fast'}", script(), "model `offline/fast`, and `offline/script` is asked"),
    ] {
        let difference = difference(expect, request).await.unwrap();
        assert!(difference.contains(words) && difference.contains("demo.json5"), "{expect}: {difference}");
    }
}

#[tokio::test]
async fn malformed_requests_are_refused_whatever_the_script_says() {
    let call =
        |id: &str| json!({"role": "assistant", "content": [{"type": "toolCall", "id": id, "name": "exec", "arguments": {}}]});
    let result = |id: &str| json!({"role": "toolResult", "toolCallId": id, "content": "ok"});
    let user = json!({"role": "user", "content": "x"});
    let detailed = json!({"role": "toolResult", "toolCallId": "a", "content": "ok", "details": {"k": 1}});
    for (messages, index) in [
        (json!([user, call("a")]), 1),
        (json!([call("a"), user, result("a")]), 0),
        (json!([user, result("a")]), 1),
        (json!([call("a"), result("a"), result("a")]), 2),
        (json!([call("a"), result("a"), call("a"), result("a")]), 2),
        (json!([call("a"), detailed]), 1),
        (json!([user, {"role": "tool", "content": "x"}]), 1),
    ] {
        let difference = difference("{}", request("offline/script", messages.clone())).await.unwrap();
        assert!(difference.contains(&format!("message {index} ")), "{messages}: {difference}");
    }
    let mut twice = script();
    twice.tools = vec![support::tool("exec"), support::tool("exec")];
    assert!(difference("{}", twice).await.unwrap().contains("two tools have the name `exec`"));
}

#[test]
fn a_script_tells_its_models() {
    let script = Script::parse("s", "{turns: [{play: []}], models: {fast: [{play: []}]}}").unwrap();
    assert_eq!(script.models().collect::<Vec<_>>(), ["script", "fast"]);
}
