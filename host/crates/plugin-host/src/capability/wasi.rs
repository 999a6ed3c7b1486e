//! The part of WASI that language runtimes import whether or not they use it: linked, and empty or refusing. No arguments, no files, no
//! network, and of the environment what the operator named; clocks and random numbers as the operator says; standard input is at its
//! end, output goes to the log.

use std::sync::Arc;

use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock};
use wasmtime_wasi::{WasiCtx, WasiCtxBuilder};

use crate::grant::{Clocks, Grants, Randomness};
use crate::guest_log::{GuestLog, Stream};
use crate::limits::RANDOM_BYTES;
use crate::seeded::Seeded;

/// Bytes that one write may hold; the guest's library splits larger ones.
const WRITE_PERMIT: usize = 16 << 10;

/// A context that inherits nothing.
pub(crate) fn context(log: &Arc<GuestLog>, grants: &Grants) -> WasiCtx {
    let printer = |stream| Printer { log: Arc::clone(log), stream };
    let mut context = WasiCtxBuilder::new();
    context
        .stdout(printer(Stream::Out))
        .stderr(printer(Stream::Err))
        .max_random_size(RANDOM_BYTES)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    for (name, value) in grants.env.iter().flat_map(|env| env.iter()) {
        context.env(name, value);
    }
    if grants.clocks == Clocks::Frozen {
        context.wall_clock(Frozen).monotonic_clock(Frozen);
    }
    if let Randomness::Seeded(seed) = grants.randomness {
        context.secure_random(Seeded::new(seed, 0)).insecure_random(Seeded::new(seed, 1)).insecure_random_seed(u128::from(seed));
    }
    context.build()
}

/// A clock that stands still. Timers of WASI run by the host's own clock, so a guest that waits goes on.
struct Frozen;

impl HostWallClock for Frozen {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl HostMonotonicClock for Frozen {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        0
    }
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
