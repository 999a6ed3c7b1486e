//! Outgoing requests of plugins, through a real guest, the whole host and a real server: what the operator granted goes out, nothing else
//! does, and a secret is in the request and nowhere else. The rules of addresses themselves are tested in `egress`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use domain::message::text_of;
use serde_json::{Value, json};
use system_tests::{Host, Plugin, World, call, say};

use crate::guests;

/// What the operator's secret holds.
const SECRET: &str = "hush-hush-0123456789";

/// A server on this machine that answers by path, and the heads of all requests that it got.
struct Server {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&heads);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let seen = Arc::clone(&seen);
                thread::spawn(move || serve(stream, &seen));
            }
        });
        Self { port, heads }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// The grant of this server.
    fn granted(&self) -> Value {
        json!({ "http": { "allow": [self.url("")], "privateNetworks": ["127.0.0.1"] } })
    }
}

/// Serves one request of a connection. `None`: the other side has gone.
fn serve(mut stream: TcpStream, heads: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    heads.lock().unwrap().push(head.clone());
    let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let target = head.split(' ').nth(1)?.to_owned();
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let answer = |status: &str, headers: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n", body.len());
        [head.as_bytes(), body].concat()
    };
    let number = || query.parse().unwrap_or(0);
    let bytes = match path {
        "/echo" => answer("200 OK", "x-answer: yes\r\n", format!("{head}{}", body.len()).as_bytes()),
        "/away" => answer("302 Found", &format!("location: {query}\r\n"), b""),
        "/large" => answer("200 OK", "", &vec![b'x'; number()]),
        "/headers" => answer("200 OK", &format!("x-filler: {}\r\n", "y".repeat(number())), b"small"),
        // The head, half a body, and then nothing until the other side goes.
        "/half" => b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_vec(),
        "/silent" => Vec::new(),
        _ => answer("404 Not Found", "", b"nothing here"),
    };
    stream.write_all(&bytes).ok()?;
    if path == "/half" || path == "/silent" {
        let _ = reader.read(&mut [0]);
    }
    Some(())
}

fn fetcher(capabilities: &Value) -> Plugin {
    let asks = json!({ "http": { "allow": ["http://127.0.0.1"] }, "secrets": ["token"] });
    Plugin::new("fetcher", guests::CAP_HTTP)
        .manifest(json!({ "contracts": { "tools": ["fetch"] }, "capabilities": asks }))
        .operator(json!({ "capabilities": capabilities }))
}

/// Grants secrets too; the guest imports them.
fn with_secrets(mut capabilities: Value, allow: &Value) -> Value {
    capabilities["secrets"] = json!({ "token": { "value": { "env": "TOKEN" }, "allow": allow } });
    capabilities
}

/// The model calls `fetch`; gives what the guest reports.
async fn fetched(plugin: Plugin, requests: Value) -> (Host, Value) {
    let world = World::new().variable("TOKEN", SECRET).plugin(plugin);
    let host = world.turns([call("fetch", json!({ "requests": requests })), say("done")]).start().await;
    host.say("go").await;
    let report = text_of(&host.tool_results().await[0].content);
    let found = serde_json::from_str(&report).unwrap_or_else(|_| json!({ "failed": report }));
    (host, found)
}

fn error(found: &Value, index: usize) -> &str {
    found["found"][index]["error"].as_str().unwrap_or_else(|| panic!("no error: {found}"))
}

#[tokio::test]
async fn what_is_granted_goes_out_and_the_answer_comes_back() {
    let server = Server::start();
    let grants = with_secrets(server.granted(), &json!([]));
    let requests = json!([
        { "method": "POST", "url": server.url("/echo?q=1"), "headers": { "x-own": "mine" }, "bodyBytes": 10_000 },
        { "url": server.url("/nowhere") },
    ]);
    let (_host, found) = fetched(fetcher(&grants), requests).await;
    let echo = &found["found"][0];
    assert_eq!((&echo["status"], &echo["headers"]["x-answer"]), (&json!(200), &json!("yes")), "{found}");
    let seen = echo["body"].as_str().unwrap();
    assert!(seen.starts_with("POST /echo?q=1 HTTP/1.1\r\n") && seen.contains("x-own: mine") && seen.ends_with("10000"), "{seen}");
    assert_eq!((&found["found"][1]["status"], &found["found"][1]["body"]), (&json!(404), &json!("nothing here")));
}

