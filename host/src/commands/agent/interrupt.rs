//! Requests of a person, or of the system, to stop: SIGINT, SIGTERM and SIGHUP. Listening begins once and never ends, so that none is lost
//! between two waits. What whoever started us told us to ignore (`nohup`, a job in the background) stays ignored.

use std::process;

use agent::{AcceptedRun, RunOutcome};
use domain::cancel::CancelReason;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{Code, Failure};

/// The requests to stop that reach this process.
pub(in crate::commands) struct Interrupts {
    interrupt: Option<Signal>,
    terminate: Option<Signal>,
    hang_up: Option<Signal>,
}

impl Interrupts {
    /// Begins to listen; from here on a signal no longer ends the process by itself.
    pub(in crate::commands) fn listen() -> Result<Self, Failure> {
        let ignored = ignored();
        let listen = |kind: SignalKind| {
            if ignored & (1 << (kind.as_raw_value() - 1)) != 0 {
                return Ok(None);
            }
            signal(kind).map(Some).map_err(|error| Failure::internal(format!("signals cannot be heard: {error}")))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            () = heard(&mut self.interrupt) => {}
            () = heard(&mut self.terminate) => {}
            () = heard(&mut self.hang_up) => {}
        }
    }

    /// Does something that may be given up at any point.
    ///
    /// # Errors
    /// [`Code::Interrupted`] when it was given up.
    pub(in crate::commands) async fn unless<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            done = work => Ok(done),
            () = self.next() => Err(Failure::new(Code::Interrupted, "interrupted")),
        }
    }

    /// Runs to the end. The first request asks the run to stop, calls `asked`, and waits for its orderly end; the second one ends the
    /// process at once.
    pub(in crate::commands) async fn run(&mut self, accepted: AcceptedRun, asked: impl Fn()) -> RunOutcome {
        let cancel = accepted.cancel();
        let mut run = std::pin::pin!(accepted.run());
        tokio::select! {
            outcome = &mut run => return outcome,
            () = self.next() => {}
        }
        cancel.cancel(CancelReason::User);
        asked();
        tokio::select! {
            outcome = &mut run => outcome,
            () = self.next() => process::exit(i32::from(Code::Interrupted as u8)),
        }
    }
}

async fn heard(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Signals that this process was started to ignore, one bit each, the first signal the lowest. Where the system does not tell: none.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
