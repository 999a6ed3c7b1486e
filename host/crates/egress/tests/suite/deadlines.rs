//! Time: one absolute deadline over all phases, and the shorter limits of each. Time is paused where a test would have to wait.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use egress::test_support::{Accepted, TableResolver};
use egress::{Bound, Budget, Connect, Egress, EgressError, Kind, Limits, Network, Phase, Resolve, Stream, Timeouts};
use http::Request;
use http_body_util::BodyExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

use crate::support::{Server, egress_in_memory, egress_to, get, policy, read, read_request};

const SECOND: Duration = Duration::from_secs(1);

fn timeouts(timeouts: Timeouts) -> Limits {
    Limits { timeouts, ..Limits::default() }
}

/// Serves the first connection like this.
async fn serve(mut accepted: mpsc::UnboundedReceiver<Accepted>, server: impl AsyncFnOnce(DuplexStream)) {
    let (_, mut stream) = accepted.recv().await.unwrap();
    read_request(&mut stream).await;
    server(stream).await;
}

/// Writes one byte each second, as long as somebody reads.
async fn drip(mut stream: DuplexStream, head: &[u8]) {
    let _ = stream.write_all(head).await;
    while stream.write_all(b"x").await.is_ok() {
        sleep(SECOND).await;
    }
}

#[track_caller]
fn assert_timeout(error: &EgressError, expected: Phase, because: Bound) {
    let EgressError::Timeout { phase, bound, .. } = error else { panic!("{error}") };
    assert_eq!((*phase, *bound), (expected, because));
    assert_eq!(error.kind(), Kind::Timeout);
}

/// Never answers.
struct Never;

#[async_trait]
impl Resolve for Never {
    async fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        std::future::pending().await
    }
}