#[tokio::test]
async fn a_secret_is_in_the_request_and_the_guest_never_holds_it() {
    let server = Server::start();
    let grants = with_secrets(server.granted(), &json!([server.url("")]));
    let requests =
        json!([{ "url": server.url("/nowhere"), "secret": "token" }, { "url": server.url("/nowhere"), "secret": "other" }]);
    let (host, found) = fetched(fetcher(&grants), requests).await;
    assert!(server.heads()[0].contains(&format!("authorization: Bearer {SECRET}\r\n")), "{:?}", server.heads());
    assert_eq!(server.heads().len(), 1, "without its secret the second request is not even made");
    let held = found["found"][0]["authorization"].as_str().unwrap();
    assert!(held.starts_with("Bearer ") && !held.contains(SECRET), "{held}");
    assert_eq!(found["secrets"], json!(["token"]));
    assert!(error(&found, 1).starts_with("Denied"), "{found}");
    let everything = format!("{found}{}{:?}", host.transcript().await.join("\n"), host.log());
    assert!(!everything.contains(SECRET));
    assert_eq!(host.log().warnings(&["plugins.entries.fetcher.capabilities.secrets.other"]).len(), 1);
}

#[tokio::test]
async fn a_secret_goes_nowhere_that_it_was_not_granted_for() {
    let (first, second) = (Server::start(), Server::start());
    let both = json!({ "http": { "allow": [first.url(""), second.url("")], "privateNetworks": ["127.0.0.1"] } });
    let grants = with_secrets(both, &json!([first.url("")]));
    let requests = json!([
        { "url": second.url("/echo"), "secret": "token" },
        { "url": first.url("/nowhere"), "secret": "token" },
    ]);
    let (host, found) = fetched(fetcher(&grants), requests).await;
    assert!(error(&found, 0).starts_with("Refused"), "{found}");
    assert!(second.heads().is_empty(), "{:?}", second.heads());
    assert!(first.heads()[0].contains(SECRET), "{:?}", first.heads());
    assert_eq!(host.log().warnings(&["plugins.entries.fetcher.capabilities.secrets.token.allow"]).len(), 1);
}

#[tokio::test]
async fn without_a_grant_nothing_goes_out_and_the_line_is_told_once() {
    let server = Server::start();
    let requests = json!([{ "url": server.url("/echo") }, { "url": server.url("/echo") }]);
    let (host, found) = fetched(fetcher(&with_secrets(json!({}), &json!([]))), requests).await;
    assert!(error(&found, 0).starts_with("Refused") && error(&found, 1).starts_with("Refused"), "{found}");
    assert!(server.heads().is_empty());
    assert_eq!(host.log().warnings(&["plugins.entries.fetcher.capabilities.http.allow"]).len(), 1);
}

#[tokio::test]
async fn other_hosts_ports_and_methods_than_the_granted_are_refused() {
    let (server, other) = (Server::start(), Server::start());
    let rule = json!({ "url": server.url(""), "methods": ["GET"] });
    let grants = json!({ "http": { "allow": [rule], "privateNetworks": ["127.0.0.1"] } });
    let requests = json!([
        { "url": server.url("/echo") },
        { "url": server.url("/echo"), "method": "DELETE" },
        { "url": other.url("/echo") },
        { "url": format!("http://localhost:{}/echo", server.port) },
        { "url": format!("https://127.0.0.1:{}/echo", server.port) },
        { "url": format!("http://user:word@127.0.0.1:{}/echo", server.port) },
        { "url": format!("ftp://127.0.0.1:{}/echo", server.port) },
        { "url": "not an address" },
    ]);
    let (_host, found) = fetched(fetcher(&with_secrets(grants, &json!([]))), requests).await;
    assert_eq!(found["found"][0]["status"], 200, "{found}");
    for index in 1..8 {
        let told = error(&found, index);
        assert!(["Refused", "Invalid", "Failed"].iter().any(|kind| told.starts_with(kind)), "{index}: {told}");
    }
    assert_eq!((server.heads().len(), other.heads().len()), (1, 0));
}

#[tokio::test]
async fn addresses_inside_are_refused_unless_they_are_granted_too() {
    let server = Server::start();
    let port = server.port;
    // All of them are this machine, or the network around it; some as numbers that a naive check misses.
    let hosts = [
        "localhost",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::]",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.0.1",
        "172.16.0.1",
        "[fe80::1]",
        "[fd00::1]",
        "100.64.0.1",
    ];
    let requests: Value = hosts.iter().map(|host| json!({ "url": format!("http://{host}:{port}/echo") })).collect();
    let everywhere = with_secrets(json!({ "http": { "allow": [format!("http://*:{port}")] } }), &json!([]));
    let (host, found) = fetched(fetcher(&everywhere), requests.clone()).await;
    for (index, address) in hosts.iter().enumerate() {
        let told = error(&found, index);
        assert!(["Refused", "Invalid"].iter().any(|kind| told.starts_with(kind)), "{address}: {told}");
    }
    assert!(server.heads().is_empty(), "{:?}", server.heads());
    assert_eq!(
        host.log().warnings(&["plugins.entries.fetcher.capabilities.http.privateNetworks"]).len(),
        1,
        "once a kind and run"
    );
    // And with this machine opened, those that are this machine by name or number, and no others.
    let mut opened = everywhere;
    opened["http"]["privateNetworks"] = json!(["127.0.0.1"]);
    let (_host, found) = fetched(fetcher(&opened), requests).await;
    let reached: Vec<&str> =
        (0..hosts.len()).filter(|index| found["found"][*index]["status"] == 200).map(|index| hosts[index]).collect();
    assert_eq!(reached[..2], ["localhost", "127.0.0.1"], "{found}");
    assert!(reached.iter().all(|host| host.contains("127.") || *host == "localhost"), "{reached:?}");
}

