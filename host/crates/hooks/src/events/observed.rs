//! Events of hooks that only watch. They have no answer, so that a watcher cannot change an outcome.

use domain::approval::ApprovalOutcome;
use domain::message::Usage;
use domain::model::ConnectionFailure;
use domain::tool::ToolOutcome;
use domain::{CallId, JsonText, ModelCallId};

use super::{ChannelRef, Messages};

/// A run is over (plugin-hooks 4.5).
#[derive(Debug, Clone, PartialEq)]
pub struct AgentEnd {
    /// Final messages, oldest first.
    pub messages: Messages,
    /// Whether it ended as intended.
    pub success: bool,
    /// What went wrong.
    pub error: Option<String>,
    /// Milliseconds from start to end.
    pub duration_ms: Option<u32>,
}

/// A request goes to a model (5.5).
#[derive(Debug, Clone, PartialEq)]
pub struct LlmInput {
    /// Provider of this attempt.
    pub provider: String,
    /// Model of this attempt.
    pub model: String,
    /// System prompt.
    pub system_prompt: Option<String>,
    /// User prompt.
    pub prompt: String,
    /// Messages before the prompt, oldest first.
    pub history_messages: Messages,
    /// Pictures that go with the prompt.
    pub images_count: u32,
    /// Tool definitions.
    pub tools: Option<Messages>,
}

/// A response came back (5.6).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LlmOutput {
    /// Provider of this attempt.
    pub provider: String,
    /// Model of this attempt.
    pub model: String,
    /// Texts of the assistant, in order.
    pub assistant_texts: Vec<String>,
    /// Reference that the model name resolved to.
    pub resolved_ref: Option<String>,
    /// Harness that ran the attempt.
    pub harness_id: Option<String>,
    /// User prompt of the attempt.
    pub prompt: Option<String>,
    /// Last assistant message.
    pub last_assistant: Option<JsonText>,
    /// Tokens.
    pub usage: Option<Usage>,
    /// Reasoning effort that was asked for.
    pub reasoning_effort: Option<String>,
    /// Whether the provider's fast mode was asked for.
    pub fast_mode: Option<bool>,
}

/// A model call starts (5.7). Facts only.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCallStarted {
    /// Id of the call.
    pub call_id: ModelCallId,
    /// Provider.
    pub provider: String,
    /// Model.
    pub model: String,
    /// Wire protocol.
    pub api: Option<String>,
    /// Transport.
    pub transport: Option<String>,
}

/// A model call ended (5.7). Facts only.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCallEnded {
    /// Id of the call.
    pub call_id: ModelCallId,
    /// Provider.
    pub provider: String,
    /// Model.
    pub model: String,
    /// Wire protocol.
    pub api: Option<String>,
    /// Transport.
    pub transport: Option<String>,
    /// Milliseconds from start to end.
    pub duration_ms: u32,
    /// Whether a complete response came.
    pub completed: bool,
    /// Class of the error.
    pub error_category: Option<String>,
    /// How the connection failed.
    pub failure_kind: Option<ConnectionFailure>,
    /// Bytes sent.
    pub request_payload_bytes: Option<u32>,
    /// Bytes received.
    pub response_stream_bytes: Option<u32>,
    /// Milliseconds to the first byte.
    pub time_to_first_byte_ms: Option<u32>,
    /// Hash of the provider's request id.
    pub upstream_request_id_hash: Option<String>,
}

/// An approval that a plugin asked for ended (4.9.5).
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalResolved {
    /// The note that the plugin gave.
    pub note: String,
    /// How it ended.
    pub outcome: ApprovalOutcome,
    /// Tool that was about to be called.
    pub tool_name: String,
    /// Id of the call.
    pub tool_call_id: CallId,
}

/// A tool call is over (4.8).
#[derive(Debug, Clone, PartialEq)]
pub struct AfterToolCall {
    /// Canonical id of the tool.
    pub tool_name: String,
    /// Parameters that were used, a JSON object.
    pub params: JsonText,
    /// Id of the call.
    pub tool_call_id: CallId,
    /// Kind of a tool that takes a program.
    pub tool_kind: Option<String>,
    /// Language of that program.
    pub tool_input_kind: Option<String>,
    /// How it ended.
    pub outcome: ToolOutcome,
    /// The result before it is persisted.
    pub result: Option<JsonText>,
    /// What went wrong.
    pub error: Option<String>,
    /// Milliseconds that the tool ran; none: it did not run.
    pub duration_ms: Option<u32>,
}

/// A message was accepted (4.12).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageReceived {
    /// Sender as the channel addresses it.
    pub from: String,
    /// Text.
    pub content: String,
    /// When it was sent, milliseconds since 1970-01-01 UTC.
    pub timestamp: Option<u64>,
    /// Thread inside the conversation.
    pub thread_id: Option<ChannelRef>,
    /// Place that was shared.
    pub location: Option<Location>,
    /// Set when this is a change to an earlier message.
    pub provider_update: Option<ProviderUpdate>,
    /// Attachments, staged.
    pub media: Vec<MediaFact>,
    /// Attachments as the channel gave them.
    pub original_media: Vec<MediaFact>,
    /// Whether attachments are still being fetched.
    pub media_staging_pending: bool,
    /// What else the channel says.
    pub metadata: Option<JsonText>,
}

