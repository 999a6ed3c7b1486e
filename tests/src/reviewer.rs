//! The person who is asked: answers from a queue.

use std::collections::VecDeque;

use async_trait::async_trait;
use domain::approval::{ApprovalDecision, Approver, PendingApproval, Review};
use parking_lot::Mutex;

use crate::journal::{Entry, Journal};

/// One answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A decision.
    Decides(ApprovalDecision),
    /// A decision about another question.
    DecidesElsewhere(ApprovalDecision),
    /// Something that is no decision.
    Mumbles,
    /// Nothing, for ever.
    Ignores,
    /// There is nobody to ask.
    NoRoute,
}

/// Gives its answers in order; when they are used up, nobody can be asked.
pub(crate) struct Reviewer {
    pub(crate) journal: Journal,
    pub(crate) answers: Mutex<VecDeque<Answer>>,
}

#[async_trait]
impl Approver for Reviewer {
    async fn review(&self, pending: &PendingApproval) -> Review {
        self.journal.add(Entry::Asked(pending.clone()));
        let answer = self.answers.lock().pop_front().unwrap_or(Answer::NoRoute);
        match answer {
            Answer::Decides(decision) => Review::Decided { id: pending.id.clone(), decision },
            Answer::DecidesElsewhere(decision) => Review::Decided { id: "another question".to_owned(), decision },
            Answer::Mumbles => Review::Unknown,
            Answer::Ignores => std::future::pending().await,
            Answer::NoRoute => Review::NoRoute,
        }
    }
}
