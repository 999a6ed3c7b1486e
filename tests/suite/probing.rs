//! A plugin that tries to reach the machine through the standard library of its language. Nothing was granted, so there is nothing to
//! reach. The hostile guests that need no library are in `host/crates/plugin-host/tests/hostile`.

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::symlink;

use domain::message::text_of;
use serde_json::{Value, json};
use system_tests::{Host, PROBE, Plugin, World, call, say};

use crate::guests;

/// What the guest reports of its attempts.
async fn attempts(params: Value) -> (Host, Value) {
    let host =
        World::new().plugin(Plugin::new("probe", guests::CAP_PROBE)).turns([call(PROBE, params), say("done")]).start().await;
    host.say("go").await;
    let report = text_of(&host.tool_results().await[0].content);
    let report = serde_json::from_str(&report).unwrap_or_else(|_| panic!("no report: {report}"));
    (host, report)
}

#[tokio::test]
async fn a_plugin_sees_no_environment_arguments_input_or_processes() {
    assert!(std::env::var_os("PATH").is_some(), "this process has what the guest must not see");
    let (_host, found) = attempts(json!({})).await;
    for nothing in ["variables", "arguments", "input"] {
        assert_eq!(found[nothing], 0, "{found}");
    }
    for refused in ["process", "thread"] {
        assert!(found[refused]["refused"].is_string(), "{found}");
    }
}

#[tokio::test]
async fn a_plugin_reaches_no_network_and_no_names() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let datagrams = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    datagrams.set_nonblocking(true).unwrap();
    let (_host, found) = attempts(json!({ "port": port })).await;
    for attempt in
        ["connect", "connect to itself in IPv6", "listen", "listen everywhere", "datagram", "name localhost", "name example.com"]
    {
        assert!(found[attempt]["refused"].is_string(), "{attempt}: {found}");
    }
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody came");
    assert_eq!(datagrams.recv(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock, "nothing came");
}

#[tokio::test]
async fn a_plugin_reaches_no_file_by_any_path() {
    let dir = tempfile::tempdir().unwrap();
    let secret = dir.path().join("secret");
    fs::write(&secret, "the secret").unwrap();
    symlink(&secret, dir.path().join("link")).unwrap();
    let path = |path: &str| format!("{}/{path}", dir.path().display());
    let up = "../".repeat(20);
    let paths = [
        path("secret"),
        path("link"),
        path("./x/../secret"),
        path("secret/"),
        format!("/{up}{}", secret.strip_prefix("/").unwrap().display()),
        format!("{up}{}", secret.strip_prefix("/").unwrap().display()),
        format!("//{}", path("secret")),
        format!("/proc/self/root{}", path("secret")),
        "/".to_owned(),
        ".".to_owned(),
        "..".to_owned(),
        "/etc/passwd".to_owned(),
        "/proc/self/environ".to_owned(),
        "/dev/stdin".to_owned(),
        "/dev/fd/0".to_owned(),
        "secret\0".to_owned(),
    ];
    let (host, found) = attempts(json!({ "paths": paths })).await;
    for path in &paths {
        for (attempt, outcome) in found[path].as_object().unwrap() {
            // The guest's own library answers this one; it asks nobody.
            if attempt == "resolve" && outcome["got"] == "\"/\"" {
                continue;
            }
            assert!(outcome["refused"].is_string(), "{attempt} {path}: {outcome}");
        }
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), "the secret");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    assert!(!host.transcript().await.join(" ").contains("the secret"));
}