#[async_trait]
impl Connect for Never {
    async fn connect(&self, _: SocketAddr) -> io::Result<Box<dyn Stream>> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn resolving_and_connecting_end_in_time() {
    let table = || TableResolver::default().with("slow.test", &["93.184.215.14", "93.184.215.15"]);
    let networks = [
        (Phase::Resolve, Network::new(Arc::new(Never), Arc::new(Never))),
        (Phase::Connect, Network::new(Arc::new(table()), Arc::new(Never))),
    ];
    for (phase, network) in networks {
        for (limit, deadline, expected, bound) in
            [(5, 3, 3, Bound::Deadline), (5, 9, 5, Bound::Limit(5 * SECOND)), (9, 9, 9, Bound::Deadline)]
        {
            let limits = timeouts(Timeouts { connect: limit * SECOND, ..Timeouts::default() });
            let egress = Egress::new(network.clone(), policy(&["http://slow.test"], &[]), limits);
            let begin = Instant::now();
            let error = egress.send(get("http://slow.test"), begin + deadline * SECOND).await.unwrap_err();
            assert_timeout(&error, phase, bound);
            assert_eq!(begin.elapsed().as_secs(), expected);
        }
    }
}

/// The first address never answers, the second refuses.
struct FirstNever;

#[async_trait]
impl Connect for FirstNever {
    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        if address.ip() == IpAddr::from([93, 184, 215, 14]) {
            std::future::pending::<()>().await;
        }
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_address_leaves_time_for_the_next() {
    let table = TableResolver::default().with("slow.test", &["93.184.215.14", "93.184.215.15"]);
    let network = Network::new(Arc::new(table), Arc::new(FirstNever));
    let egress = Egress::new(network, policy(&["http://slow.test"], &[]), Limits::default());
    let begin = Instant::now();
    let error = egress.send(get("http://slow.test"), begin + 4 * SECOND).await.unwrap_err();
    assert_eq!((error.kind(), begin.elapsed().as_secs()), (Kind::Connect, 2));
}

#[tokio::test(start_paused = true)]
async fn tls_ends_in_time() {
    let table = TableResolver::default().with("slow.test", &["93.184.215.14"]);
    // Roots from memory: reading those of the machine takes real time.
    let network = Network::new(Arc::new(table), Arc::new(NeverSpeaks)).with_roots(crate::tls::roots()).unwrap();
    let egress = Egress::new(network, policy(&["https://slow.test"], &[]), Limits::default());
    let begin = Instant::now();
    let error = egress.send(get("https://slow.test"), begin + 3 * SECOND).await.unwrap_err();
    assert_timeout(&error, Phase::Tls, Bound::Deadline);
    assert_eq!(begin.elapsed().as_secs(), 3);
}

/// Connects, and says nothing from then on.
struct NeverSpeaks;

#[async_trait]
impl Connect for NeverSpeaks {
    async fn connect(&self, _: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let (client, server) = tokio::io::duplex(1 << 16);
        tokio::spawn(async move {
            let _open = server;
            std::future::pending::<()>().await;
        });
        Ok(Box::new(client))
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_ends_with_the_first_byte_limit_or_the_deadline() {
    for (limit, asked, deadline, expected, bound) in [
        (5, None, 9, 5, Bound::Limit(5 * SECOND)),
        (5, None, 3, 3, Bound::Deadline),
        (5, Some(2), 9, 2, Bound::Limit(2 * SECOND)),
        (5, Some(600), 9, 5, Bound::Limit(5 * SECOND)),
    ] {
        let (egress, accepted) = egress_in_memory(timeouts(Timeouts { first_byte: limit * SECOND, ..Timeouts::default() }));
        let begin = Instant::now();
        let budget = Budget::until(begin + deadline * SECOND).first_byte(asked.map(Duration::from_secs));
        let server = serve(accepted, async |mut stream| assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0));
        let (outcome, ()) = tokio::join!(egress.send(get("http://slow.test"), budget), server);
        assert_timeout(&outcome.unwrap_err(), Phase::FirstByte, bound);
        assert_eq!(begin.elapsed().as_secs(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_that_drips_does_not_move_the_deadline() {
    for (first_byte, expected, bound) in [(60, 30, Bound::Deadline), (20, 20, Bound::Limit(20 * SECOND))] {
        let (egress, accepted) = egress_in_memory(timeouts(Timeouts { first_byte: first_byte * SECOND, ..Timeouts::default() }));
        let begin = Instant::now();
        let server = tokio::spawn(serve(accepted, async |stream| drip(stream, b"HTTP/1.1 200 OK\r\nx-long: ").await));
        let error = egress.send(get("http://slow.test"), begin + 30 * SECOND).await.unwrap_err();
        assert_timeout(&error, Phase::FirstByte, bound);
        assert_eq!(begin.elapsed().as_secs(), expected);
        // The server notices: its next byte finds nobody.
        server.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_drips_does_not_move_the_deadline() {
    for (between_bytes, total, expected, bound) in [(5, 300, 30, Bound::Deadline), (5, 20, 20, Bound::Limit(20 * SECOND))] {
        let limits = Timeouts { between_bytes: between_bytes * SECOND, total: total * SECOND, ..Timeouts::default() };
        let (egress, accepted) = egress_in_memory(timeouts(limits));
        let begin = Instant::now();
        let server = tokio::spawn(serve(accepted, async |stream| drip(stream, b"HTTP/1.1 200 OK\r\n\r\n").await));
        let response = egress.send(get("http://slow.test"), begin + 30 * SECOND).await.unwrap();
        assert_timeout(&read(response).await.unwrap_err(), Phase::Body, bound);
        assert_eq!(begin.elapsed().as_secs(), expected);
        server.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_stops_ends_with_the_pause_limit() {
    let (egress, accepted) = egress_in_memory(timeouts(Timeouts { between_bytes: 5 * SECOND, ..Timeouts::default() }));
    let server = serve(accepted, async |mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").await.unwrap();
        assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0);
    });
    let client = async {
        let mut body = egress.send(get("http://slow.test"), Instant::now() + 60 * SECOND).await.unwrap().into_body();
        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "half");
        // A reader that takes its time is not the server's fault.
        sleep(20 * SECOND).await;
        let begin = Instant::now();
        assert_timeout(&body.frame().await.unwrap().unwrap_err(), Phase::Body, Bound::Limit(5 * SECOND));
        assert_eq!(begin.elapsed().as_secs(), 5);
        assert!(body.frame().await.is_none(), "after an error a body is at its end");
    };
    tokio::join!(server, client);
}

#[tokio::test(start_paused = true)]
async fn a_response_that_nobody_reads_is_closed_at_the_deadline() {
    let (egress, accepted) = egress_in_memory(Limits::default());
    let begin = Instant::now();
    let server = tokio::spawn(serve(accepted, async move |mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nsome").await.unwrap();
        assert_eq!(stream.read(&mut [0]).await.unwrap_or(0), 0);
        assert_eq!(begin.elapsed().as_secs(), 7);
    }));
    let response = egress.send(get("http://slow.test"), begin + 7 * SECOND).await.unwrap();
    server.await.unwrap();
    assert_timeout(&read(response).await.unwrap_err(), Phase::Body, Bound::Deadline);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_handed_out_after_the_deadline() {
    let (egress, accepted) = egress_in_memory(Limits::default());
    let server = tokio::spawn(serve(accepted, async |mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nin time").await.unwrap();
        std::future::pending().await
    }));
    let mut body = egress.send(get("http://slow.test"), Instant::now() + 7 * SECOND).await.unwrap().into_body();
    sleep(8 * SECOND).await;
    assert_timeout(&body.frame().await.unwrap().unwrap_err(), Phase::Body, Bound::Deadline);
    server.abort();
}

/// Waiter and connection end at the same instant, on two threads: whoever is first, it is a timeout.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadline_is_never_taken_for_a_broken_connection() {
    for head in ["", "HTTP/1.1 200 OK\r\n\r\n"] {
        let (egress, mut accepted) = egress_in_memory(Limits { concurrent_requests: 500, ..Limits::default() });
        let server = tokio::spawn(async move {
            let mut open = Vec::new();
            while let Some((_, mut stream)) = accepted.recv().await {
                read_request(&mut stream).await;
                stream.write_all(head.as_bytes()).await.unwrap();
                open.push(stream);
            }
        });
        let deadline = Instant::now() + Duration::from_millis(200);
        let request = |egress: Egress| async move {
            match egress.send(get("http://slow.test"), deadline).await {
                Ok(response) => read(response).await.unwrap_err(),
                Err(error) => error,
            }
        };
        let requests: Vec<_> = (0..500).map(|_| tokio::spawn(request(egress.clone()))).collect();
        for request in requests {
            assert_eq!(request.await.unwrap().kind(), Kind::Timeout);
        }
        server.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_body_that_never_ends_is_cut_and_has_no_first_byte_limit() {
    let (egress, accepted) = egress_in_memory(timeouts(Timeouts { first_byte: SECOND, ..Timeouts::default() }));
    let begin = Instant::now();
    let request = Request::post("http://slow.test").body(Stuck).unwrap();
    let server = tokio::spawn(serve(accepted, async |_| ()));
    let error = egress.send(request, begin + 8 * SECOND).await.unwrap_err();
    assert_timeout(&error, Phase::Send, Bound::Deadline);
    assert_eq!(begin.elapsed().as_secs(), 8);
    server.await.unwrap();
}

/// A guest that opened a body and does not write it.
struct Stuck;

impl http_body::Body for Stuck {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, io::Error>>> {
        std::task::Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_has_passed_connects_to_nothing() {
    let (egress, mut accepted) = egress_in_memory(Limits::default());
    let error = egress.send(get("http://slow.test"), Instant::now()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout);
    assert!(accepted.try_recv().is_err());
}

#[tokio::test]
async fn a_silent_server_ends_with_a_real_deadline() {
    let server = Server::start(|mut stream, _| async move {
        // Until the client closes.
        while stream.read(&mut [0; 1024]).await.is_ok_and(|length| length > 0) {}
    })
    .await;
    let begin = std::time::Instant::now();
    let deadline = Instant::now() + Duration::from_millis(150);
    let error = egress_to(&server, Limits::default()).send(get(&server.origin()), deadline).await.unwrap_err();
    assert_timeout(&error, Phase::FirstByte, Bound::Deadline);
    assert!((150..5000).contains(&begin.elapsed().as_millis()), "{:?}", begin.elapsed());
}
