//! How a run ended, in the forms in which it is told: status, kind, text for operators, text for the user, terminal event.

use std::time::Duration;

use domain::cancel::CancelReason;
use domain::event::Lifecycle;
use domain::session::RunStatus;

use super::RunState;
use crate::error::{RunError, RunErrorKind};

/// Longest error text in an event, in characters; only its first line is told (agent-loop 14.4.5).
const MAX_EVENT_ERROR_CHARS: usize = 400;

/// The end of a run.
#[derive(Debug, Clone)]
pub(super) struct Ending {
    pub(super) status: RunStatus,
    pub(super) kind: Option<RunErrorKind>,
    /// All that is known, for operators.
    pub(super) error: Option<String>,
    /// What the user may see of it.
    pub(super) user_text: Option<String>,
}

impl Ending {
    /// Sums up what the stages gave. A request to stop is the cause of whatever failed after it: the first cause counts.
    pub(super) fn of(run: &RunState, result: Result<(), RunError>, budget: Option<Duration>) -> Self {
        let Err(error) = result else {
            return Self { status: RunStatus::Done, kind: None, error: None, user_text: None };
        };
        let error = match run.cancel().reason() {
            None => error,
            Some(reason) => {
                if !matches!(error, RunError::Aborted) {
                    tracing::warn!(run = %run.run_id(), "after the run was asked to stop: {error}");
                }
                stopped(reason, budget)
            }
        };
        let status = status(&error);
        if status == RunStatus::Failed {
            // A target of its own: whoever tells the outcome to a person need not say it twice.
            tracing::warn!(
                target: "agent::run::failed",
                run = %run.run_id(), session = %run.session_key(), "the run failed: {error}"
            );
        }
        Self {
            status,
            kind: Some(error.kind()),
            user_text: Some(error.user_text(run.model().map(|resolved| &resolved.model))),
            error: Some(error.to_string()),
        }
    }

    /// Whether the run was asked to stop.
    pub(super) fn is_aborted(&self) -> bool {
        matches!(self.status, RunStatus::Killed | RunStatus::Timeout)
    }

    /// The terminal event.
    pub(super) fn event(&self, run: &RunState) -> Lifecycle {
        let ended_at = run.ports().clock.now_ms();
        match &self.error {
            Some(error) if self.status == RunStatus::Failed => Lifecycle::Error { ended_at, error: event_text(error) },
            _ => {
                let aborted = self.is_aborted();
                let stop_reason = run.cancel().reason().filter(|_| aborted).map(reason_word).map(str::to_owned);
                Lifecycle::End { ended_at, aborted, stop_reason }
            }
        }
    }
}

fn stopped(reason: CancelReason, budget: Option<Duration>) -> RunError {
    match reason {
        CancelReason::Timeout => RunError::TimedOut(budget.unwrap_or_default().as_millis().div_ceil(1000) as u64),
        CancelReason::User | CancelReason::Shutdown | CancelReason::Superseded => RunError::Aborted,
    }
}

fn status(error: &RunError) -> RunStatus {
    match error {
        RunError::TimedOut(_) => RunStatus::Timeout,
        RunError::Aborted => RunStatus::Killed,
        _ => RunStatus::Failed,
    }
}

fn reason_word(reason: CancelReason) -> &'static str {
    match reason {
        CancelReason::User => "user",
        CancelReason::Timeout => "timeout",
        CancelReason::Shutdown => "shutdown",
        CancelReason::Superseded => "superseded",
    }
}

fn event_text(error: &str) -> String {
    let line = error.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(MAX_EVENT_ERROR_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_holds_the_first_line_of_an_error_up_to_a_limit() {
        assert_eq!(event_text("\n boom \nmore"), "boom");
        assert_eq!(event_text(&"ä".repeat(1000)).chars().count(), MAX_EVENT_ERROR_CHARS);
    }
}
