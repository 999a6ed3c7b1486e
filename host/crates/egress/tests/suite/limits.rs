//! Sizes: each limit bites, exactly where it says, and another value bites elsewhere.

use bytes::Bytes;
use egress::{EgressError, Kind, Limits, Part};
use http::Request;
use http_body_util::{BodyExt, Full};
use tokio::io::AsyncWriteExt;

use crate::support::{Server, egress_to, get, ok, read, read_request, soon};

async fn outcome(answer: String, limits: Limits) -> Result<String, EgressError> {
    let server = Server::answering(answer).await;
    let response = egress_to(&server, limits).send(get(&server.origin()), soon()).await?;
    read(response).await
}

#[track_caller]
fn assert_part(error: &EgressError, expected: Part, at: u64) {
    let EgressError::TooLarge { part, limit, .. } = error else { panic!("{error}") };
    assert_eq!((*part, *limit, error.kind()), (expected, at, Kind::TooLarge));
}

#[tokio::test]
async fn response_headers_are_cut_by_bytes() {
    for limit in [100_u64, 5_000, 50_000] {
        let limits = Limits { response_header_bytes: limit, ..Limits::default() };
        let head = |length: usize| format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nx-a: {}\r\n\r\n", "a".repeat(length));
        let rest = usize::try_from(limit).unwrap() - head(0).len();
        assert_eq!(outcome(head(rest), limits).await.unwrap(), "", "{limit}");
        let error = outcome(head(rest + 1), limits).await.unwrap_err();
        assert!(matches!(error, EgressError::ResponseHead { bytes, .. } if bytes == limit), "{limit}: {error}");
        assert_eq!(error.kind(), Kind::TooLarge);
    }
}

#[tokio::test]
async fn a_header_without_end_is_cut() {
    let server = Server::start(|mut stream, _| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        while stream.write_all(b"x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n").await.is_ok() {}
    })
    .await;
    let limits = Limits { response_header_fields: 1 << 20, ..Limits::default() };
    let error = egress_to(&server, limits).send(get(&server.origin()), soon()).await.unwrap_err();
    assert!(matches!(error, EgressError::ResponseHead { .. }), "{error}");
}

#[tokio::test]
async fn response_headers_are_cut_by_number() {
    for limit in [1_usize, 40, 200] {
        let limits = Limits { response_header_fields: limit, ..Limits::default() };
        let head = |fields: usize| format!("HTTP/1.1 204 No Content\r\n{}\r\n", "x-a: 1\r\n".repeat(fields));
        assert_eq!(outcome(head(limit), limits).await.unwrap(), "", "{limit}");
        let error = outcome(head(limit + 1), limits).await.unwrap_err();
        assert!(matches!(error, EgressError::ResponseHead { fields, .. } if fields == limit), "{limit}: {error}");
    }
}

#[tokio::test]
async fn response_bodies_are_cut_however_they_are_framed() {
    for limit in [0_u64, 4, 100_000] {
        let limits = Limits { response_body_bytes: limit, ..Limits::default() };
        let fits = "a".repeat(usize::try_from(limit).unwrap());
        let more = format!("{fits}b");
        let framings: [fn(&str) -> String; 3] = [
            ok,
            |body| format!("HTTP/1.1 200 OK\r\n\r\n{body}"),
            |body| {
                let chunk = if body.is_empty() { String::new() } else { format!("{:x}\r\n{body}\r\n", body.len()) };
                format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunk}0\r\n\r\n")
            },
        ];
        for framing in framings {
            assert_eq!(outcome(framing(&fits), limits).await.unwrap().len(), fits.len(), "{limit}");
            assert_part(&outcome(framing(&more), limits).await.unwrap_err(), Part::ResponseBody, limit);
        }
    }
}

#[tokio::test]
async fn what_is_below_the_limit_is_handed_out_before_the_error() {
    let server = Server::answering(ok(&"a".repeat(100_000))).await;
    let limits = Limits { response_body_bytes: 70_000, ..Limits::default() };
    let mut body = egress_to(&server, limits).send(get(&server.origin()), soon()).await.unwrap().into_body();
    let mut received = 0;
    let error = loop {
        match body.frame().await.unwrap() {
            Ok(frame) => received += frame.into_data().unwrap().len(),
            Err(error) => break error,
        }
    };
    assert_eq!(received, 70_000);
    assert_part(&error, Part::ResponseBody, 70_000);
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_body_without_end_is_cut() {
    let server = Server::start(|mut stream, _| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(&[b'a'; 8192]).await.is_ok() {}
    })
    .await;
    let response = egress_to(&server, Limits::default()).send(get(&server.origin()), soon()).await.unwrap();
    assert_part(&read(response).await.unwrap_err(), Part::ResponseBody, Limits::default().response_body_bytes);
}

#[tokio::test]
async fn trailers_are_cut_too() {
    let trailers = |fields: usize| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-t\r\n\r\n4\r\nbody\r\n0\r\n";
        format!("{head}{}\r\n", "x-t: 1\r\n".repeat(fields))
    };
    let limits = Limits { response_header_fields: 10, ..Limits::default() };
    assert_eq!(outcome(trailers(10), limits).await.unwrap(), "body");
    assert!(outcome(trailers(11), limits).await.is_err());
    let limits = Limits { response_header_bytes: 200, response_header_fields: 100, ..Limits::default() };
    assert_eq!(outcome(trailers(10), limits).await.unwrap(), "body");
    assert!(outcome(trailers(60), limits).await.is_err());
}

#[tokio::test]
async fn request_headers_are_cut_before_anything_is_sent() {
    let mut server = Server::answering(ok("")).await;
    for (limit, allowed) in [(10_000, true), (900, false), (1_000_000, true)] {
        let limits = Limits { request_header_bytes: limit, ..Limits::default() };
        let request = Request::get(server.origin()).header("x-a", "a".repeat(900)).body(Full::<Bytes>::default()).unwrap();
        match egress_to(&server, limits).send(request, soon()).await {
            Ok(_) => assert!(allowed && server.requests.recv().await.is_some()),
            Err(error) => {
                assert!(!allowed, "{error}");
                assert_part(&error, Part::RequestHeaders, limit);
                assert_eq!(server.seen(), None);
            }
        }
    }
    // A URL is a header too.
    let url = format!("{}/{}", server.origin(), "a".repeat(900));
    let limits = Limits { request_header_bytes: 900, ..Limits::default() };
    let error = egress_to(&server, limits).send(get(&url), soon()).await.unwrap_err();
    assert_part(&error, Part::RequestHeaders, 900);
}

#[tokio::test]
async fn request_bodies_are_cut_with_and_without_a_length() {
    let server = Server::answering(ok("")).await;
    for limit in [0_u64, 10, 100_000] {
        for more in [0, 1] {
            let limits = Limits { request_body_bytes: limit, ..Limits::default() };
            let body = Full::from("a".repeat(usize::try_from(limit + more).unwrap()));
            let request = Request::post(server.origin()).header("content-length", limit + more).body(body).unwrap();
            match egress_to(&server, limits).send(request, soon()).await {
                Ok(_) => assert_eq!(more, 0, "{limit}"),
                Err(error) => {
                    assert_eq!(more, 1, "{limit}: {error}");
                    assert_part(&error, Part::RequestBody, limit);
                }
            }
        }
    }
}
