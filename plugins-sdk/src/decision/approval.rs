//! A request to ask a person before a tool call goes on.
//!
//! Only says what to ask. Who is asked, how long at most, and what silence means (no) is the host's.

use crate::bindings::host::creel::plugin::types;
use std::time::Duration;

pub use crate::bindings::host::creel::plugin::types::{
    ApprovalScope, ApprovalSeverity, ScopeAudience, ScopeMessage, ScopePayment, ScopePost, ScopeVisibility,
};

/// A decision that a person can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApprovalChoice {
    /// This call only.
    AllowOnce,
    /// This call and later ones. The host does not remember it: a plugin that offers this keeps it, in `approval_resolved`.
    AllowAlways,
    /// Refuse.
    Deny,
}

/// What a person is asked. For [`ToolDecision::ask`](crate::ToolDecision::ask).
///
/// ```
/// use creel_plugin::{Approval, ApprovalChoice, ApprovalSeverity};
/// use std::time::Duration;
///
/// let approval = Approval::new("Force push", "It overwrites the branch on the server.")
///     .severity(ApprovalSeverity::Critical)
///     .offer(&[ApprovalChoice::AllowOnce, ApprovalChoice::Deny])
///     .timeout(Duration::from_secs(60));
/// # let _ = approval;
/// ```
#[derive(Debug, Clone, PartialEq)]
#[must_use = "an approval is asked for when it is part of a decision"]
pub struct Approval(types::ApprovalRequest);

impl Approval {
    /// A question with a heading (at most 80 characters) and a description of what will happen (at most 512); the host cuts longer
    /// ones. Severity `warning`, two minutes, all three choices.
    pub fn new(title: impl Into<String>, description: impl Into<String>) -> Self {
        Self(types::ApprovalRequest {
            title: title.into(),
            description: description.into(),
            scope: None,
            severity: None,
            timeout_ms: None,
            timeout_behavior: None,
            timeout_reason: None,
            allowed_decisions: types::ApprovalDecisions::empty(),
            on_resolution: None,
        })
    }

    /// How grave it is.
    pub fn severity(mut self, severity: ApprovalSeverity) -> Self {
        self.0.severity = Some(severity);
        self
    }

    /// How long to wait, at most ten minutes; then the answer is no.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout_ms = Some(u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX));
        self
    }

    /// What the model reads if nobody answers in time.
    pub fn timeout_reason(mut self, reason: impl Into<String>) -> Self {
        self.0.timeout_reason = Some(reason.into());
        self
    }

    /// The choices on offer. None at all means all three.
    pub fn offer(mut self, choices: &[ApprovalChoice]) -> Self {
        self.0.allowed_decisions = choices
            .iter()
            .map(|choice| match choice {
                ApprovalChoice::AllowOnce => types::ApprovalDecisions::ALLOW_ONCE,
                ApprovalChoice::AllowAlways => types::ApprovalDecisions::ALLOW_ALWAYS,
                ApprovalChoice::Deny => types::ApprovalDecisions::DENY,
            })
            .fold(types::ApprovalDecisions::empty(), |all, one| all | one);
        self
    }

    /// What the call touches, for display.
    pub fn scope(mut self, scope: ApprovalScope) -> Self {
        self.0.scope = Some(scope);
        self
    }

    /// Have `approval_resolved` called when it is decided, with this note (at most 4096 bytes). It may reach another instance of the
    /// plugin, so it must hold all that is needed.
    pub fn on_resolution(mut self, note: impl Into<String>) -> Self {
        self.0.on_resolution = Some(note.into());
        self
    }
}

impl From<Approval> for types::ApprovalRequest {
    fn from(approval: Approval) -> Self {
        approval.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Approval, ApprovalChoice, types};
    use std::time::Duration;

    #[test]
    fn choices_add_up() {
        let approval = Approval::new("t", "d").offer(&[ApprovalChoice::AllowOnce, ApprovalChoice::Deny]);
        let offered = types::ApprovalRequest::from(approval).allowed_decisions;
        assert_eq!(offered, types::ApprovalDecisions::ALLOW_ONCE | types::ApprovalDecisions::DENY);
    }

    #[test]
    fn a_wait_without_end_saturates() {
        let request = types::ApprovalRequest::from(Approval::new("t", "d").timeout(Duration::MAX));
        assert_eq!(request.timeout_ms, Some(u32::MAX));
    }
}
