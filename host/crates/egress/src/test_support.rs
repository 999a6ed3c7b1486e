//! Fakes of the ports: a resolver that answers from a table and a connector that stays in memory. For tests here and of users.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

use crate::connector::{Connect, Stream};
use crate::resolver::Resolve;

/// Bytes that a connection in memory holds before its writer waits.
const BUFFER: usize = 64 << 10;

/// Answers from a table; a name that has several answers gives them one after the other, and the last one from then on.
#[derive(Debug, Default)]
pub struct TableResolver {
    answers: HashMap<String, Vec<Vec<IpAddr>>>,
    asked: Mutex<Vec<String>>,
}

impl TableResolver {
    /// The same table with one more answer for `name`. Texts that are no addresses are left out.
    #[must_use]
    pub fn with(mut self, name: &str, addresses: &[&str]) -> Self {
        let addresses = addresses.iter().filter_map(|text| text.parse().ok()).collect();
        self.answers.entry(name.to_owned()).or_default().push(addresses);
        self
    }

    /// The names that were asked for, in order.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Resolve for TableResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let before = asked.iter().filter(|other| *other == name).count();
        asked.push(name.to_owned());
        let answers = self.answers.get(name).ok_or_else(|| io::Error::other("no such name"))?;
        Ok(answers.get(before).or(answers.last()).cloned().unwrap_or_default())
    }
}

/// A connection as the server's side sees it, and the address that was connected to.
pub type Accepted = (SocketAddr, DuplexStream);

/// Connections in memory. Time can be paused with them, which it cannot with a real socket.
#[derive(Debug)]
pub struct MemoryConnector(mpsc::UnboundedSender<Accepted>);

impl MemoryConnector {
    /// A connector, and where its connections arrive.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Accepted>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }
}

#[async_trait]
impl Connect for MemoryConnector {
    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let (client, server) = tokio::io::duplex(BUFFER);
        self.0.send((address, server)).map_err(|_| io::Error::from(io::ErrorKind::ConnectionRefused))?;
        Ok(Box::new(client))
    }
}
