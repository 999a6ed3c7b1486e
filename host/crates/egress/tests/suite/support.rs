//! Servers and policies of the suite. The servers speak raw bytes, since most tests are about bytes that no good server sends.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use egress::test_support::{MemoryConnector, TableResolver};
use egress::{CappedBody, ConfigKeys, Egress, EgressError, Limits, Network, Policy, PrivateNetwork, Rule, TcpConnector};
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// The configuration that refusals of this suite name.
pub(crate) const KEY: &str = "plugins.entries.weather.capabilities.http";

/// A policy of texts.
pub(crate) fn policy(rules: &[&str], networks: &[&str]) -> Policy {
    let rules = rules.iter().map(|text| Rule::parse(text).unwrap());
    let networks = networks.iter().map(|text| PrivateNetwork::parse(text).unwrap());
    Policy::new(ConfigKeys::below(KEY), rules, networks)
}

/// Far enough away never to matter in a test that passes.
pub(crate) fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// A way out to one server on this machine, which its rule spells out.
pub(crate) fn egress_to(server: &Server, limits: Limits) -> Egress {
    Egress::new(Network::system(), policy(&[&server.origin()], &[]), limits)
}

/// A way out through real TCP, with names from a table.
pub(crate) fn egress_by(resolver: TableResolver, policy: Policy) -> Egress {
    Egress::new(Network::new(Arc::new(resolver), Arc::new(TcpConnector)), policy, Limits::default())
}

/// A way out to `http://slow.test`, which stays in memory, so that time can be paused; and where its connections arrive.
pub(crate) fn egress_in_memory(limits: Limits) -> (Egress, mpsc::UnboundedReceiver<egress::test_support::Accepted>) {
    let (connector, accepted) = MemoryConnector::new();
    let resolver = TableResolver::default().with("slow.test", &["93.184.215.14"]);
    let network = Network::new(Arc::new(resolver), Arc::new(connector));
    (Egress::new(network, policy(&["http://slow.test", "https://slow.test"], &[]), limits), accepted)
}

/// A request without a body.
pub(crate) fn get(url: &str) -> Request<Empty<Bytes>> {
    Request::get(url).body(Empty::new()).unwrap()
}

/// The whole body.
pub(crate) async fn read(response: Response<CappedBody>) -> Result<String, EgressError> {
    let bytes = response.into_body().collect().await?.to_bytes();
    Ok(String::from_utf8(bytes.to_vec()).unwrap())
}

/// A response with a body and its length.
pub(crate) fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A TCP server on this machine. Stops when it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// Requests as they came, header and body.
    pub(crate) requests: mpsc::UnboundedReceiver<String>,
    task: tokio::task::JoinHandle<()>,
}

impl Server {
    /// Answers each request with these bytes and closes.
    pub(crate) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::start(move |mut stream, requests| {
            let answer = answer.clone();
            async move {
                let request = read_request(&mut stream).await;
                // First, so that it is there when the client has its answer.
                let _ = requests.send(request);
                // A client that does not like the answer closes before all of it is written.
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            }
        })
        .await
    }

    /// Does this with each connection, one after the other.
    pub(crate) async fn start<F>(serve: impl Fn(TcpStream, mpsc::UnboundedSender<String>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serve(stream, sender.clone()).await;
            }
        });
        Self { address, requests, task }
    }

    /// `http://127.0.0.1:port`
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests that nobody has looked at yet.
    pub(crate) fn seen(&mut self) -> Option<String> {
        self.requests.try_recv().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads header and body, by their length or to the last chunk; less if the client breaks off.
pub(crate) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    while !is_complete(&bytes) {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
        }
    }
    String::from_utf8(bytes).unwrap()
}

fn is_complete(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with("0\r\n\r\n");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}
