//! Secrets on their way out: where they arrive, where they do not, and that nothing tells them.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use egress::test_support::TableResolver;
use egress::{EgressError, Kind, Limits, Placeholder, Rule, Secret, SecretText, Secrets};
use http::Request;
use http_body_util::Full;
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{Server, egress_by, egress_to, ok, policy, read, soon};

const TEXT: &str = "hunter2-hunter2";

fn secret(rule: &str) -> (Secrets, Placeholder) {
    let placeholder = Placeholder::random().unwrap();
    let rules = [Rule::parse(rule).unwrap()];
    let secret = Secret::new("API_KEY", placeholder.clone(), SecretText::new(TEXT), rules, "secrets.API_KEY.hosts").unwrap();
    (Secrets::from_iter([secret]), placeholder)
}

fn request(url: &str, authorization: &str) -> Request<Full<Bytes>> {
    Request::get(url).header("authorization", authorization).body(Full::default()).unwrap()
}

#[tokio::test]
async fn a_secret_arrives_where_it_may_go() {
    let mut server = Server::answering(ok("hello")).await;
    let (secrets, placeholder) = secret(&server.origin());
    let egress = egress_to(&server, Limits::default()).with_secrets(secrets);
    let response = egress.send(request(&server.origin(), &format!("Bearer {placeholder}")), soon()).await.unwrap();
    assert_eq!(read(response).await.unwrap(), "hello");
    let seen = server.requests.recv().await.unwrap();
    assert!(seen.contains(&format!("authorization: Bearer {TEXT}\r\n")) && !seen.contains(placeholder.as_str()), "{seen}");
}

#[tokio::test]
async fn a_request_with_a_secret_for_another_host_is_not_sent() {
    let mut server = Server::answering(ok("")).await;
    let resolver = TableResolver::default();
    let (secrets, placeholder) = secret("https://api.example.test");
    let egress = egress_by(resolver, policy(&[&server.origin()], &[])).with_secrets(secrets);
    let error = egress.send(request(&server.origin(), &format!("Bearer {placeholder}")), soon()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::RefusedByPolicy);
    let expected = format!(
        "secret `API_KEY` is not granted for GET requests to {0}; add `{0}` to `secrets.API_KEY.hosts` to allow it",
        server.origin()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(server.seen(), None);
}

#[tokio::test]
async fn a_placeholder_elsewhere_is_never_replaced() {
    let mut server = Server::answering(ok("")).await;
    let (secrets, placeholder) = secret(&server.origin());
    let egress = egress_to(&server, Limits::default()).with_secrets(secrets);
    let in_url = Request::get(format!("{}/?key={placeholder}", server.origin()));
    let in_path = Request::get(format!("{}/{placeholder}", server.origin()));
    let in_name = Request::get(server.origin()).header(format!("x-{placeholder}"), "1");
    for misplaced in [in_url, in_path, in_name] {
        let error = egress.send(misplaced.body(Full::<Bytes>::default()).unwrap(), soon()).await.unwrap_err();
        assert!(matches!(error, EgressError::Secret(_)), "{error}");
    }
    assert_eq!(server.seen(), None);
    let body = Full::from(placeholder.to_string());
    egress.send(Request::post(server.origin()).body(body).unwrap(), soon()).await.unwrap();
    let seen = server.requests.recv().await.unwrap();
    assert!(seen.ends_with(placeholder.as_str()) && !seen.contains(TEXT), "{seen}");
}

#[tokio::test]
async fn a_secret_counts_for_the_size_of_the_header() {
    let mut server = Server::answering(ok("")).await;
    let placeholder = Placeholder::random().unwrap();
    let rules = [Rule::parse(&server.origin()).unwrap()];
    let long = SecretText::new("a".repeat(2000));
    let secrets = Secrets::from_iter([Secret::new("LONG", placeholder.clone(), long, rules, "key").unwrap()]);
    for (limit, allowed) in [(1000, false), (3000, true)] {
        let limits = Limits { request_header_bytes: limit, ..Limits::default() };
        let egress = egress_to(&server, limits).with_secrets(secrets.clone());
        let outcome = egress.send(request(&server.origin(), placeholder.as_str()), soon()).await;
        assert_eq!(outcome.map_err(|error| error.kind()).err(), (!allowed).then_some(Kind::TooLarge), "{limit}");
    }
    assert!(server.requests.recv().await.unwrap().contains("aaaa"));
}

/// Everything that is logged, by other tests of this process too: none of them may tell anything either.
#[derive(Debug, Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn neither_logs_nor_errors_tell_a_secret_or_a_path() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(log.clone()).finish();
    // For all threads: a subscriber of one thread would miss what another thread saw first without one.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let mut errors = String::new();
    for answer in [ok("fine"), "no http\r\n\r\n".to_owned()] {
        let server = Server::answering(answer).await;
        let (secrets, placeholder) = secret(&server.origin());
        let egress = egress_to(&server, Limits::default()).with_secrets(secrets);
        let url = format!("{}/confidential-path?q=confidential-query", server.origin());
        if let Err(error) = egress.send(request(&url, placeholder.as_str()), soon()).await {
            errors += &format!("{error} {error:?}");
        }
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("request answered") && log.contains("request failed") && !errors.is_empty(), "{log}");
    for text in [&log, &errors] {
        assert!(!text.contains(TEXT) && !text.contains("confidential"), "{text}");
    }
}
