//! Servers and guests that break HTTP, off or both.

use std::io;

use bytes::Bytes;
use egress::{EgressError, Kind, Limits};
use http::{Method, Request};
use http_body::Frame;
use http_body_util::{Full, StreamBody};

use crate::support::{Server, egress_to, get, read, soon};

async fn outcome(answer: &str) -> Result<String, EgressError> {
    let server = Server::answering(answer).await;
    let response = egress_to(&server, Limits::default()).send(get(&server.origin()), soon()).await?;
    read(response).await
}

#[tokio::test]
async fn answers_that_are_no_http_have_kind_protocol() {
    for answer in [
        "",
        "HTTP/1.1",
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nx-half: ",
        "hello\r\n\r\n",
        "HTTP/0.9 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\nabcde",
        "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabcde",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nab",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\nabcde\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\na\r\n0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    ] {
        let error = outcome(answer).await.expect_err(answer);
        assert_eq!(error.kind(), Kind::Protocol, "{answer:?}: {error}");
    }
}

#[tokio::test]
async fn what_follows_the_announced_body_is_not_read() {
    let body = outcome("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbodyHTTP/1.1 200 OK\r\n\r\nsmuggled").await.unwrap();
    assert_eq!(body, "body");
    let body = outcome("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbody").await.unwrap();
    assert_eq!(body, "body");
}

#[tokio::test]
async fn a_guest_cannot_announce_another_length() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let egress = egress_to(&server, Limits::default());
    for (length, body) in [(3, "body"), (5, "body"), (1, ""), (1_000_000, "")] {
        let request = Request::post(server.origin()).header("content-length", length).body(Full::from(body)).unwrap();
        let error = egress.send(request, soon()).await.unwrap_err();
        assert!(matches!(error, EgressError::RequestLength { .. }), "{length} {body}: {error}");
    }
}

#[tokio::test]
async fn a_guest_that_breaks_off_is_to_blame() {
    let server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let frames = [Ok(Frame::data(Bytes::from_static(b"half"))), Err(io::Error::other("guest is gone"))];
    let request = Request::post(server.origin()).body(StreamBody::new(futures_util::stream::iter(frames))).unwrap();
    let error = egress_to(&server, Limits::default()).send(request, soon()).await.unwrap_err();
    assert!(matches!(error, EgressError::RequestBody { .. }), "{error}");
    assert_eq!(error.kind(), Kind::Protocol);
}

#[tokio::test]
async fn requests_that_a_guest_may_not_make_do_not_leave() {
    let mut server = Server::answering("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let egress = egress_to(&server, Limits::default());
    let request = || Request::builder().uri(server.origin());
    for request in [
        request().method(Method::CONNECT),
        request().method(Method::TRACE),
        request().header("host", "other.test"),
        request().header("transfer-encoding", "chunked"),
        request().header("upgrade", "websocket"),
        request().header("proxy-authorization", "Basic x"),
    ] {
        let error = egress.send(request.body(Full::<Bytes>::default()).unwrap(), soon()).await.unwrap_err();
        assert_eq!(error.kind(), Kind::RefusedByPolicy, "{error}");
    }
    assert_eq!(server.seen(), None);
}
