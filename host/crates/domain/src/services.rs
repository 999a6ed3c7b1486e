//! What a run does for the plugins that work in it, and the words for it. A plugin reaches it through the scope of the run
//! ([`RunScope`](crate::ports::RunScope)), so it cannot name another run.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::ids::{CallId, PluginId};
use crate::ports::StateError;
use crate::tool::{ToolOutcome, ToolResult};

/// How long a key of a sent message counts, in milliseconds.
pub const SENT_KEY_TTL_MS: u64 = 24 * 60 * 60 * 1000;

/// A tool call that a plugin wants to make.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginToolCall {
    /// Plugins whose calls are around it, outermost first; the last one makes it.
    pub chain: Vec<PluginId>,
    /// The tool.
    pub name: String,
    /// Its parameters.
    pub params: Map<String, Value>,
}

/// A tool call of a plugin that was decided.
#[derive(Debug, Clone, PartialEq)]
pub struct InvokedTool {
    /// Id of the call.
    pub call_id: CallId,
    /// How it ended.
    pub outcome: ToolOutcome,
    /// Its result; for a call that failed or was blocked, the text that a model would have seen.
    pub result: ToolResult,
}

/// A message that a plugin wants to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginMessage {
    /// Plugins whose calls are around it, outermost first; the last one sends it.
    pub chain: Vec<PluginId>,
    /// The text.
    pub content: String,
    /// Media addresses.
    pub media: Vec<String>,
    /// Channel. Absent: the run's.
    pub channel: Option<String>,
    /// Where it goes, as the channel addresses it. Absent: whoever the run answers.
    pub to: Option<String>,
    /// A second message with the same key within [`SENT_KEY_TTL_MS`] is not sent. Absent: no such check.
    pub idempotency_key: Option<String>,
}

/// How the delivery of a plugin's message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SentStatus {
    /// The channel took it.
    Sent,
    /// A hook or a rule kept it back.
    Suppressed,
    /// The channel refused it.
    Failed,
}

/// What became of a plugin's message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMessage {
    /// How the delivery ended.
    pub status: SentStatus,
    /// Id that the channel gave it.
    pub message_id: Option<String>,
    /// Why it was suppressed or failed.
    pub detail: Option<String>,
}

/// What a run does for the plugins that work in it. Everything goes the way that the run's own work goes, so hooks, policies and
/// approvals apply.
#[async_trait]
pub trait RunServices: Send + Sync {
    /// Tools that can be called now.
    fn tool_names(&self) -> Vec<String>;

    /// Calls a tool and waits for it. Dropping the future asks the call to stop.
    ///
    /// # Errors
    /// When the call was never decided: there is no such tool in this run, or the run ends.
    async fn invoke_tool(self: Arc<Self>, call: PluginToolCall) -> Result<InvokedTool, StateError>;

    /// The channel on which the run answers.
    fn channel(&self) -> String;

    /// Sends a message and waits for the channel.
    ///
    /// # Errors
    /// When no delivery was tried: there is no such channel, or nothing to send.
    async fn send_message(self: Arc<Self>, message: PluginMessage) -> Result<SentMessage, StateError>;
}
