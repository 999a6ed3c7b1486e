//! Asking a run to stop. Cancelling is a request: whoever works sees it at its next await and leaves by its ordinary exit.

use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

/// Why a run was asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CancelReason {
    /// A person asked for it.
    User,
    /// The run's time is up.
    Timeout,
    /// The host stops.
    Shutdown,
    /// A newer run took its place.
    Superseded,
}

/// A request to stop, shared by everything that works for one run. The first reason wins. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Request>);

#[derive(Debug, Default)]
struct Request {
    token: CancellationToken,
    reason: OnceLock<CancelReason>,
}

impl Cancel {
    /// Asks to stop.
    pub fn cancel(&self, reason: CancelReason) {
        let _ = self.0.reason.set(reason);
        self.0.token.cancel();
    }

    /// Whether it was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        // The reason is set first, and reading it takes no lock.
        self.0.reason.get().is_some()
    }

    /// Why, if it was.
    pub fn reason(&self) -> Option<CancelReason> {
        self.0.reason.get().copied()
    }

    /// Waits until it is asked to stop.
    pub async fn cancelled(&self) {
        self.0.token.cancelled().await;
    }
}
