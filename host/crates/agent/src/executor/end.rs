//! How a call ended, before it is told to anybody: outcome, error text, and the result that the model will get.

use domain::PluginId;
use domain::tool::{ToolFailure, ToolOutcome, ToolResult};
use serde_json::json;

use crate::approval::{Disposition, Refusal};

/// Why a call was denied, as `details.deniedReason` says it.
pub const DENIED_BY_HOOK: &str = "plugin-before-tool-call";
/// The same for a refused approval.
pub const DENIED_BY_APPROVAL: &str = "plugin-approval";

/// The end of a call.
pub(super) struct End {
    pub(super) outcome: ToolOutcome,
    pub(super) error: Option<String>,
    /// Milliseconds that the tool ran; none: it did not run.
    pub(super) duration_ms: Option<u32>,
    pub(super) result: ToolResult,
    /// Whether the host made the result up, because the call never got one.
    pub(super) is_synthetic: bool,
}

impl End {
    /// The tool gave a result.
    pub(super) fn done(result: ToolResult) -> Self {
        Self { outcome: ToolOutcome::Ok, error: None, duration_ms: None, result, is_synthetic: false }
    }

    /// The tool gave none.
    pub(super) fn failure(failure: &ToolFailure) -> Self {
        let text = failure.to_string();
        let is_synthetic = *failure == ToolFailure::Aborted;
        Self {
            outcome: failure.outcome(),
            error: Some(text.clone()),
            duration_ms: None,
            result: ToolResult::text(text),
            is_synthetic,
        }
    }

    /// The call could not run.
    pub(super) fn failed(text: impl Into<String>) -> Self {
        Self::failure(&ToolFailure::Failed(text.into()))
    }

    /// The run was asked to stop.
    pub(super) fn aborted() -> Self {
        Self::failure(&ToolFailure::Aborted)
    }

    /// The arguments do not fit.
    pub(super) fn argument_error(text: String) -> Self {
        let mut end = Self::failed(text);
        end.result.details = Some(json!({ "errorKind": "argument-validation" }));
        end
    }

    /// A plugin refused the call, or failed and so refused it.
    pub(super) fn blocked(text: &str, plugin: &PluginId) -> Self {
        Self::denied(ToolOutcome::Blocked, "blocked", DENIED_BY_HOOK, text, plugin)
    }

    /// The approval that a plugin asked for was not given.
    pub(super) fn not_approved(refusal: &Refusal, plugin: &PluginId) -> Self {
        let outcome = match refusal.disposition {
            Disposition::Blocked | Disposition::Failed => ToolOutcome::Blocked,
            Disposition::TimedOut => ToolOutcome::TimedOut,
            Disposition::Cancelled => ToolOutcome::Aborted,
        };
        Self::denied(outcome, refusal.disposition.as_str(), DENIED_BY_APPROVAL, &refusal.text, plugin)
    }

    fn denied(outcome: ToolOutcome, status: &str, denied: &str, text: &str, plugin: &PluginId) -> Self {
        let details = json!({ "status": status, "deniedReason": denied, "reason": text, "pluginId": plugin });
        let result = ToolResult::text(text).with_details(details);
        let is_synthetic = outcome == ToolOutcome::Aborted;
        Self { outcome, error: Some(text.to_owned()), duration_ms: None, result, is_synthetic }
    }

    /// With the time that the tool ran.
    pub(super) fn after(self, duration_ms: u32) -> Self {
        Self { duration_ms: Some(duration_ms), ..self }
    }
}
