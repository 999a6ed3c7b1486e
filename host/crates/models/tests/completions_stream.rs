//! Answers of a real HTTP server that end well, in every form that servers are known to use.
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use domain::message::{ContentBlock, StopReason, Usage};
use domain::model::ModelEvent;
use models::{Compat, ModelSettings, Secret};
use serde_json::{Value, json};
use support::{Act, Server, ask, ask_about, client, events, hello, request, response, stream};

fn delta(delta: Value) -> Value {
    json!({"id": "r1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn piece(index: u64, id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({"name": if name.is_empty() { Value::Null } else { json!(name) }, "arguments": arguments});
    let id = if id.is_empty() { Value::Null } else { json!(id) };
    delta(json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": function}]}))
}

const DONE: &str = "data: [DONE]\n\n";

#[tokio::test]
async fn text_streams_and_the_message_is_complete() {
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}});
    let chunks = [
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"content": "Hel"})),
        delta(json!({"content": "lo"})),
        finish("stop"),
        usage,
    ];
    let outcome = ask_about(events(&chunks) + DONE).await;
    assert_eq!(outcome.events[0], ModelEvent::Start);
    assert_eq!(outcome.events[1], ModelEvent::TextDelta { index: 0, delta: "Hel".to_owned() });
    assert_eq!(outcome.events.len(), 4);
    let message = outcome.done();
    assert_eq!(message.content, [ContentBlock::text("Hello")]);
    assert_eq!(message.usage, Usage { input: Some(10), output: Some(3), total: Some(13), ..Usage::default() });
    assert_eq!((message.stop_reason, message.timestamp), (StopReason::Stop, support::NOW_MS));
    assert_eq!((message.api.as_str(), message.provider.as_str(), message.model.as_str()), ("openai-completions", "acme", "m"));
}

#[tokio::test]
async fn facts_count_bytes_and_hash_the_request_id() {
    let body = events(&[delta(json!({"content": "x"})), finish("stop")]) + DONE;
    let outcome = ask_about(&body).await;
    let facts = outcome.facts();
    assert_eq!(facts.response_stream_bytes, Some(u32::try_from(body.len()).unwrap()));
    assert!(facts.request_payload_bytes.unwrap() > 50);
    assert!(facts.time_to_first_byte_ms.is_some());
    let hash = facts.upstream_request_id_hash.as_deref().unwrap();
    assert!(hash.len() == 16 && hash.chars().all(|c| c.is_ascii_hexdigit()), "{hash}");
    assert_eq!(ask_about(&body).await.facts().upstream_request_id_hash.as_deref(), Some(hash));
}

#[tokio::test]
async fn runtime_025_interleaved_tool_calls_are_assembled_by_index() {
    let chunks = [
        piece(0, "a", "read", ""),
        piece(1, "b", "list", ""),
        piece(1, "", "", "{\"dir\":"),
        piece(0, "", "", "{\"path\":\"x"),
        piece(1, "", "", "\".\"}"),
        piece(0, "", "", "\"}"),
        finish("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}}),
    ];
    let outcome = ask_about(events(&chunks) + DONE).await;
    let message = outcome.done();
    let calls: Vec<_> = message.tool_calls().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.clone())).collect();
    assert_eq!(calls, [("a", "read", json!({"path": "x"})), ("b", "list", json!({"dir": "."}))]);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert_eq!(message.usage.total, Some(13));
    let previews: Vec<_> = outcome.events.iter().filter(|event| matches!(event, ModelEvent::ToolCallDelta { .. })).collect();
    assert_eq!(previews.len(), 6);
    assert_eq!(*previews[2], ModelEvent::ToolCallDelta { index: 1, name: "list".to_owned(), delta: "{\"dir\":".to_owned() });
}

