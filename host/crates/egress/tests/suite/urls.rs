//! URLs of every kind against one policy, through the whole of [`egress::Egress::send`] with a resolver and a connector that tell what
//! they were asked for.

use std::sync::Arc;

use egress::test_support::{MemoryConnector, TableResolver};
use egress::{Egress, Kind, Limits, Network};
use http::Uri;
use tokio::io::AsyncWriteExt;

use crate::support::{get, ok, policy, read_request, soon};

/// What comes of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Connected to this.
    Connects(&'static str),
    /// Refused with this kind.
    Refused(Kind),
    /// The type that carries URLs cannot even hold it.
    Unwritable,
}

use Kind::{RefusedAddress, RefusedByPolicy};
use Outcome::{Connects, Refused, Unwritable};

const API: &str = "93.184.215.14";

/// Allowed: the API over TLS's own port and in clear on 8080, everything below the CDN, any host on port 4000, one loopback port, one
/// IPv6 address, one international name.
const RULES: [&str; 7] = [
    "http://api.example.test",
    "http://api.example.test:8080",
    "http://*.cdn.example.test",
    "http://*:4000",
    "http://127.0.0.1:9000",
    "http://[2606:4700::1]:81",
    "http://bücher.example",
];

const URLS: [(&str, Outcome); 88] = [
    // As granted.
    ("http://api.example.test", Connects("93.184.215.14:80")),
    ("http://api.example.test/", Connects("93.184.215.14:80")),
    ("http://api.example.test/a/../b?c=d&e=@f:g", Connects("93.184.215.14:80")),
    ("http://api.example.test:80/", Connects("93.184.215.14:80")),
    ("http://api.example.test:8080/", Connects("93.184.215.14:8080")),
    ("http://API.EXAMPLE.TEST/", Connects("93.184.215.14:80")),
    ("HTTP://Api.Example.Test/", Connects("93.184.215.14:80")),
    ("http://a.cdn.example.test/", Connects("93.184.215.14:80")),
    ("http://a.b.cdn.example.test/", Connects("93.184.215.14:80")),
    ("http://xn--bcher-kva.example/", Connects("93.184.215.14:80")),
    ("http://XN--BCHER-KVA.EXAMPLE/", Connects("93.184.215.14:80")),
    ("http://127.0.0.1:9000/", Connects("127.0.0.1:9000")),
    ("http://[2606:4700::1]:81/", Connects("[2606:4700::1]:81")),
    ("http://[2606:4700:0:0::0001]:81/", Connects("[2606:4700::1]:81")),
    ("http://other.test:4000/", Connects("93.184.215.14:4000")),
    ("http://1.1.1.1:4000/", Connects("1.1.1.1:4000")),
    ("http://[2606:4700::2]:4000/", Connects("[2606:4700::2]:4000")),
    ("http://[::ffff:1.1.1.1]:4000/", Connects("1.1.1.1:4000")),
    // Other scheme or port.
    ("https://api.example.test/", Refused(RefusedByPolicy)),
    ("https://api.example.test:80/", Refused(RefusedByPolicy)),
    ("http://api.example.test:443/", Refused(RefusedByPolicy)),
    ("http://api.example.test:81/", Refused(RefusedByPolicy)),
    ("http://127.0.0.1/", Refused(RefusedByPolicy)),
    ("http://127.0.0.1:9001/", Refused(RefusedByPolicy)),
    ("ftp://api.example.test/", Refused(RefusedByPolicy)),
    ("ws://api.example.test/", Refused(RefusedByPolicy)),
    ("gopher://api.example.test:80/", Refused(RefusedByPolicy)),
    ("file://api.example.test/etc/passwd", Refused(RefusedByPolicy)),
    ("file:///etc/passwd", Unwritable),
    ("unix:/run/docker.sock", Unwritable),
    ("data:text/plain,x", Unwritable),
    ("api.example.test", Refused(RefusedByPolicy)),
    ("/path", Refused(RefusedByPolicy)),
    ("//api.example.test/", Refused(RefusedByPolicy)),
    ("*", Refused(RefusedByPolicy)),
    ("", Unwritable),
    ("http://", Unwritable),
    ("http:///path", Unwritable),
    ("http://:80/", Refused(RefusedByPolicy)),
    // Other host that looks like one that is granted.
    ("http://api.example.test.evil.test/", Refused(RefusedByPolicy)),
    ("http://evil-api.example.test/", Refused(RefusedByPolicy)),
    ("http://xapi.example.test/", Refused(RefusedByPolicy)),
    ("http://example.test/", Refused(RefusedByPolicy)),
    ("http://test/", Refused(RefusedByPolicy)),
    ("http://cdn.example.test/", Refused(RefusedByPolicy)),
    ("http://evilcdn.example.test/", Refused(RefusedByPolicy)),
    ("http://a.cdn.example.test.evil.test/", Refused(RefusedByPolicy)),
    ("http://bucher.example/", Refused(RefusedByPolicy)),
    ("http://xn--bcher-kvb.example/", Refused(RefusedByPolicy)),
    ("http://xn--a/", Refused(RefusedByPolicy)),
    ("http://api.example.test./", Refused(RefusedByPolicy)),
    ("http://api..example.test/", Refused(RefusedByPolicy)),
    ("http://.cdn.example.test/", Refused(RefusedByPolicy)),
    ("http://*.cdn.example.test/", Refused(RefusedByPolicy)),
    ("http://bücher.example/", Unwritable),
    ("http://api.example.test\u{ff0e}evil.test/", Unwritable),
    ("http://api%2eexample.test/", Unwritable),
    ("http://api.example.test%00.evil.test/", Unwritable),
    ("http://api.example.test\\.evil.test/", Unwritable),
    ("http://api.example.test\t/", Unwritable),
    ("http://api.example.test /", Unwritable),
    // User-info.
    ("http://api.example.test@evil.test/", Refused(RefusedByPolicy)),
    ("http://user@api.example.test/", Refused(RefusedByPolicy)),
    ("http://user:password@api.example.test/", Refused(RefusedByPolicy)),
    ("http://user@127.0.0.1:9000/", Refused(RefusedByPolicy)),
    ("http://@api.example.test/", Refused(RefusedByPolicy)),
    ("http://api.example.test:80@evil.test/", Refused(RefusedByPolicy)),
    // Ports that are none.
    ("http://api.example.test:/", Refused(RefusedByPolicy)),
    ("http://api.example.test:0/", Refused(RefusedByPolicy)),
    ("http://api.example.test:65616/", Refused(RefusedByPolicy)),
    ("http://api.example.test:080/", Refused(RefusedByPolicy)),
    // Numbers; port 4000 is open for every host, so only the way of writing is at fault.
    ("http://2130706433:4000/", Refused(RefusedByPolicy)),
    ("http://0x7f000001:4000/", Refused(RefusedByPolicy)),
    ("http://0x7f.1:4000/", Refused(RefusedByPolicy)),
    ("http://0177.0.0.1:4000/", Refused(RefusedByPolicy)),
    ("http://127.1:4000/", Refused(RefusedByPolicy)),
    ("http://127.0.0.1.:4000/", Refused(RefusedByPolicy)),
    ("http://1.2.3.4.5:4000/", Refused(RefusedByPolicy)),
    ("http://[fe80::1%25eth0]:4000/", Refused(RefusedByPolicy)),
    ("http://[::1:4000/", Unwritable),
    // Any host on port 4000, but no place inside.
    ("http://127.0.0.1:4000/", Refused(RefusedAddress)),
    ("http://0.0.0.0:4000/", Refused(RefusedAddress)),
    ("http://169.254.169.254:4000/latest/meta-data", Refused(RefusedAddress)),
    ("http://100.64.0.1:4000/", Refused(RefusedAddress)),
    ("http://[::1]:4000/", Refused(RefusedAddress)),
    ("http://[::ffff:127.0.0.1]:4000/", Refused(RefusedAddress)),
    ("http://[64:ff9b::7f00:1]:4000/", Refused(RefusedAddress)),
    ("http://inside.test:4000/", Refused(RefusedAddress)),
];

