//! What a run leaves behind for its caller.

use domain::message::Usage;
use domain::model::ModelRef;
use domain::payload::ReplyPayload;
use domain::session::RunStatus;
use domain::{RunId, SessionId, SessionKey};
use serde::Serialize;

use crate::error::RunErrorKind;

/// The end of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// The run.
    pub run_id: RunId,
    /// The conversation.
    pub session_key: SessionKey,
    /// The transcript.
    pub session_id: SessionId,
    /// How it ended.
    pub status: RunStatus,
    /// What went wrong.
    pub error: Option<String>,
    /// Kind of what went wrong.
    pub error_kind: Option<RunErrorKind>,
    /// Payloads as shaped, before delivery hooks.
    pub payloads: Vec<ReplyPayload>,
    /// What became of each payload.
    pub deliveries: Vec<Delivery>,
    /// Model that answered last; none: no model was called.
    pub model: Option<ModelRef>,
    /// Tokens of all model calls.
    pub usage: Usage,
    /// Tokens of the last model call.
    pub last_call_usage: Usage,
    /// Model calls made.
    pub model_calls: u32,
    /// Tool calls decided.
    pub tool_calls: u32,
    /// Milliseconds from start to end.
    pub duration_ms: u64,
    /// Whether it was asked to stop.
    pub aborted: bool,
}

/// What became of one payload.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// How it ended.
    pub status: DeliveryStatus,
    /// The text as it went out, after all rewrites; none: nothing went out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Id that the channel gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Why it was kept back or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What a plugin attached to a cancellation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Value>,
}

/// How a delivery ended (agent-loop 2.2.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// The channel took it.
    Sent,
    /// A hook kept it back.
    Suppressed,
    /// The channel refused it.
    Failed,
}
