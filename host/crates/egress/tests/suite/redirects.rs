//! Redirects: handed out as they are, or followed with every check made again.

use bytes::Bytes;
use egress::test_support::TableResolver;
use egress::{EgressError, FinalUri, Kind, Limits, Part, Placeholder, Redirects, Rule, Secret, SecretText, Secrets};
use http::{Request, StatusCode};
use tokio::io::AsyncWriteExt;

use crate::support::{Server, egress_by, egress_to, get, ok, policy, read, soon};

fn to(location: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
}

fn request(url: &str) -> http::request::Builder {
    Request::get(url).header("authorization", "Bearer x").header("cookie", "a=b").header("accept", "*/*")
}

#[tokio::test]
async fn a_redirect_is_a_response_like_any_other() {
    let inside = Server::answering(ok("inside")).await;
    let server = Server::answering(to(&inside.origin())).await;
    let egress = egress_to(&server, Limits::default());
    let response = egress.send(get(&server.origin()), soon()).await.unwrap();
    assert_eq!(response.status(), StatusCode::FOUND);
    // The guest follows by itself: a new request, and refused.
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    assert_eq!(egress.send(get(&location), soon()).await.unwrap_err().kind(), Kind::RefusedByPolicy);
}

#[tokio::test]
async fn no_hop_leads_to_where_a_request_may_not_go() {
    let mut inside = Server::answering(ok("inside")).await;
    let inside_port = inside.address.port();
    for (location, kind) in [
        (inside.origin(), Kind::RefusedByPolicy),
        (format!("//127.0.0.1:{inside_port}/"), Kind::RefusedByPolicy),
        (format!("http://2130706433:{inside_port}/"), Kind::RefusedByPolicy),
        (format!("http://user@127.0.0.1:{inside_port}/"), Kind::RefusedByPolicy),
        ("file:///etc/passwd".to_owned(), Kind::RefusedByPolicy),
        ("http://".to_owned(), Kind::RefusedByPolicy),
        ("http://169.254.169.254:4000/latest".to_owned(), Kind::RefusedAddress),
        ("http://[::ffff:10.0.0.1]:4000/".to_owned(), Kind::RefusedAddress),
        ("http://inside.test:4000/".to_owned(), Kind::RefusedAddress),
    ] {
        let server = Server::answering(to(&location)).await;
        let resolver = TableResolver::default().with("inside.test", &["127.0.0.1"]);
        let egress = egress_by(resolver, policy(&[&server.origin(), "http://*:4000"], &[]));
        let outcome =
            egress.send_following(request(&server.origin()).body(Bytes::new()).unwrap(), soon(), Redirects::default()).await;
        assert_eq!(outcome.unwrap_err().kind(), kind, "{location}");
    }
    assert_eq!(inside.seen(), None);
}

#[tokio::test]
async fn credentials_do_not_cross_origins() {
    let mut other = Server::answering(ok("other")).await;
    let mut server = Server::answering(to(&format!("{}/page", other.origin()))).await;
    let egress = egress_by(TableResolver::default(), policy(&[&server.origin(), &other.origin()], &[]));
    let placeholder = Placeholder::random().unwrap();
    let rules = [Rule::parse(&server.origin()).unwrap(), Rule::parse(&other.origin()).unwrap()];
    let secret = Secret::new("KEY", placeholder.clone(), SecretText::new("hunter2"), rules, "key").unwrap();
    let egress = egress.with_secrets(Secrets::from_iter([secret]));

    let request = request(&server.origin()).header("x-api-key", placeholder.as_str()).body(Bytes::new()).unwrap();
    let response = egress.send_following(request, soon(), Redirects::default()).await.unwrap();
    assert_eq!(response.extensions().get::<FinalUri>().unwrap().0, *format!("{}/page", other.origin()));
    assert_eq!(read(response).await.unwrap(), "other");

    let first = server.requests.recv().await.unwrap();
    assert!(first.contains("authorization: Bearer x") && first.contains("x-api-key: hunter2"), "{first}");
    let second = other.requests.recv().await.unwrap();
    assert!(second.starts_with("GET /page ") && second.contains("accept: */*"), "{second}");
    for gone in ["authorization", "cookie", "x-api-key", "hunter2"] {
        assert!(!second.contains(gone), "{second}");
    }
}

#[tokio::test]
async fn a_chain_has_an_end() {
    let mut server = Server::answering(to("/again")).await;
    // One place: each hop gives it back before the next.
    let egress = egress_to(&server, Limits { concurrent_requests: 1, ..Limits::default() });
    for max_hops in [0, 3] {
        let request = request(&server.origin()).body(Bytes::new()).unwrap();
        let error = egress.send_following(request, soon(), Redirects { max_hops }).await.unwrap_err();
        assert!(matches!(error, EgressError::TooLarge { part: Part::Redirects, .. }), "{error}");
        for _ in 0..=max_hops {
            let seen = server.requests.recv().await.unwrap();
            assert!(seen.contains("authorization: Bearer x"), "the origin stays the same: {seen}");
        }
    }
    assert_eq!(server.seen(), None);
}

#[tokio::test]
async fn a_post_becomes_a_get_without_its_body() {
    let mut page = Server::answering(ok("page")).await;
    let mut server = Server::answering(to(&page.origin())).await;
    let egress = egress_by(TableResolver::default(), policy(&[&server.origin(), &page.origin()], &[]));
    let request = Request::post(server.origin()).header("content-length", "4").body(Bytes::from_static(b"body")).unwrap();
    egress.send_following(request, soon(), Redirects::default()).await.unwrap();
    assert!(server.requests.recv().await.unwrap().ends_with("body"));
    let second = page.requests.recv().await.unwrap();
    assert!(second.starts_with("GET / ") && !second.contains("content-length") && second.ends_with("\r\n\r\n"), "{second}");
}

#[tokio::test(start_paused = true)]
async fn all_hops_share_one_deadline() {
    let (egress, mut accepted) = crate::support::egress_in_memory(Limits::default());
    let serve = tokio::spawn(async move {
        while let Some((_, mut stream)) = accepted.recv().await {
            crate::support::read_request(&mut stream).await;
            tokio::time::sleep(std::time::Duration::from_secs(4)).await;
            stream.write_all(to("/again").as_bytes()).await.unwrap();
        }
    });
    let begin = tokio::time::Instant::now();
    let deadline = begin + std::time::Duration::from_secs(10);
    let request = request("http://slow.test").body(Bytes::new()).unwrap();
    let error = egress.send_following(request, deadline, Redirects { max_hops: 50 }).await.unwrap_err();
    assert_eq!((error.kind(), begin.elapsed().as_secs()), (Kind::Timeout, 10));
    serve.abort();
}