/// One attachment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MediaFact {
    /// Path on the host; a name.
    pub path: Option<String>,
    /// Where it comes from.
    pub url: Option<String>,
    /// Media type.
    pub content_type: Option<String>,
    /// `image`, `video`, …; open.
    pub kind: Option<String>,
    /// Whether its speech is in the message text.
    pub transcribed: Option<bool>,
    /// Message that it came with, if another one.
    pub message_id: Option<String>,
    /// Workspace that it was staged in; a name.
    pub workspace_dir: Option<String>,
}

/// A shared place.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Location {
    /// Degrees, north positive.
    pub latitude: f64,
    /// Degrees, east positive.
    pub longitude: f64,
    /// Radius in metres.
    pub accuracy: Option<f64>,
    /// Name.
    pub name: Option<String>,
    /// Postal address.
    pub address: Option<String>,
    /// How it was shared.
    pub source: Option<LocationSource>,
    /// Whether it moves.
    pub is_live: Option<bool>,
    /// Seconds for which it is shared.
    pub live_period_seconds: Option<u32>,
    /// Text that came with it.
    pub caption: Option<String>,
}

/// How a place was shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocationSource {
    /// A point on a map.
    Pin,
    /// A known place.
    Place,
    /// A moving position.
    Live,
}

/// A change to an earlier message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderUpdate {
    /// Id of the update.
    pub id: String,
    /// Kind, in the channel's words.
    pub kind: String,
    /// Message that changed.
    pub message_id: Option<String>,
    /// When that message was sent.
    pub message_timestamp: Option<u64>,
    /// When it was changed.
    pub edited_timestamp: Option<u64>,
}

/// A delivery attempt ended (4.14).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageSent {
    /// Where it went.
    pub to: String,
    /// Text as sent.
    pub content: String,
    /// Whether the channel took it.
    pub success: bool,
    /// Id that the channel gave it.
    pub message_id: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
}

/// A session generation became current (4.15).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionStart {
    /// Session id that it continues.
    pub resumed_from: Option<String>,
}

/// A session generation ended (4.16).
#[derive(Debug, Clone, PartialEq)]
pub struct SessionEnd {
    /// Messages in it.
    pub message_count: u32,
    /// Milliseconds that it lasted.
    pub duration_ms: Option<u64>,
    /// Why it ended.
    pub reason: Option<EndReason>,
    /// Its transcript; a name.
    pub session_file: Option<String>,
    /// Whether the transcript was archived.
    pub transcript_archived: Option<bool>,
    /// The generation that follows.
    pub next_session_id: Option<String>,
    /// The session that follows.
    pub next_session_key: Option<String>,
    /// Whether the ended transcript can be read during the call; otherwise why not.
    pub transcript: Result<(), String>,
}

/// Why a session generation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// `/new`.
    New,
    /// `/reset`.
    Reset,
    /// Nobody spoke for long enough.
    Idle,
    /// The daily rollover.
    Daily,
    /// Compaction began a new transcript.
    Compaction,
    /// It was deleted.
    Deleted,
    /// The host stops.
    Shutdown,
    /// The host restarts.
    Restart,
    /// Anything else.
    Unknown,
}

/// A reset is about to take effect (5.8).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BeforeReset {
    /// The transcript; a name.
    pub session_file: Option<String>,
    /// Its messages.
    pub messages: Option<Messages>,
    /// Why.
    pub reason: Option<String>,
}

/// History is about to be compacted (4.6).
#[derive(Debug, Clone, PartialEq)]
pub struct BeforeCompaction {
    /// Messages in the history; none: unknown.
    pub message_count: Option<u32>,
    /// Messages that will be folded.
    pub compacting_count: Option<u32>,
    /// Tokens of the history.
    pub token_count: Option<u32>,
    /// The messages.
    pub messages: Option<Messages>,
    /// The transcript; a name.
    pub session_file: Option<String>,
}

/// A compaction was committed (4.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AfterCompaction {
    /// Messages in the history; none: unknown.
    pub message_count: Option<u32>,
    /// Messages that were folded.
    pub compacted_count: u32,
    /// Tokens of the history.
    pub token_count: Option<u32>,
    /// The transcript; a name.
    pub session_file: Option<String>,
    /// Session id before the compaction.
    pub previous_session_id: Option<String>,
}

/// The gateway listens (4.17).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayStart {
    /// TCP port.
    pub port: u16,
}

/// The gateway stops (4.18).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GatewayStop {
    /// Why.
    pub reason: Option<String>,
}