#[tokio::test]
async fn reasoning_text_and_calls_keep_their_order() {
    let chunks = [
        delta(json!({"reasoning_content": "h"})),
        delta(json!({"reasoning_content": "m"})),
        delta(json!({"content": "Look:"})),
        piece(0, "a", "read", "{}"),
        delta(json!({"refusal": " no"})),
        finish("tool_calls"),
    ];
    let outcome = ask_about(events(&chunks) + DONE).await;
    let content = serde_json::to_value(&outcome.done().content).unwrap();
    let expected = json!([
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Look:"},
        {"type": "toolCall", "id": "a", "name": "read", "arguments": {}},
        {"type": "text", "text": " no"},
    ]);
    assert_eq!(content, expected);
}

#[tokio::test]
async fn a_finished_stream_needs_no_end_marker() {
    let body = events(&[delta(json!({"content": "whole"})), finish("stop")]);
    assert_eq!(ask_about(&body).await.done().content, [ContentBlock::text("whole")]);
    assert_eq!(ask_about(body.trim_end()).await.done().content, [ContentBlock::text("whole")]);
}

#[tokio::test]
async fn a_finished_answer_survives_a_broken_connection() {
    let body = events(&[delta(json!({"content": "whole"})), finish("stop")]);
    let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 100000\r\n\r\n";
    let server = Server::start(vec![vec![Act::Send([head, body.as_bytes()].concat())]]).await;
    assert_eq!(ask(&client(&server, |_| {}), hello()).await.done().content, [ContentBlock::text("whole")]);
}

#[tokio::test]
async fn finish_reasons_follow_the_table() {
    let call = || piece(0, "a", "read", "{}");
    let text = || delta(json!({"content": "t"}));
    for (chunks, stop, calls) in [
        (vec![text(), finish("stop")], StopReason::Stop, 0),
        (vec![text(), finish("end")], StopReason::Stop, 0),
        (vec![text(), call(), finish("length")], StopReason::Length, 0),
        (vec![call(), finish("tool_calls")], StopReason::ToolUse, 1),
        (vec![call(), finish("function_call")], StopReason::ToolUse, 1),
        (vec![call(), finish("stop")], StopReason::ToolUse, 1),
        (vec![text(), finish("tool_calls")], StopReason::Stop, 0),
    ] {
        let outcome = ask_about(events(&chunks) + DONE).await;
        assert_eq!((outcome.done().stop_reason, outcome.done().tool_calls().count()), (stop, calls), "{chunks:?}");
    }
}

#[tokio::test]
async fn calls_behind_stop_are_dropped_where_the_server_does_not_mean_them() {
    let body = events(&[piece(0, "a", "read", "{}"), finish("stop")]) + DONE;
    let server = Server::start(vec![stream(body)]).await;
    let compat = Compat { stop_with_tool_calls: false, ..Compat::of_host("localhost") };
    let outcome = ask(&client(&server, |settings| settings.compat = Some(compat)), hello()).await;
    assert_eq!((outcome.done().stop_reason, outcome.done().tool_calls().count()), (StopReason::Stop, 0));
}

