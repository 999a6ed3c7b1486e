//! Silence, slowness and cancelling, against a real server. The limits are short; nothing sleeps.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use domain::cancel::{Cancel, CancelReason};
use domain::message::StopReason;
use domain::model::{CallBounds, ConnectionFailure, FailureClass, ModelClient, ModelEvent, ModelRequest, RunLimit};
use futures_util::StreamExt;
use models::{RetryPolicy, Timeouts};
use serde_json::{Value, json};
use support::{Act, Server, ask, ask_with, client, events, head, hello, response};
use tokio::sync::Notify;

/// Long enough for a request to arrive on a busy machine: what is tested is the silence after it.
const SHORT: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(60);

fn text(text: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {"content": text}}]})
}

fn limits() -> Timeouts {
    Timeouts { connect: Some(LONG), headers: Some(LONG), idle: Some(LONG), total: Some(LONG) }
}

/// A request of a run with these limits.
fn bounded(bounds: CallBounds) -> ModelRequest {
    ModelRequest { bounds, ..hello() }
}

/// A server that says this much and then nothing; the notice comes when the client has left.
async fn silent_after(bytes: Vec<u8>) -> (Server, Arc<Notify>) {
    let left = Arc::new(Notify::new());
    (Server::start(vec![vec![Act::Send(bytes), Act::Hang(Arc::clone(&left))]]).await, left)
}

fn half() -> Vec<u8> {
    [head().as_slice(), events(&[text("half")]).as_bytes()].concat()
}

#[tokio::test]
async fn silence_ends_a_stream_and_the_connection() {
    let idle = Timeouts { idle: Some(SHORT), ..limits() };
    let silence = "sent nothing for 1 s";
    let rows = [
        (half(), idle, silence),
        (head(), idle, silence),
        (Vec::new(), idle, silence),
        (b"HTTP/1.1 200".to_vec(), Timeouts { headers: Some(SHORT), ..limits() }, silence),
        (half(), Timeouts { total: Some(SHORT), ..limits() }, "did not finish within 1 s"),
    ];
    let checks = rows.map(|(bytes, timeouts, words)| async move {
        let (server, left) = silent_after(bytes).await;
        let outcome = ask(&client(&server, |settings| settings.timeouts = Some(timeouts)), hello()).await;
        let (partial, failure) = outcome.failed();
        assert_eq!((failure.class, failure.connection), (FailureClass::Timeout, Some(ConnectionFailure::Timeout)));
        assert!(failure.message.contains(words) && failure.message.contains("models.providers.acme.timeoutSeconds"));
        assert_eq!(partial.stop_reason, StopReason::Error);
        assert_eq!(server.requests().len(), 1);
        left.notified().await;
    });
    futures_util::future::join_all(checks).await;
}

#[tokio::test]
async fn a_silent_server_is_not_asked_again() {
    let left = Arc::new(Notify::new());
    let play = || vec![Act::Hang(Arc::clone(&left))];
    let server = Server::start(vec![play(), play()]).await;
    let client = client(&server, |settings| {
        settings.timeouts = Some(Timeouts { idle: Some(SHORT), ..limits() });
        settings.retry = RetryPolicy::default();
    });
    ask(&client, hello()).await.failed();
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn cancelling_ends_a_stream_with_what_was_said() {
    let (server, left) = silent_after(half()).await;
    let client = client(&server, |settings| settings.timeouts = Some(limits()));
    let cancel = Cancel::default();
    let mut stream = client.stream(hello(), cancel.clone()).await;
    let mut last = None;
    while let Some(event) = stream.next().await {
        if matches!(event, ModelEvent::TextDelta { .. }) {
            cancel.cancel(CancelReason::User);
        }
        last = Some(event);
    }
    let Some(ModelEvent::Failed { partial, failure }) = last else { panic!("not failed: {last:?}") };
    assert_eq!((failure.class, failure.connection), (FailureClass::Aborted, Some(ConnectionFailure::Aborted)));
    assert_eq!((partial.stop_reason, domain::message::text_of(&partial.content).as_str()), (StopReason::Aborted, "half"));
    left.notified().await;
}

#[tokio::test]
async fn cancelling_ends_the_wait_for_an_answer() {
    let (told, left) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let server = Server::start(vec![vec![Act::Tell(Arc::clone(&told)), Act::Hang(Arc::clone(&left))]]).await;
    let client = client(&server, |settings| settings.timeouts = Some(limits()));
    let cancel = Cancel::default();
    let (outcome, ()) = tokio::join!(ask_with(&client, hello(), &cancel), async {
        told.notified().await;
        cancel.cancel(CancelReason::Timeout);
    });
    assert_eq!(outcome.failed().1.class, FailureClass::Aborted);
    left.notified().await;
}

#[tokio::test]
async fn cancelling_ends_the_wait_before_a_repeat() {
    let server = Server::start(vec![response("503 U", "retry-after: 30\r\n", ""), vec![]]).await;
    let client = client(&server, |settings| settings.retry = RetryPolicy::default());
    let cancel = Cancel::default();
    let (outcome, ()) = tokio::join!(ask_with(&client, hello(), &cancel), async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cancel.cancel(CancelReason::User);
    });
    assert_eq!(outcome.failed().1.class, FailureClass::Aborted);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_cancelled_call_is_not_sent() {
    let server = Server::start(vec![vec![]]).await;
    let cancel = Cancel::default();
    cancel.cancel(CancelReason::User);
    let outcome = ask_with(&client(&server, |_| {}), hello(), &cancel).await;
    assert_eq!(outcome.events.len(), 1);
    assert_eq!(outcome.failed().1.class, FailureClass::Aborted);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn dropping_the_stream_drops_the_connection() {
    let (server, left) = silent_after(half()).await;
    let client = client(&server, |settings| settings.timeouts = Some(limits()));
    let mut stream = client.stream(hello(), Cancel::default()).await;
    assert_eq!(stream.next().await, Some(ModelEvent::Start));
    drop(stream);
    left.notified().await;
}

/// The server is on this machine, so nothing but the run and the provider's own timeout bounds its silence.
#[tokio::test]
async fn the_run_bounds_a_silent_provider() {
    let own = Timeouts { idle: Some(LONG), ..limits() };
    let run = CallBounds { run: RunLimit::After(SHORT), ..CallBounds::default() };
    let agent = CallBounds { agent: Some(SHORT), ..CallBounds::default() };
    let cron = CallBounds { is_cron: true, ..run };
    for (timeouts, bounds) in [(None, run), (None, agent), (None, cron), (Some(own), run), (Some(own), agent)] {
        let (server, left) = silent_after(half()).await;
        let outcome = ask(&client(&server, |settings| settings.timeouts = timeouts), bounded(bounds)).await;
        let (_, failure) = outcome.failed();
        assert_eq!(failure.class, FailureClass::Timeout, "{timeouts:?} {bounds:?}");
        assert!(failure.message.contains("sent nothing for 1 s"), "{}", failure.message);
        left.notified().await;
    }
}
