//! Answers that fail: refusals, broken streams, malformed data, repeats. Whatever was said before is kept, nothing half is executed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use std::time::Duration;

use domain::message::StopReason;
use domain::model::{ConnectionFailure, FailureClass, ModelEvent};
use models::{CompletionsClient, ProviderSettings, RetryPolicy, Secret, StreamLimits};
use serde_json::{Value, json};
use support::{Act, Server, ask, ask_about, client, events, head, hello, request, response, stream};

fn text(text: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": text}}]})
}

fn call() -> Value {
    json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": "{}"}}]}}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// Repeats at once, so that a test need not wait.
fn eager(settings: &mut ProviderSettings) {
    settings.retry = RetryPolicy { first_delay: Duration::ZERO, ..RetryPolicy::default() };
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_keeps_what_was_said() {
    let body = events(&[text("Hé"), text("llo"), call(), finish("tool_calls")]) + "data: [DONE]\n\n";
    // From here on the server has said how the answer ends.
    let complete = body.find(r#""finish_reason""#).unwrap();
    let complete = complete + body[complete..].find("\n").unwrap();
    let plays = (0..body.len()).map(|cut| stream(&body.as_bytes()[..cut])).collect();
    let server = Server::start(plays).await;
    let client = client(&server, |_| {});
    for cut in 0..body.len() {
        let outcome = ask(&client, hello()).await;
        if cut >= complete {
            assert_eq!(outcome.done().tool_calls().count(), 1, "cut at {cut}");
            continue;
        }
        let (partial, failure) = outcome.failed();
        assert_eq!((failure.class, failure.connection), (FailureClass::Timeout, Some(ConnectionFailure::Closed)), "cut at {cut}");
        assert_eq!((partial.stop_reason, partial.tool_calls().count()), (StopReason::Error, 0), "cut at {cut}");
        let said = domain::message::text_of(&partial.content);
        assert!("Héllo".starts_with(&said) && said == outcome.streamed_text(), "cut at {cut}: {said}");
        assert!(failure.message.contains("`acme`"), "{}", failure.message);
    }
}

#[tokio::test]
async fn a_connection_that_breaks_is_told_from_one_that_ends() {
    let chunked = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let body = events(&[text("half")]);
    let chunk = [format!("{:x}\r\n", body.len()).as_bytes(), body.as_bytes(), b"\r\n"].concat();
    let terminated = vec![Act::Send([chunked, chunk].concat())];
    let server = Server::start(vec![terminated]).await;
    let outcome = ask(&client(&server, |_| {}), hello()).await;
    let (partial, failure) = outcome.failed();
    assert_eq!((failure.class, failure.connection), (FailureClass::Timeout, Some(ConnectionFailure::Terminated)));
    assert_eq!(domain::message::text_of(&partial.content), "half");
    assert!(failure.facts.response_stream_bytes.unwrap() > 0 && failure.facts.upstream_request_id_hash.is_none());
}

#[tokio::test]
async fn a_reset_is_named() {
    let go = std::sync::Arc::new(tokio::sync::Notify::new());
    let acts =
        vec![Act::Send([head().as_slice(), events(&[text("half")]).as_bytes()].concat()), Act::Await(go.clone()), Act::Reset];
    let server = Server::start(vec![acts]).await;
    let client = client(&server, |_| {});
    let mut stream = domain::model::ModelClient::stream(&client, hello(), Default::default()).await;
    let mut last = None;
    while let Some(event) = futures_util::StreamExt::next(&mut stream).await {
        // The reset comes only after the text has arrived: a reset may overtake data.
        if matches!(event, ModelEvent::TextDelta { .. }) {
            go.notify_one();
        }
        last = Some(event);
    }
    let Some(ModelEvent::Failed { failure, .. }) = last else { panic!("not failed: {last:?}") };
    assert_eq!((failure.class, failure.connection), (FailureClass::Timeout, Some(ConnectionFailure::Reset)));
}

#[tokio::test]
async fn refusals_are_classed_and_name_provider_and_cause() {
    let rows = [
        (
            "401 Unauthorized",
            r#"{"error":{"message":"Incorrect API key provided: sk-test-key"}}"#,
            FailureClass::Auth,
            "models.providers.acme.apiKey",
        ),
        ("429 Too Many Requests", r#"{"error":{"message":"slow down"}}"#, FailureClass::RateLimit, "slow down"),
        ("500 Internal Server Error", "<html>oops</html>", FailureClass::Timeout, "HTTP status 500"),
        ("503 Service Unavailable", "", FailureClass::Overloaded, "HTTP status 503"),
        ("404 Not Found", r#"{"error":{"message":"no model m"}}"#, FailureClass::ModelNotFound, "models.providers.acme.baseUrl"),
        (
            "400 Bad Request",
            r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#,
            FailureClass::ContextOverflow,
            "too long",
        ),
        ("400 Bad Request", r#"{"detail":"bad field"}"#, FailureClass::Format, "bad field"),
        ("302 Found", "", FailureClass::Unknown, "HTTP status 302"),
    ];
    for (status, body, class, words) in rows {
        let server = Server::start(vec![response(status, "x-request-id: r\r\nlocation: http://127.0.0.1:1/\r\n", body)]).await;
        let outcome = ask(&client(&server, |settings| settings.api_key = Some(Secret::new("sk-test-key"))), hello()).await;
        let (partial, failure) = outcome.failed();
        assert_eq!(failure.class, class, "{status}");
        assert_eq!(failure.status.map(|status| status.to_string()).as_deref(), status.get(..3));
        assert!(failure.message.contains("`acme`") && failure.message.contains(words), "{}", failure.message);
        assert!(!failure.message.contains("sk-test-key"), "{}", failure.message);
        assert_eq!((partial.stop_reason, partial.error_message.as_deref()), (StopReason::Error, Some(failure.message.as_str())));
        assert!(failure.facts.upstream_request_id_hash.is_some(), "{status}");
    }
}

#[tokio::test]
async fn an_endless_error_body_is_read_in_part() {
    let long = "x".repeat(1 << 20);
    let server = Server::start(vec![response("500 Oops", "", &long)]).await;
    let outcome = ask(&client(&server, |_| {}), hello()).await;
    assert!(outcome.failed().1.message.len() < 500);
    assert!(outcome.facts().response_stream_bytes.unwrap() < 1 << 20);
}

#[tokio::test]
async fn errors_inside_the_stream_keep_the_text() {
    for error in [json!({"error": {"code": 502, "message": "upstream gone"}}), json!({"error": "upstream gone, connection lost"})]
    {
        // Without an empty line behind it the error is still one.
        for end in ["\n\n", ""] {
            let outcome = ask_about(format!("{}data: {error}{end}", events(&[text("half")]))).await;
            let (partial, failure) = outcome.failed();
            assert_eq!(failure.class, FailureClass::Timeout, "{error}");
            assert!(failure.message.contains("upstream gone"), "{}", failure.message);
            assert_eq!(domain::message::text_of(&partial.content), "half");
        }
    }
}

#[tokio::test]
async fn malformed_answers_fail_and_execute_nothing() {
    let named =
        |name: &str| json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": name}}]}}]});
    let stray = json!({"choices": [{"delta": {"tool_calls": [{"index": 3, "function": {"arguments": "{}"}}]}}]});
    for (body, words) in [
        ("data: {oops\n\n".to_owned(), "not JSON"),
        ("data: [1]\n\n".to_owned(), "unknown form"),
        (events(&[json!({"choices": [{"delta": {"content": 5}}]})]), "unknown form"),
        (events(&[stray]), "belong to no tool call"),
        (events(&[named("a b"), finish("tool_calls")]), "`a b`"),
        (
            events(&[json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a"}]}}]}), finish("tool_calls")]),
            "without a name",
        ),
        (events(&[finish("content_filter")]), "content filter"),
        (events(&[finish("strange")]), "`strange`"),
    ] {
        let outcome = ask_about(format!("{}{body}data: [DONE]\n\n", events(&[text("half")]))).await;
        let (partial, failure) = outcome.failed();
        assert_eq!(failure.class, FailureClass::Unknown, "{body}");
        assert!(failure.message.contains(words), "{body}: {}", failure.message);
        assert_eq!((partial.tool_calls().count(), domain::message::text_of(&partial.content).as_str()), (0, "half"));
    }
}

#[tokio::test]
async fn an_end_marker_without_an_end_is_no_end() {
    let outcome = ask_about(events(&[text("half"), call()]) + "data: [DONE]\n\n").await;
    assert_eq!(outcome.failed().1.class, FailureClass::Timeout);
}

#[tokio::test]
async fn broken_arguments_are_kept_as_text() {
    let bad = "{\"path\": \"a\nb";
    let call = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": bad}}]}}]});
    let outcome = ask_about(events(&[call, finish("tool_calls")])).await;
    assert_eq!(outcome.done().tool_calls().next().unwrap().arguments, json!(bad));
}

#[tokio::test]
async fn a_web_page_is_no_answer() {
    let server = Server::start(vec![response("200 OK", "content-type: text/html\r\n", "<html>log in</html>")]).await;
    let outcome = ask(&client(&server, |_| {}), hello()).await;
    assert!(outcome.failed().1.message.contains("baseUrl"), "{}", outcome.failed().1.message);
}

#[tokio::test]
async fn large_events_and_streams_are_refused() {
    let body = events(&[text(&"x".repeat(500)), text(&"y".repeat(500)), finish("stop")]);
    for (limits, words) in [
        (StreamLimits { max_event_bytes: 400, max_stream_bytes: 1 << 20 }, "event of more than 400 bytes"),
        (StreamLimits { max_event_bytes: 1 << 20, max_stream_bytes: 900 }, "answer of more than 900 bytes"),
    ] {
        let server = Server::start(vec![stream(&body)]).await;
        let outcome = ask(&client(&server, |settings| settings.limits = limits), hello()).await;
        let failure = outcome.failed().1;
        assert!(failure.class == FailureClass::Unknown && failure.message.contains(words), "{}", failure.message);
    }
    let server = Server::start(vec![stream(&body)]).await;
    let limits = StreamLimits { max_event_bytes: 600, max_stream_bytes: body.len() };
    ask(&client(&server, |settings| settings.limits = limits), hello()).await.done();
}

#[tokio::test]
async fn an_unreachable_server_is_named() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut settings = ProviderSettings::new("acme", format!("http://{free}/v1"));
    settings.retry.attempts = 1;
    let client = CompletionsClient::new(settings, std::sync::Arc::new(domain::test_support::FakeClock::at(0))).unwrap();
    let outcome = ask(&client, hello()).await;
    let failure = outcome.failed().1;
    assert_eq!((failure.class, failure.status), (FailureClass::Timeout, None));
    assert!(failure.message.contains("could not be reached") && failure.message.contains("baseUrl"), "{}", failure.message);
    assert!(!failure.message.contains("127.0.0.1"), "{}", failure.message);
}

#[tokio::test]
async fn passing_troubles_are_repeated() {
    let good = || stream(events(&[text("ok"), finish("stop")]));
    for status in ["408 T", "409 C", "429 R", "500 S", "503 U"] {
        let server = Server::start(vec![response(status, "", ""), response(status, "retry-after-ms: 1\r\n", ""), good()]).await;
        let outcome = ask(&client(&server, eager), hello()).await;
        assert_eq!(outcome.streamed_text(), "ok", "{status}");
        assert_eq!(server.requests().len(), 3);
    }
    // A connection that closes without a word.
    let server = Server::start(vec![vec![], good()]).await;
    assert_eq!(ask(&client(&server, eager), hello()).await.streamed_text(), "ok");
}

#[tokio::test]
async fn repeats_end() {
    let refused = || response("503 U", "", "");
    let server = Server::start(vec![refused(), refused(), refused(), refused()]).await;
    let outcome = ask(&client(&server, eager), hello()).await;
    assert_eq!(outcome.failed().1.class, FailureClass::Overloaded);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn lasting_troubles_are_not_repeated() {
    for (status, headers, body) in [
        ("400 B", "", ""),
        ("401 U", "", ""),
        ("429 R", "", r#"{"error":{"code":"insufficient_quota"}}"#),
        ("429 R", "retry-after: 120\r\n", ""),
    ] {
        let server = Server::start(vec![response(status, headers, body), response(status, headers, body)]).await;
        let outcome = ask(&client(&server, eager), hello()).await;
        let failure = outcome.failed().1;
        assert_eq!(server.requests().len(), 1, "{status} {headers}");
        assert_eq!(failure.message.contains("asks to wait 120 s"), !headers.is_empty(), "{}", failure.message);
    }
    // Once an answer has begun there is no second request.
    let server = Server::start(vec![stream(events(&[text("half")])), stream("")]).await;
    ask(&client(&server, eager), hello()).await.failed();
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn requests_that_every_provider_refuses_are_not_sent() {
    let server = Server::start(vec![stream("")]).await;
    let client = client(&server, |_| {});
    let orphan =
        request("acme/m", json!([{"role": "user", "content": "x"}, {"role": "toolResult", "toolCallId": "a", "content": "y"}]));
    let outcome = ask(&client, orphan).await;
    let failure = outcome.failed().1;
    assert!(failure.class == FailureClass::Format && failure.message.contains("message 1"), "{}", failure.message);
    let mut bad_tool = hello();
    bad_tool.tools = vec![support::tool("a b")];
    assert_eq!(ask(&client, bad_tool).await.failed().1.class, FailureClass::Format);
    assert!(server.requests().is_empty());
}
