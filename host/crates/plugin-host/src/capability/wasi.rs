//! The part of WASI that language runtimes import whether or not they use it: linked, and empty or refusing. No environment, no
//! arguments, no files, no network; standard input is at its end, output goes to the log.

use std::sync::Arc;

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use crate::guest_log::{GuestLog, Stream};
use crate::limits::RANDOM_BYTES;

/// Bytes that one write may hold; the guest's library splits larger ones.
const WRITE_PERMIT: usize = 16 << 10;

/// A context that inherits nothing.
pub(crate) fn context(log: &Arc<GuestLog>) -> WasiCtx {
    let printer = |stream| Printer { log: Arc::clone(log), stream };
    WasiCtxBuilder::new()
        .stdout(printer(Stream::Out))
        .stderr(printer(Stream::Err))
        .max_random_size(RANDOM_BYTES)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false)
        .build()
}

/// Standard output or error of a guest. Takes everything at once, so a guest never waits for it.
#[derive(Clone)]
struct Printer {
    log: Arc<GuestLog>,
    stream: Stream,
}

impl IsTerminal for Printer {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printer {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        // Of WASI 0.3, which is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Printer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.log.print(self.stream, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_PERMIT)
    }
}

#[async_trait::async_trait]
impl Pollable for Printer {
    async fn ready(&mut self) {}
}
