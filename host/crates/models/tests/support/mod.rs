//! A hand-written HTTP server that sends exactly the bytes it is told to, and helpers to ask a client and read its events. It answers
//! one request per connection and never sleeps.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::sync::{Arc, Mutex};

use domain::cancel::Cancel;
use domain::message::{AgentMessage, AssistantMessage};
use domain::model::{CallBounds, CallFacts, ModelClient, ModelEvent, ModelFailure, ModelRef, ModelRequest};
use domain::test_support::FakeClock;
use domain::tool::{ToolOwner, ToolSpec};
use domain::{ModelCallId, model::ModelRegistry};
use futures_util::StreamExt;
use models::{CompletionsClient, ProviderSettings, Registry};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub const NOW_MS: u64 = 1_700_000_000_000;

/// What the server does next on a connection.
#[derive(Clone)]
pub enum Act {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Tells a test that it got here.
    Tell(Arc<Notify>),
    /// Waits for a test.
    Await(Arc<Notify>),
    /// Says nothing until the client leaves; then tells a test.
    Hang(Arc<Notify>),
    /// Drops the connection with a reset instead of an end.
    Reset,
}

/// One request as it arrived.
#[derive(Debug, Clone)]
pub struct Received {
    pub head: String,
    pub body: Value,
}

/// A server that plays one list of acts per connection; more connections get nothing.
pub struct Server {
    pub base_url: String,
    requests: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub async fn start(plays: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let task = tokio::spawn(async move {
            for play in plays {
                let (mut socket, _) = listener.accept().await.unwrap();
                socket.set_nodelay(true).unwrap();
                let request = read_request(&mut socket).await;
                seen.lock().unwrap().push(request);
                tokio::spawn(act(socket, play));
            }
        });
        Self { base_url, requests, task }
    }

    pub fn requests(&self) -> Vec<Received> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn read_request(socket: &mut TcpStream) -> Received {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let count = socket.read(&mut piece).await.unwrap();
        assert!(count > 0, "the client left in the middle of its request");
        bytes.extend_from_slice(&piece[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
        if bytes.len() >= end + 4 + length.unwrap() {
            return Received { head, body: serde_json::from_slice(&bytes[end + 4..]).unwrap() };
        }
    }
}

async fn act(mut socket: TcpStream, play: Vec<Act>) {
    for act in play {
        match act {
            // The client may have left; that is its test's business.
            Act::Send(bytes) => drop(socket.write_all(&bytes).await),
            Act::Tell(notify) => notify.notify_one(),
            Act::Await(notify) => notify.notified().await,
            Act::Hang(left) => {
                let _ = socket.read(&mut [0; 1]).await;
                left.notify_one();
            }
            Act::Reset => socket.set_zero_linger().unwrap(),
        }
    }
}

/// The head of a stream whose body ends with the connection.
pub fn head() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nx-request-id: req-1\r\nconnection: close\r\n\r\n"
        .to_vec()
}

/// A whole answer of another kind.
pub fn response(status: &str, headers: &str, body: &str) -> Vec<Act> {
    let length = body.len();
    let text = format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}");
    vec![Act::Send(text.into_bytes())]
}

/// A stream of one body.
pub fn stream(body: impl AsRef<[u8]>) -> Vec<Act> {
    vec![Act::Send([head().as_slice(), body.as_ref()].concat())]
}

/// `data:` events of JSON values.
pub fn events(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

/// A client of the server, with settings changed by `change`.
pub fn client(server: &Server, change: impl FnOnce(&mut ProviderSettings)) -> CompletionsClient {
    let mut settings = ProviderSettings::new("acme", server.base_url.as_str());
    settings.retry.attempts = 1;
    change(&mut settings);
    CompletionsClient::new(settings, Arc::new(FakeClock::at(NOW_MS))).unwrap()
}

pub fn request(model: &str, messages: Value) -> ModelRequest {
    let messages: Vec<AgentMessage> = serde_json::from_value(messages).unwrap();
    ModelRequest {
        call_id: ModelCallId::new("call"),
        model: ModelRef::parse(model).unwrap(),
        system_prompt: None,
        messages,
        tools: Vec::new(),
        thinking: None,
        bounds: CallBounds::default(),
    }
}

pub fn hello() -> ModelRequest {
    request("acme/m", serde_json::json!([{"role": "user", "content": "hello"}]))
}

pub fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        label: name.to_owned(),
        description: String::new(),
        parameters: serde_json::json!({"type": "object"}),
        output_schema: None,
        optional: false,
        owner: ToolOwner::Host,
        sequential: false,
    }
}

/// All events of one call.
pub struct Outcome {
    pub events: Vec<ModelEvent>,
}

impl Outcome {
    pub fn last(&self) -> &ModelEvent {
        self.events.last().expect("a stream has a last event")
    }

    pub fn done(&self) -> &AssistantMessage {
        match self.last() {
            ModelEvent::Done { message, .. } => message,
            other => panic!("not done: {other:?}"),
        }
    }

    pub fn failed(&self) -> (&AssistantMessage, &ModelFailure) {
        match self.last() {
            ModelEvent::Failed { partial, failure } => (partial, failure),
            other => panic!("not failed: {other:?}"),
        }
    }

    pub fn facts(&self) -> &CallFacts {
        match self.last() {
            ModelEvent::Done { facts, .. } => facts,
            ModelEvent::Failed { failure, .. } => &failure.facts,
            other => panic!("no end: {other:?}"),
        }
    }

    /// Text deltas, joined.
    pub fn streamed_text(&self) -> String {
        let deltas = self.events.iter().filter_map(|event| match event {
            ModelEvent::TextDelta { delta, .. } => Some(delta.as_str()),
            _ => None,
        });
        deltas.collect()
    }
}

pub async fn ask(client: &dyn ModelClient, request: ModelRequest) -> Outcome {
    ask_with(client, request, &Cancel::default()).await
}

pub async fn ask_with(client: &dyn ModelClient, request: ModelRequest, cancel: &Cancel) -> Outcome {
    let events = client.stream(request, cancel.clone()).await.collect().await;
    Outcome { events }
}

/// The answer to `hello` of a server that sends one body as its stream.
pub async fn ask_about(body: impl AsRef<[u8]>) -> Outcome {
    let server = Server::start(vec![stream(body)]).await;
    ask(&client(&server, |_| {}), hello()).await
}

/// Asks a model of a registry.
pub async fn ask_registry(registry: &Registry, request: ModelRequest) -> Outcome {
    let found = registry.resolve(&request.model).unwrap();
    ask(found.client.as_ref(), request).await
}
