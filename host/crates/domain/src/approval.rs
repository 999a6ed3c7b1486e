//! Requests to ask a person before a tool call goes on (plugin-hooks 4.9.2, 4.9.5), and the port that asks.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::ids::{AgentId, CallId, PluginId, RunId, SessionId};
use crate::session_key::SessionKey;

/// Longest title in characters; longer ones are cut.
pub const MAX_TITLE_CHARS: usize = 80;
/// Longest description in characters; longer ones are cut.
pub const MAX_DESCRIPTION_CHARS: usize = 512;
/// Wait when the plugin gives none.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(120);
/// Longest wait.
pub const MAX_WAIT: Duration = Duration::from_secs(600);
/// Longest note that comes back in `approval_resolved`, in bytes.
pub const MAX_NOTE_BYTES: usize = 4096;

/// What a plugin asks for, already bounded.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalRequest {
    /// Heading.
    pub title: String,
    /// What will happen.
    pub description: String,
    /// What the call touches, for display.
    pub scope: Option<ApprovalScope>,
    /// How grave it is.
    pub severity: Severity,
    /// How long to wait.
    pub wait: Duration,
    /// An old plugin wanted expiry to allow; ignored, but warned about once per plugin (4.9.2).
    pub wanted_allow_on_timeout: bool,
    /// Text of the result after the time is up; also turns the timeout into a blocked result.
    pub timeout_reason: Option<String>,
    /// What may be decided; never empty.
    pub offered: Vec<ApprovalDecision>,
    /// Note that comes back to the plugin; none: it does not want to be told.
    pub on_resolution: Option<String>,
}

/// How grave a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// For information.
    Info,
    /// Worth a look.
    #[default]
    Warning,
    /// Dangerous.
    Critical,
}

/// A decision that a person can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalDecision {
    /// This call only.
    AllowOnce,
    /// This and later calls; the host does not remember it.
    AllowAlways,
    /// Refuse.
    Deny,
}

impl ApprovalDecision {
    /// All decisions, in the order in which they are offered.
    pub const ALL: [Self; 3] = [Self::AllowOnce, Self::AllowAlways, Self::Deny];
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalOutcome {
    /// Allowed for this call.
    AllowOnce,
    /// Allowed for this and later calls.
    AllowAlways,
    /// Refused by a person.
    Deny,
    /// Expired, or answered with something that was not offered.
    Timeout,
    /// Nobody could be asked, or the run was aborted.
    Cancelled,
}

/// What a call touches, for display only. Text over its limit drops the scope.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ApprovalScope {
    /// A message goes out.
    #[serde(rename_all = "camelCase")]
    MessageSend {
        /// Where it goes.
        target: String,
        /// How many people get it.
        recipient_count: u32,
        /// Up to 5 of them.
        recipients: Vec<String>,
        /// Whether it leaves the operator's circle.
        external: bool,
    },
    /// Money is spent.
    Payment {
        /// Amount.
        amount: String,
        /// Currency.
        currency: String,
        /// Who is paid.
        target: String,
    },
    /// Something is published.
    ExternalPost {
        /// Where it appears.
        target: String,
        /// Whether everybody can see it.
        public: bool,
    },
}

/// A pending question, as a reviewer sees it.
#[derive(Debug, Clone)]
pub struct PendingApproval {
    /// Id of the question; a decision must carry it.
    pub id: String,
    /// Plugin that asks; stamped by the host.
    pub plugin_id: PluginId,
    /// What it asks.
    pub request: ApprovalRequest,
    /// Tool that is about to run.
    pub tool_name: String,
    /// The call.
    pub call_id: CallId,
    /// The agent.
    pub agent_id: AgentId,
    /// The conversation.
    pub session_key: SessionKey,
    /// The session generation.
    pub session_id: SessionId,
    /// The run.
    pub run_id: RunId,
}

/// What came back from a reviewer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Review {
    /// Somebody decided. Only a decision with the pending id counts.
    Decided {
        /// Id of the question that was answered.
        id: String,
        /// The decision.
        decision: ApprovalDecision,
    },
    /// Somebody answered with something that is no decision.
    Unknown,
    /// Nobody can be asked.
    NoRoute,
}

/// Asks a person. The caller owns the clock: an approver need not time out, its future is dropped when the wait is over.
#[async_trait]
pub trait Approver: Send + Sync {
    /// Asks and waits.
    async fn review(&self, pending: &PendingApproval) -> Review;
}

/// An approver for when nobody can answer: every request is refused.
pub struct NobodyToAsk;

#[async_trait]
impl Approver for NobodyToAsk {
    async fn review(&self, _pending: &PendingApproval) -> Review {
        Review::NoRoute
    }
}