#[tokio::test]
async fn urls_reach_what_is_granted_and_nothing_else() {
    let mut wrong = Vec::new();
    for (url, expected) in URLS {
        let outcome = outcome(url).await;
        if outcome != format!("{expected:?}") {
            wrong.push(format!("{url}: {outcome} and not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// As people and servers write them: read by the URL standard first, which turns some of them into others.
#[tokio::test]
async fn written_urls_are_judged_by_what_they_become() {
    for (text, expected) in [
        ("http://Bücher.example/ü", Connects("93.184.215.14:80")),
        ("http://api%2eexample.test/", Connects("93.184.215.14:80")),
        ("  http://api.example.test/a b#part  ", Connects("93.184.215.14:80")),
        ("http://api.example.test\\.evil.test/", Connects("93.184.215.14:80")),
        ("http://api.example.test\\@evil.test/", Connects("93.184.215.14:80")),
        ("http://evil.test\\@api.example.test/", Refused(RefusedByPolicy)),
        ("http://evil.test/@api.example.test/", Refused(RefusedByPolicy)),
        ("http://evil.test#@api.example.test/", Refused(RefusedByPolicy)),
        ("http://user@api.example.test/", Refused(RefusedByPolicy)),
        ("http://api.example.test\u{ff0e}evil.test/", Refused(RefusedByPolicy)),
        ("http://api.example.test\u{3002}/", Refused(RefusedByPolicy)),
        ("http://2130706433:4000/", Refused(RefusedAddress)),
        ("http://0x7f.1:4000/", Refused(RefusedAddress)),
        ("http://①②⑦.0.0.1:4000/", Refused(RefusedAddress)),
        ("http://[::ffff:7f00:1]:4000/", Refused(RefusedAddress)),
        ("http:api.example.test/", Connects("93.184.215.14:80")),
        ("file:///etc/passwd", Unwritable),
        ("javascript:alert(1)", Unwritable),
        ("http://[::1", Unwritable),
        ("api.example.test", Unwritable),
    ] {
        let outcome = match egress::parse_url(text, None) {
            Ok(uri) => outcome(&uri.to_string()).await,
            Err(_) => format!("{Unwritable:?}"),
        };
        assert_eq!(outcome, format!("{expected:?}"), "{text}");
    }
}

/// Sends to the URL, and says what it came to. A refusal by policy must not even ask for a name.
async fn outcome(url: &str) -> String {
    let Ok(uri) = Uri::try_from(url) else { return format!("{Unwritable:?}") };
    let names = ["api.example.test", "a.cdn.example.test", "a.b.cdn.example.test", "xn--bcher-kva.example", "other.test"];
    let table = names.iter().fold(TableResolver::default(), |table, name| table.with(name, &[API]));
    let resolver = Arc::new(table.with("inside.test", &["10.0.0.1"]));
    let (connector, mut accepted) = MemoryConnector::new();
    let network = Network::new(Arc::clone(&resolver) as Arc<_>, Arc::new(connector));
    let egress = Egress::new(network, policy(&RULES, &[]), Limits::default());

    let server = tokio::spawn(async move {
        let (address, mut stream) = accepted.recv().await?;
        read_request(&mut stream).await;
        stream.write_all(ok("").as_bytes()).await.ok()?;
        Some(address)
    });
    let mut request = get("http://placeholder.test");
    *request.uri_mut() = uri;
    let outcome = egress.send(request, soon()).await;
    drop(egress);
    let connected = server.await.unwrap();
    match (outcome, connected) {
        (Ok(_), Some(address)) => format!("Connects({:?})", address.to_string()),
        (Err(error), None) => {
            let asked = resolver.asked();
            assert!(error.kind() != RefusedByPolicy || asked.is_empty(), "{url}: {asked:?} was asked for");
            format!("{:?}", Refused(error.kind()))
        }
        (outcome, connected) => panic!("{url}: {outcome:?} {connected:?}"),
    }
}
