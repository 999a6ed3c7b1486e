//! The person who is asked, the ways out, the watcher of events and the workspace, well behaved and not.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::PromptSources;
use agent::ports::ProjectContext;
use async_trait::async_trait;
use domain::approval::{ApprovalDecision, Approver, PendingApproval, Review};
use domain::cancel::CancelReason;
use domain::event::{EventData, EventSink, Lifecycle, RunEvent};
use domain::ports::{Channel, Outbound, SendResult};
use domain::test_support::MemorySessions;

use super::{InFlight, Journal, Stop};

/// What the person does when asked.
pub(crate) enum Answer {
    Decides(ApprovalDecision),
    /// Decides after a while.
    After(Duration, ApprovalDecision),
    /// Answers another question.
    WrongId(ApprovalDecision),
    Mumbles,
    IsNotThere,
    NeverAnswers,
    /// Somebody stops the run meanwhile.
    Stopped(Stop, CancelReason),
    Panics,
}

/// Answers in order; then nobody is there.
#[derive(Default)]
pub(crate) struct FakeApprover {
    answers: Mutex<VecDeque<Answer>>,
    asked: Mutex<Vec<PendingApproval>>,
    /// Questions that are open.
    pub(crate) in_flight: InFlight,
}

impl FakeApprover {
    pub(crate) fn push(&self, answer: Answer) {
        self.answers.lock().unwrap().push_back(answer);
    }

    pub(crate) fn asked(&self) -> Vec<PendingApproval> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl Approver for FakeApprover {
    async fn review(&self, pending: &PendingApproval) -> Review {
        let _ticket = self.in_flight.ticket();
        self.asked.lock().unwrap().push(pending.clone());
        let answer = self.answers.lock().unwrap().pop_front();
        let decided = |decision| Review::Decided { id: pending.id.clone(), decision };
        match answer.unwrap_or(Answer::IsNotThere) {
            Answer::Decides(decision) => decided(decision),
            Answer::After(wait, decision) => {
                tokio::time::sleep(wait).await;
                decided(decision)
            }
            Answer::WrongId(decision) => Review::Decided { id: "another".to_owned(), decision },
            Answer::Mumbles => Review::Unknown,
            Answer::IsNotThere => Review::NoRoute,
            Answer::NeverAnswers => std::future::pending().await,
            Answer::Stopped(stop, reason) => {
                stop.now(reason);
                std::future::pending().await
            }
            Answer::Panics => panic!("the approver has a fault"),
        }
    }
}

/// A workspace.
#[derive(Clone, Copy)]
pub(crate) enum Sources {
    Empty,
    Broken,
    Panicking,
    Hanging,
}

#[async_trait]
impl PromptSources for Sources {
    async fn project_context(&self) -> Result<ProjectContext, String> {
        match self {
            Self::Empty => Ok(ProjectContext::default()),
            Self::Broken => Err("it is gone".to_owned()),
            Self::Panicking => panic!("the workspace has a fault"),
            Self::Hanging => std::future::pending().await,
        }
    }
}

/// A channel that has a fault.
pub(crate) struct PanickingChannel;

#[async_trait]
impl Channel for PanickingChannel {
    fn id(&self) -> &str {
        "fake"
    }

    async fn send(&self, _message: &Outbound) -> SendResult {
        panic!("the channel has a fault")
    }
}

/// A channel that takes nothing, for ever.
pub(crate) struct Nothing;

#[async_trait]
impl Channel for Nothing {
    fn id(&self) -> &str {
        "fake"
    }

    async fn send(&self, _message: &Outbound) -> SendResult {
        std::future::pending().await
    }
}

/// A watcher that has a fault.
pub(crate) struct PanickingEvents;

impl EventSink for PanickingEvents {
    fn emit(&self, _event: RunEvent) {
        panic!("the watcher has a fault")
    }
}

/// A watcher that notes the terminal event, and whether the session is free at that moment.
pub(crate) struct NotesTheEnd {
    pub(crate) journal: Journal,
    pub(crate) store: Arc<MemorySessions>,
}

impl EventSink for NotesTheEnd {
    fn emit(&self, event: RunEvent) {
        if matches!(event.data, EventData::Lifecycle(Lifecycle::End { .. } | Lifecycle::Error { .. })) {
            let state = if self.store.writer(&event.session_key).is_none() { "free" } else { "owned" };
            self.journal.note(format!("terminal event, session {state}"));
        }
    }
}
