//! Tries everything that a program may try to learn or change of the machine it runs on, through the standard library, and blocks the tool
//! call with a JSON object of what came of each attempt. The call's parameters name files (`paths`) and a `port` on which somebody
//! listens.

use std::fmt::Debug;
use std::io::Read;
use std::net::{TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::{env, fs, io, thread};

use creel_plugin::prelude::*;
use serde_json::{Map, Value, json};

struct Probes;

#[plugin]
impl Plugin for Probes {
    fn before_tool_call(_: &Call, event: BeforeToolCallEvent, _: ToolContext) -> Result<ToolDecision> {
        let params = event.params_value()?;
        let mut found = Map::new();
        surroundings(&mut found);
        let port = params["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or_default();
        network(&mut found, port);
        for path in params["paths"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            found.insert(path.to_owned(), files(Path::new(path)));
        }
        Ok(ToolDecision::block(Value::Object(found).to_string()))
    }
}

/// What it took, or why it was refused.
fn outcome<T: Debug>(result: io::Result<T>) -> Value {
    match result {
        Ok(got) => json!({ "got": format!("{got:?}") }),
        Err(error) => json!({ "refused": format!("{:?}", error.kind()) }),
    }
}

fn surroundings(found: &mut Map<String, Value>) {
    found.insert("variables".to_owned(), env::vars_os().count().into());
    found.insert("arguments".to_owned(), env::args_os().filter(|argument| !argument.is_empty()).count().into());
    let mut input = Vec::new();
    let _ = io::stdin().read_to_end(&mut input);
    found.insert("input".to_owned(), input.len().into());
    found.insert("process".to_owned(), outcome(Command::new("/bin/sh").arg("-c").arg("id").spawn().map(drop)));
    found.insert("thread".to_owned(), outcome(thread::Builder::new().spawn(|| ()).map(drop)));
}

fn network(found: &mut Map<String, Value>, port: u16) {
    found.insert("connect".to_owned(), outcome(TcpStream::connect(("127.0.0.1", port))));
    found.insert("connect to itself in IPv6".to_owned(), outcome(TcpStream::connect(("::1", port))));
    found.insert("listen".to_owned(), outcome(TcpListener::bind("127.0.0.1:0")));
    found.insert("listen everywhere".to_owned(), outcome(TcpListener::bind("0.0.0.0:0")));
    let datagram = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.send_to(b"hello", ("127.0.0.1", port)));
    found.insert("datagram".to_owned(), outcome(datagram));
    for name in ["localhost", "example.com"] {
        let addresses = (name, port).to_socket_addrs().map(|addresses| addresses.collect::<Vec<_>>());
        found.insert(format!("name {name}"), outcome(addresses));
    }
}

fn files(path: &Path) -> Value {
    json!({
        "read": outcome(fs::read(path)),
        "list": outcome(fs::read_dir(path).map(Iterator::count)),
        "look": outcome(fs::metadata(path).map(|metadata| metadata.len())),
        "resolve": outcome(fs::canonicalize(path)),
        "write": outcome(fs::write(path, "changed")),
        "make": outcome(fs::create_dir_all(path.join("made"))),
        "link": outcome(fs::hard_link(path, "link")),
        "move": outcome(fs::rename(path, "moved")),
        "remove": outcome(fs::remove_file(path)),
    })
}
