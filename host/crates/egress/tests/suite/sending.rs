//! Requests that are allowed: what the server sees, what comes back, and what a request leaves behind.

use std::process::Command;

use bytes::Bytes;
use egress::{EgressError, Kind, Limits, Phase, Timeouts};
use http::{Method, Request, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::support::{Server, egress_to, get, ok, read, read_request, soon};

#[tokio::test]
async fn get_reaches_the_server_in_origin_form() {
    let mut server = Server::answering(ok("hello")).await;
    let url = format!("{}/path?query=1", server.origin());
    let response = egress_to(&server, Limits::default()).send(get(&url), soon()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(read(response).await.unwrap(), "hello");
    let expected = format!("GET /path?query=1 HTTP/1.1\r\nhost: {}\r\n\r\n", server.address);
    assert_eq!(server.seen().unwrap(), expected);
}

#[tokio::test]
async fn bodies_go_out_by_length_or_in_chunks() {
    let mut server = Server::answering(ok("")).await;
    let egress = egress_to(&server, Limits::default());
    let post = || Request::post(server.origin());

    let request = post().header("content-length", "4").header("connection", "upgrade").body(Full::from("body")).unwrap();
    egress.send(request, soon()).await.unwrap();
    let (sender, receiver) = mpsc::channel(1);
    let request = post().body(StreamBody::new(ReceiverStream(receiver))).unwrap();
    let write = async {
        for piece in ["bo", "dy"] {
            sender.send(piece).await.unwrap();
        }
        drop(sender);
    };
    let (response, ()) = tokio::join!(egress.send(request, soon()), write);
    response.unwrap();

    let by_length = server.requests.recv().await.unwrap();
    assert!(by_length.contains("content-length: 4\r\n") && by_length.ends_with("\r\n\r\nbody"), "{by_length}");
    assert!(!by_length.contains("connection"), "{by_length}");
    let chunked = server.requests.recv().await.unwrap();
    assert!(chunked.ends_with("\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n"), "{chunked}");
}

/// Frames from a channel.
struct ReceiverStream(mpsc::Receiver<&'static str>);

impl futures_util::Stream for ReceiverStream {
    type Item = Result<http_body::Frame<Bytes>, std::convert::Infallible>;

    fn poll_next(mut self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(http_body::Frame::data(Bytes::from_static(piece.as_bytes())))))
    }
}

#[tokio::test]
async fn a_response_says_nothing_of_its_connection() {
    let head =
        "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\nkeep-alive: timeout=5\r\ntransfer-encoding: chunked\r\nx-a: 1\r\n\r\n";
    let server = Server::answering(format!("{head}5\r\nhello\r\n0\r\n\r\n")).await;
    let response = egress_to(&server, Limits::default()).send(get(&server.origin()), soon()).await.unwrap();
    assert_eq!(response.headers().keys().map(http::HeaderName::as_str).collect::<Vec<_>>(), ["x-a"]);
    assert_eq!(read(response).await.unwrap(), "hello");
}

#[tokio::test]
async fn head_has_a_length_and_no_body() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n").await;
    let limits = Limits { response_body_bytes: 1, ..Limits::default() };
    let request = Request::builder().method(Method::HEAD).uri(server.origin()).body(Full::<Bytes>::default()).unwrap();
    let response = egress_to(&server, limits).send(request, soon()).await.unwrap();
    assert_eq!(response.headers()["content-length"], "1000000000");
    assert_eq!(read(response).await.unwrap(), "");
}

#[tokio::test]
async fn a_dropped_request_or_body_closes_its_connection() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let server = Server::start(move |mut stream, _| {
        let tell = tell.clone();
        async move {
            if read_request(&mut stream).await.starts_with("GET /body") {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf").await.unwrap();
            }
            tell.send("arrived").unwrap();
            let end = stream.read(&mut [0; 16]).await;
            tell.send(if matches!(end, Ok(0) | Err(_)) { "closed" } else { "more" }).unwrap();
        }
    })
    .await;
    let egress = egress_to(&server, Limits::default());

    let response = egress.send(get(&format!("{}/body", server.origin())), soon()).await.unwrap();
    assert_eq!(told.recv().await.unwrap(), "arrived");
    drop(response);
    assert_eq!(told.recv().await.unwrap(), "closed");

    let url = format!("{}/silence", server.origin());
    let waiting = AbortOnDropHandle::new(tokio::spawn(async move { egress.send(get(&url), soon()).await.is_ok() }));
    assert_eq!(told.recv().await.unwrap(), "arrived");
    drop(waiting);
    assert_eq!(told.recv().await.unwrap(), "closed");
}

#[tokio::test(start_paused = true)]
async fn requests_beyond_the_places_wait_until_one_is_free() {
    let limits = Limits {
        concurrent_requests: 1,
        timeouts: Timeouts { connect: std::time::Duration::from_secs(3), ..Timeouts::default() },
        ..Limits::default()
    };
    let (egress, mut accepted) = crate::support::egress_in_memory(limits);
    let serve = tokio::spawn(async move {
        while let Some((_, mut stream)) = accepted.recv().await {
            read_request(&mut stream).await;
            stream.write_all(ok("hello").as_bytes()).await.unwrap();
        }
    });
    let first = egress.send(get("http://slow.test"), soon()).await.unwrap();
    // A clone is the same guest.
    let error = egress.clone().send(get("http://slow.test"), soon()).await.unwrap_err();
    assert!(matches!(error, EgressError::Timeout { phase: Phase::Queue, .. }), "{error}");
    assert_eq!(error.kind(), Kind::Timeout);
    // Read to its end, a response gives its place back even if it is kept.
    let mut body = first.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "hello");
    assert!(body.frame().await.is_none());
    let second = egress.send(get("http://slow.test"), soon()).await.unwrap();
    drop(second);
    egress.send(get("http://slow.test"), soon()).await.unwrap();
    serve.abort();
}

/// What a component runtime hands over is boxed, moves between threads and is not shared; so must be what it gets back.
#[tokio::test]
async fn boxed_bodies_of_other_threads_go_both_ways() {
    let server = Server::answering(ok("hello")).await;
    let egress = egress_to(&server, Limits::default());
    let body: UnsyncBoxBody<Bytes, std::io::Error> = Full::from("body").map_err(|never| match never {}).boxed_unsync();
    let request = Request::post(server.origin()).body(body).unwrap();
    let response = tokio::spawn(async move { egress.send(request, soon()).await }).await.unwrap().unwrap();
    let body: UnsyncBoxBody<Bytes, EgressError> = response.into_body().boxed_unsync();
    assert_eq!(tokio::spawn(body.collect()).await.unwrap().unwrap().to_bytes(), "hello");
}

#[test]
fn no_proxy_of_the_environment_is_used() {
    // Nothing listens there: a client that asked it would fail.
    let proxy = "http://127.0.0.1:1";
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "sending::get_reaches_the_server_in_origin_form"]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        again.env(name, proxy);
    }
    let output = again.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