/// The host follows none by itself: where it leads is asked for like anything else.
#[tokio::test]
async fn a_redirect_is_an_answer_and_leads_nowhere_by_itself() {
    let (server, other) = (Server::start(), Server::start());
    let requests = json!([{ "url": server.url(&format!("/away?{}", other.url("/echo"))) }, { "url": other.url("/echo") }]);
    let (_host, found) = fetched(fetcher(&with_secrets(server.granted(), &json!([]))), requests).await;
    let hop = &found["found"][0];
    assert_eq!((&hop["status"], &hop["headers"]["location"]), (&json!(302), &json!(other.url("/echo"))), "{found}");
    assert!(error(&found, 1).starts_with("Refused"), "{found}");
    assert!(other.heads().is_empty());
}

#[tokio::test]
async fn each_size_is_the_operators() {
    let server = Server::start();
    for (key, small, large, request) in [
        ("responseBodyBytes", 999, 1000, json!({ "url": server.url("/large?1000") })),
        ("requestBodyBytes", 999, 1000, json!({ "url": server.url("/echo"), "method": "POST", "bodyBytes": 1000 })),
        ("headerBytes", 1000, 4000, json!({ "url": server.url("/headers?1500") })),
    ] {
        for (bytes, fits) in [(small, false), (large, true)] {
            let mut grants = with_secrets(server.granted(), &json!([]));
            grants["http"][key] = json!(bytes);
            let (_host, found) = fetched(fetcher(&grants), json!([request])).await;
            assert_eq!(found["found"][0]["status"] == 200, fits, "{key} {bytes}: {found}");
            if !fits {
                assert!(error(&found, 0).starts_with("TooLarge"), "{key}: {found}");
            }
        }
    }
}

#[tokio::test]
async fn a_request_ends_with_its_own_time_and_with_that_of_the_call() {
    let server = Server::start();
    // The guest's own limit.
    let grants = with_secrets(server.granted(), &json!([]));
    let requests = json!([{ "url": server.url("/silent"), "timeoutMs": 50 }, { "url": server.url("/half"), "timeoutMs": 50 }]);
    let (_host, found) = fetched(fetcher(&grants), requests).await;
    assert!((0..2).all(|index| error(&found, index) == "Timeout"), "nothing of the host stands in it: {found}");
    // The operator's.
    let mut short = grants.clone();
    short["http"]["timeoutMs"] = json!(50);
    let (_host, found) = fetched(fetcher(&short), json!([{ "url": server.url("/half") }])).await;
    assert!(error(&found, 0).starts_with("Timeout"), "{found}");
    // That of the call: there is no answer of the guest then.
    for path in ["/silent", "/half"] {
        let plugin = fetcher(&grants).operator(json!({ "limits": { "toolMs": 300 } }));
        let began = Instant::now();
        let (_host, found) = fetched(plugin, json!([{ "url": server.url(path) }])).await;
        assert!(found["failed"].as_str().is_some_and(|told| told.contains("300 ms")), "{path}: {found}");
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    }
}

#[tokio::test]
async fn a_trap_after_a_request_has_failed_the_call_and_the_request_was_made() {
    let server = Server::start();
    let grants = with_secrets(server.granted(), &json!([]));
    let world = World::new().variable("TOKEN", SECRET).plugin(fetcher(&grants));
    let requests = json!([{ "url": server.url("/echo") }]);
    let turns = [
        call("fetch", json!({ "requests": requests, "trap": true })),
        call("fetch", json!({ "requests": requests })),
        say("done"),
    ];
    let host = world.turns(turns).start().await;
    host.say("go").await;
    let results = host.tool_results().await;
    assert_eq!((results[0].is_error, results[1].is_error), (true, false), "{results:?}");
    assert_eq!(server.heads().len(), 2);
}
