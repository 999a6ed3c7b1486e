//! Requests of a person, or of the system, to stop: SIGINT, SIGTERM and SIGHUP. Listening begins once and never ends, so that none is lost
//! between two waits.

use std::process;

use agent::{AcceptedRun, RunOutcome};
use domain::cancel::CancelReason;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{Code, Failure};

/// The requests to stop that reach this process.
pub(super) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Interrupts {
    /// Begins to listen; from here on a signal no longer ends the process by itself.
    pub(super) fn listen() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::internal(format!("signals cannot be heard: {error}")));
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }

    /// Does something that may be given up at any point.
    ///
    /// # Errors
    /// [`Code::Interrupted`] when it was given up.
    pub(super) async fn unless<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            done = work => Ok(done),
            () = self.next() => Err(Failure::new(Code::Interrupted, "interrupted")),
        }
    }

    /// Runs to the end. The first request asks the run to stop, calls `asked`, and waits for its orderly end; the second one ends the
    /// process at once.
    pub(super) async fn run(&mut self, accepted: AcceptedRun, asked: impl Fn()) -> RunOutcome {
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
