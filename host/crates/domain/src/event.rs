//! Events of a run: what a client that watches it sees (agent-loop 12). Every event of a run carries the next number of that run.

use serde::Serialize;
use serde_json::Value;

use crate::growing_text::TextSoFar;
use crate::ids::{AgentId, CallId, RunId, SessionId};
use crate::session_key::SessionKey;

/// One event with its envelope (12.1).
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunEvent {
    /// The run.
    pub run_id: RunId,
    /// Starts at 1 and grows by exactly 1.
    pub seq: u64,
    /// Milliseconds since 1970-01-01 UTC.
    pub ts: u64,
    /// The conversation.
    #[serde(serialize_with = "as_text")]
    pub session_key: SessionKey,
    /// The session generation.
    pub session_id: SessionId,
    /// The agent.
    pub agent_id: AgentId,
    /// Stream and data.
    #[serde(flatten)]
    pub data: EventData,
}

fn as_text<S: serde::Serializer>(key: &SessionKey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(key.as_str())
}

/// Stream and its data (12.2).
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "stream", content = "data", rename_all = "lowercase")]
pub enum EventData {
    /// Start and end of the run.
    Lifecycle(Lifecycle),
    /// Text of the assistant.
    Assistant(TextChunk),
    /// Reasoning of the assistant.
    Thinking(TextChunk),
    /// Tool calls.
    Tool(ToolEvent),
}

/// Start and end of a run. A run has one `start`, first, and one of the others, last (12.4.1).
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "phase", rename_all = "lowercase")]
pub enum Lifecycle {
    /// It begins.
    #[serde(rename_all = "camelCase")]
    Start {
        /// Milliseconds since 1970-01-01 UTC.
        started_at: u64,
    },
    /// It ended as intended, or was aborted.
    #[serde(rename_all = "camelCase")]
    End {
        /// Milliseconds since 1970-01-01 UTC.
        ended_at: u64,
        /// Whether it was aborted.
        aborted: bool,
        /// Why, in one word.
        #[serde(skip_serializing_if = "Option::is_none")]
        stop_reason: Option<String>,
    },
    /// It failed.
    #[serde(rename_all = "camelCase")]
    Error {
        /// Milliseconds since 1970-01-01 UTC.
        ended_at: u64,
        /// What went wrong.
        error: String,
    },
}

/// A piece of streamed text.
#[derive(Debug, Clone, Serialize)]
pub struct TextChunk {
    /// Whole text of the current message so far.
    pub text: TextSoFar,
    /// New part.
    pub delta: String,
}

/// A tool call as seen from outside: sanitised, before any persist hook (12.3).
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "phase", rename_all = "lowercase")]
pub enum ToolEvent {
    /// It is about to be prepared.
    #[serde(rename_all = "camelCase")]
    Start {
        /// Tool.
        name: String,
        /// Call.
        tool_call_id: CallId,
        /// Arguments, secrets masked.
        args: Value,
    },
    /// A partial result.
    #[serde(rename_all = "camelCase")]
    Update {
        /// Tool.
        name: String,
        /// Call.
        tool_call_id: CallId,
        /// Sanitised.
        partial_result: Value,
    },
    /// It is over.
    #[serde(rename_all = "camelCase")]
    Result {
        /// Tool.
        name: String,
        /// Call.
        tool_call_id: CallId,
        /// Whether it failed or was refused.
        is_error: bool,
        /// Sanitised.
        result: Value,
    },
}

/// Takes events. Never blocks: a slow consumer must not slow a run (12.4.6).
pub trait EventSink: Send + Sync {
    /// Takes one event.
    fn emit(&self, event: RunEvent);
}

/// Drops events.
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _event: RunEvent) {}
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_envelope_is_flat_on_the_wire() {
        let event = RunEvent {
            run_id: RunId::new("r"),
            seq: 1,
            ts: 2,
            session_key: SessionKey::main(&AgentId::main()),
            session_id: SessionId::new("s"),
            agent_id: AgentId::main(),
            data: EventData::Lifecycle(Lifecycle::Start { started_at: 2 }),
        };
        let value = serde_json::to_value(event).unwrap();
        assert_eq!(value["stream"], "lifecycle");
        assert_eq!(value["data"]["phase"], "start");
        assert_eq!(value["sessionKey"], "agent:main:main");
    }
}
