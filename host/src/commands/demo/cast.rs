//! Who takes part in the demo beside the plugins: a channel that remembers, and a person who always says no.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use domain::approval::{ApprovalDecision, Approver, PendingApproval, Review};
use domain::ports::{Channel, Outbound, SendResult};

/// Longest question that is shown, in bytes.
const MAX_ASKED_BYTES: usize = 300;

/// A channel that remembers what reached it.
#[derive(Default)]
pub(super) struct Stage(Mutex<Vec<String>>);

impl Stage {
    /// Takes what was delivered.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Channel for Stage {
    fn id(&self) -> &str {
        "demo"
    }

    async fn send(&self, message: &Outbound) -> SendResult {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(message.content.clone());
        Ok(None)
    }
}

/// A person who denies everything that is asked.
#[derive(Default)]
pub(super) struct Denier(Mutex<Vec<String>>);

impl Denier {
    /// Takes what was asked.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Approver for Denier {
    async fn review(&self, pending: &PendingApproval) -> Review {
        // Words of a plugin, perhaps many lines, in a report of one line each.
        let asked = format!("{}: {}", pending.request.title, pending.request.description);
        let asked = hooks::fault::one_line(&asked, MAX_ASKED_BYTES);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        Review::Decided { id: pending.id.clone(), decision: ApprovalDecision::Deny }
    }
}
