//! A provider of models on this machine: answers one request, and keeps it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use serde_json::Value;

use super::LIMIT;

/// One answer, `seen`, as a stream of Chat Completions.
const ANSWER: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"seen\"}}]}\n\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// A provider that waits for one request.
pub(crate) struct Provider {
    address: SocketAddr,
    bodies: Receiver<Value>,
}

impl Provider {
    /// Listens from now on.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, bodies) = mpsc::channel();
        thread::spawn(move || sender.send(answer(listener.accept().unwrap().0)));
        Self { address, bodies }
    }

    /// What `models.providers.<id>.baseUrl` must be.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The body of the request that came.
    pub(crate) fn request(&self) -> Value {
        self.bodies.recv_timeout(LIMIT).expect("a request comes in time")
    }
}

fn answer(mut stream: TcpStream) -> Value {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some((_, number)) = line.to_ascii_lowercase().split_once("content-length:") {
            length = number.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n";
    write!(stream, "{head}content-length: {}\r\n\r\n{ANSWER}", ANSWER.len()).unwrap();
    serde_json::from_slice(&body).unwrap()
}
