//! From an address to a stream of bytes: the port, and TCP behind it. Gets no names, so it cannot resolve one a second time.

use std::io;
use std::net::SocketAddr;

use async_trait::async_trait;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

/// Bytes in both directions.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Opens connections.
#[async_trait]
pub trait Connect: Send + Sync {
    /// A new connection to exactly this address.
    ///
    /// # Errors
    /// Whatever kept it from being opened.
    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>>;
}

/// TCP.
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpConnector;

#[async_trait]
impl Connect for TcpConnector {
    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let stream = TcpStream::connect(address).await?;
        // A request is written in few pieces; waiting to join them would only delay the last.
        stream.set_nodelay(true)?;
        Ok(Box::new(stream))
    }
}