#[tokio::test]
async fn whole_messages_are_read() {
    let message = json!({"role": "assistant", "content": "whole", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "read", "arguments": "{\"p\":1}"}},
        {"id": "b", "type": "function", "function": {"name": "list", "arguments": {"q": 2}}}]});
    let usage = json!({"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3});
    let chunk = json!({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls", "usage": usage}]});
    let in_stream = stream(events(std::slice::from_ref(&chunk)) + DONE);
    let as_json = response("200 OK", "content-type: application/json; charset=utf-8\r\n", &chunk.to_string());
    for play in [in_stream, as_json] {
        let server = Server::start(vec![play]).await;
        let outcome = ask(&client(&server, |_| {}), hello()).await;
        assert_eq!(outcome.streamed_text(), "whole");
        let arguments: Vec<_> = outcome.done().tool_calls().map(|call| call.arguments.clone()).collect();
        assert_eq!(arguments, [json!({"p": 1}), json!({"q": 2})]);
        assert_eq!(outcome.done().usage.total, Some(3));
    }
}

#[tokio::test]
async fn a_message_that_repeats_the_deltas_adds_nothing() {
    let last = json!({"choices": [{"message": {"content": "once"}, "delta": {}, "finish_reason": "stop"}]});
    let outcome = ask_about(events(&[delta(json!({"content": "once"})), last]) + DONE).await;
    assert_eq!(outcome.done().content, [ContentBlock::text("once")]);
}

#[tokio::test]
async fn line_ends_comments_and_split_data_change_nothing() {
    let chunks = [delta(json!({"content": "你好🙂"})), finish("stop")];
    let plain = events(&chunks) + DONE;
    let split = format!(": hi\n\ndata: {}\n\n", serde_json::to_string_pretty(&chunks[0]).unwrap().replace('\n', "\ndata: "));
    let rest = format!(": ping\nevent: message\nid: 1\nretry: 5\ndata:{}\n\n: ping\n\n{DONE}", chunks[1]);
    let odd = split + &rest;
    for body in [plain.clone(), plain.replace('\n', "\r\n"), plain.replace('\n', "\r"), odd.clone(), odd.replace('\n', "\r\n")] {
        assert_eq!(ask_about(&body).await.done().content, [ContentBlock::text("你好🙂")], "{body:?}");
    }
    assert_eq!(ask_about(format!("\u{feff}{plain}")).await.done().content, [ContentBlock::text("你好🙂")]);
}

#[tokio::test]
async fn runtime_030_a_character_survives_the_border_of_two_chunks() {
    let body = events(&[delta(json!({"content": "ä🙂"})), finish("stop")]) + DONE;
    let start = body.find('ä').unwrap();
    for cut in start..=start + 6 {
        let (first, second) = body.as_bytes().split_at(cut);
        // HTTP chunks keep the two pieces apart.
        let chunk = |bytes: &[u8]| [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
        let acts = vec![Act::Send([head, chunk(first)].concat()), Act::Send([chunk(second), b"0\r\n\r\n".to_vec()].concat())];
        let server = Server::start(vec![acts]).await;
        assert_eq!(ask(&client(&server, |_| {}), hello()).await.done().content, [ContentBlock::text("ä🙂")], "cut at {cut}");
    }
}

#[tokio::test]
async fn ids_that_the_history_has_are_made_unique() {
    let body = events(&[piece(0, "t:0", "read", "{}"), finish("tool_calls")]) + DONE;
    let server = Server::start(vec![stream(body)]).await;
    let history = json!([
        {"role": "user", "content": "go"},
        {"role": "assistant", "stopReason": "toolUse", "content": [{"type": "toolCall", "id": "t:0", "name": "read", "arguments": {}}]},
        {"role": "toolResult", "toolCallId": "t:0", "content": "ok"},
    ]);
    let outcome = ask(&client(&server, |_| {}), request("acme/m", history)).await;
    assert_eq!(outcome.done().tool_calls().next().unwrap().id.as_str(), "t:0_2");
}

#[tokio::test]
async fn the_request_carries_key_headers_and_model_settings() {
    let body = events(&[delta(json!({"content": "x"})), finish("stop")]) + DONE;
    let server = Server::start(vec![stream(body)]).await;
    let client = client(&server, |settings| {
        settings.api_key = Some(Secret::new("sk-test"));
        settings.headers.insert("X-Team".to_owned(), Secret::new("blue"));
        settings.models = vec![ModelSettings { id: "m".to_owned(), max_tokens: Some(77), ..ModelSettings::default() }];
    });
    ask(&client, hello()).await.done();
    let received = &server.requests()[0];
    let head = received.head.to_lowercase();
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    for line in ["authorization: bearer sk-test", "x-team: blue", "content-type: application/json"] {
        assert!(head.lines().any(|there| there == line), "{line} in {head}");
    }
    let expected = json!({"model": "m", "messages": [{"role": "user", "content": "hello"}], "stream": true,
        "stream_options": {"include_usage": true}, "max_tokens": 77});
    assert_eq!(received.body, expected);
}
