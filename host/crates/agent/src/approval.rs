//! Asks a person before a tool call goes on (plugin-hooks 4.9.5). Only an exact, offered decision that carries the pending id allows;
//! everything else blocks. The clock is here: an approver cannot make a call wait longer than it asked for.

use domain::CallId;
use domain::approval::{ApprovalDecision, ApprovalOutcome, PendingApproval, Review};
use hooks::catalogue::ApprovalResolved;
use hooks::events::before_tool_call::Asked;
use hooks::events::observed;

use crate::run::RunState;
use crate::wind_down::caught;

/// How an approval ended, and the blocked result that follows if it did not allow.
pub(crate) enum Resolution {
    /// The call may run.
    Allowed,
    /// It may not.
    Refused(Refusal),
}

/// Why a call may not run.
pub(crate) struct Refusal {
    /// How it counts.
    pub(crate) disposition: Disposition,
    /// Text for the model.
    pub(crate) text: String,
}

/// Kind of refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// A person refused, or a timeout was given a reason.
    Blocked,
    /// The time was up.
    TimedOut,
    /// Nobody could be asked.
    Failed,
    /// The run was aborted.
    Cancelled,
}

impl Disposition {
    /// The word for `details.status`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::TimedOut => "timed_out",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

/// Asks and tells the plugin how it ended.
pub(crate) async fn ask(run: &RunState, asked: Asked, tool_name: &str, call_id: &CallId) -> Resolution {
    if asked.request.wanted_allow_on_timeout {
        run.warn_once(&asked.plugin);
    }
    let pending = PendingApproval {
        id: run.ports().ids.next_id(),
        plugin_id: asked.plugin.clone(),
        request: asked.request.clone(),
        tool_name: tool_name.to_owned(),
        call_id: call_id.clone(),
        agent_id: run.settings().agent_id.clone(),
        session_key: run.session_key().clone(),
        session_id: run.session_id().clone(),
        run_id: run.run_id().clone(),
    };
    let (outcome, resolution) = wait(run, &pending).await;
    if let Some(note) = asked.request.on_resolution {
        let event = observed::ApprovalResolved { note, outcome, tool_name: tool_name.to_owned(), tool_call_id: call_id.clone() };
        run.observe_plugin::<ApprovalResolved>(asked.plugin, run.tool_context(), event);
    }
    resolution
}

async fn wait(run: &RunState, pending: &PendingApproval) -> (ApprovalOutcome, Resolution) {
    let review = tokio::select! {
        biased;
        () = run.cancel().cancelled() => return refused(ApprovalOutcome::Cancelled, Disposition::Cancelled, "the run was aborted"),
        review = tokio::time::timeout(pending.request.wait, caught(run.ports().approver.review(pending))) => review,
    };
    match review {
        Err(_) => timed_out(pending),
        Ok(Err(panic)) => {
            tracing::error!(run = %run.run_id(), "BUG: the approver panicked: {}", panic.0);
            refused(ApprovalOutcome::Cancelled, Disposition::Failed, "approval is needed, and asking for it failed")
        }
        Ok(Ok(Review::NoRoute)) => refused(
            ApprovalOutcome::Cancelled,
            Disposition::Failed,
            "approval is needed and nobody can be asked here; run interactively, or change the plugin's rule",
        ),
        Ok(Ok(Review::Unknown)) => timed_out(pending),
        Ok(Ok(Review::Decided { id, decision })) => {
            if id != pending.id || !pending.request.offered.contains(&decision) {
                return timed_out(pending);
            }
            match decision {
                ApprovalDecision::AllowOnce => (ApprovalOutcome::AllowOnce, Resolution::Allowed),
                ApprovalDecision::AllowAlways => (ApprovalOutcome::AllowAlways, Resolution::Allowed),
                ApprovalDecision::Deny => refused(ApprovalOutcome::Deny, Disposition::Blocked, "the operator denied this call"),
            }
        }
    }
}

fn timed_out(pending: &PendingApproval) -> (ApprovalOutcome, Resolution) {
    let (disposition, text) = match &pending.request.timeout_reason {
        Some(reason) => (Disposition::Blocked, reason.clone()),
        None => (Disposition::TimedOut, "no valid approval came in time".to_owned()),
    };
    (ApprovalOutcome::Timeout, Resolution::Refused(Refusal { disposition, text }))
}

fn refused(outcome: ApprovalOutcome, disposition: Disposition, text: &str) -> (ApprovalOutcome, Resolution) {
    (outcome, Resolution::Refused(Refusal { disposition, text: text.to_owned() }))
}
