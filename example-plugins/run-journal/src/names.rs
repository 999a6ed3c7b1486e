//! Names of outcomes in counters. They are written down here, so that a renamed type does not begin a new counter.

use creel_plugin::{EndReason, ModelCallOutcome, ToolOutcome};

pub(crate) fn tool_outcome(outcome: ToolOutcome) -> &'static str {
    match outcome {
        ToolOutcome::Ok => "ok",
        ToolOutcome::Failed => "failed",
        ToolOutcome::Blocked => "blocked",
        ToolOutcome::TimedOut => "timed-out",
        ToolOutcome::Aborted => "aborted",
    }
}

pub(crate) fn model_call(outcome: ModelCallOutcome) -> &'static str {
    match outcome {
        ModelCallOutcome::Completed => "completed",
        ModelCallOutcome::Error => "error",
    }
}

pub(crate) fn end_reason(reason: Option<EndReason>) -> &'static str {
    match reason {
        Some(EndReason::New) => "new",
        Some(EndReason::Reset) => "reset",
        Some(EndReason::Idle) => "idle",
        Some(EndReason::Daily) => "daily",
        Some(EndReason::Compaction) => "compaction",
        Some(EndReason::Deleted) => "deleted",
        Some(EndReason::Shutdown) => "shutdown",
        Some(EndReason::Restart) => "restart",
        Some(EndReason::Unknown) | None => "unknown",
    }
}
