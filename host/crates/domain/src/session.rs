//! Sessions and transcripts: the persisted words and the port to their store (sessions 2 to 5). The store keeps rows; what a model
//! sees of them is computed elsewhere.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ids::{AgentId, RunId, SessionId};
use crate::json::JsonText;
use crate::message::AgentMessage;
use crate::session_key::SessionKey;

/// What is known of a conversation (sessions 2.3). Unknown keys are kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionEntry {
    /// Current transcript.
    pub session_id: String,
    /// Start of the current id, milliseconds since 1970-01-01 UTC.
    pub session_started_at: u64,
    /// Last real interaction, milliseconds.
    pub last_interaction_at: u64,
    /// Last change of this entry, milliseconds.
    pub updated_at: u64,
    /// How the last run ended, or `running`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<RunStatus>,
    /// Sum of input tokens.
    pub input_tokens: u64,
    /// Sum of output tokens.
    pub output_tokens: u64,
    /// All other keys.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// State of a session's last run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// A run works.
    Running,
    /// It ended well.
    Done,
    /// It failed.
    Failed,
    /// It was aborted.
    Killed,
    /// Its time was up.
    Timeout,
}

/// One session in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSummary {
    /// Key of the conversation.
    pub key: SessionKey,
    /// Its entry.
    pub entry: SessionEntry,
    /// Rows in the current transcript, header included.
    pub rows: u64,
}

/// What an accepted message needs to know of its session.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenedSession {
    /// Current transcript.
    pub session_id: SessionId,
    /// Whether it was made by this call.
    pub is_new: bool,
    /// The transcript before it, when this one follows another.
    pub previous: Option<SessionId>,
    /// The entry as stored now.
    pub entry: SessionEntry,
}

/// How to open a session.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenSession {
    /// The conversation.
    pub key: SessionKey,
    /// Now, milliseconds since 1970-01-01 UTC.
    pub now: u64,
    /// Id to give a new transcript.
    pub new_id: SessionId,
    /// Start a new transcript even if there is one.
    pub fresh: bool,
    /// Whether this is a real interaction, which counts for resets (sessions 6.2.6).
    pub interaction: bool,
    /// Working directory, for the transcript's header.
    pub cwd: String,
}

/// One stored event of a transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptRow {
    /// Position in the transcript, from 0 (the header), without gaps.
    pub seq: u64,
    /// Id, unique in the transcript.
    pub id: String,
    /// The row that it follows; none for the header.
    pub parent_id: Option<String>,
    /// Milliseconds since 1970-01-01 UTC.
    pub created_at: u64,
    /// What it is.
    #[serde(flatten)]
    pub event: TranscriptEvent,
}

/// What a row is (sessions 5.2). Types that this version does not know are kept and left out of the context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum TranscriptEvent {
    /// The header.
    Session {
        /// Working directory of the first run.
        cwd: String,
        /// Format version.
        version: u32,
        /// Transcript that this one follows.
        #[serde(rename = "parentSession", default, skip_serializing_if = "Option::is_none")]
        parent_session: Option<String>,
    },
    /// A message.
    Message {
        /// The message.
        message: AgentMessage,
    },
    /// Plugin or host data that is not part of the model's context.
    Custom {
        /// Kind of data.
        #[serde(rename = "customType")]
        custom_type: String,
        /// The data.
        data: Value,
    },
    /// Text that the host or a plugin put into the model's context without it being a user's text.
    CustomMessage {
        /// Kind of text.
        #[serde(rename = "customType")]
        custom_type: String,
        /// The text.
        content: String,
        /// Whether user interfaces show it.
        display: bool,
    },
    /// The model changed.
    ModelChange {
        /// Provider.
        provider: String,
        /// Model.
        #[serde(rename = "modelId")]
        model_id: String,
    },
    /// A type of a later version.
    #[serde(untagged)]
    Unknown(Value),
}

/// One row to append.
#[derive(Debug, Clone, PartialEq)]
pub struct AppendRow {
    /// The conversation.
    pub key: SessionKey,
    /// The transcript.
    pub session_id: SessionId,
    /// The run that writes. A run that no longer owns the session is refused (sessions 3.6).
    pub run_id: RunId,
    /// Id to give the row.
    pub event_id: String,
    /// What it is.
    pub event: TranscriptEvent,
    /// Now, milliseconds since 1970-01-01 UTC.
    pub now: u64,
    /// A second append with the same key stores nothing and returns the first row's id.
    pub idempotency_key: Option<String>,
}

/// What a finished run leaves in the session entry.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    /// How it ended.
    pub status: RunStatus,
    /// Input tokens to add.
    pub input_tokens: u64,
    /// Output tokens to add.
    pub output_tokens: u64,
    /// Provider that answered, if any.
    pub provider: Option<String>,
    /// Model that answered, if any.
    pub model: Option<String>,
    /// Now, milliseconds since 1970-01-01 UTC.
    pub now: u64,
}

/// Why the store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another run owns the session.
    #[error("session `{key}` is in use by run {holder}; wait until it ended, or abort it")]
    Busy {
        /// The conversation.
        key: String,
        /// The run that owns it.
        holder: String,
    },
    /// The writer no longer owns the session; what it wanted to store is dropped.
    #[error("run {run} no longer owns session `{key}`; its late write was refused")]
    Fenced {
        /// The conversation.
        key: String,
        /// The late writer.
        run: String,
    },
    /// There is no such session.
    #[error("there is no session `{0}`; `creel sessions list` shows what exists")]
    NotFound(String),
    /// What was to be stored is not acceptable; nothing was stored.
    #[error("transcript {session_id} cannot take this: {message}")]
    Invalid {
        /// Transcript.
        session_id: String,
        /// What is wrong with it, and what would be right.
        message: String,
    },
    /// The database failed.
    #[error("the session database {path} failed: {message}")]
    Database {
        /// File.
        path: String,
        /// Cause.
        message: String,
    },
    /// A stored row cannot be read.
    #[error("row {seq} of transcript {session_id} in {path} is damaged: {message}")]
    Damaged {
        /// File.
        path: String,
        /// Transcript.
        session_id: String,
        /// Row.
        seq: u64,
        /// Cause.
        message: String,
    },
}

/// The store of sessions and transcripts.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Opens the session of an accepted message; makes entry, transcript and header if there are none (agent-loop 3.7).
    async fn open(&self, open: OpenSession) -> Result<OpenedSession, StoreError>;

    /// Makes a run the only writer of a session.
    ///
    /// # Errors
    /// [`StoreError::Busy`] while another run that is still alive owns it.
    async fn begin_run(&self, key: &SessionKey, session_id: &SessionId, run: &RunId, now: u64) -> Result<(), StoreError>;

    /// Ends a run: the session is free again and its entry says how it went. A run that no longer owns it changes nothing.
    async fn end_run(&self, key: &SessionKey, run: &RunId, summary: RunSummary) -> Result<(), StoreError>;

    /// Appends one row in one transaction and returns it. Called by the agent's one append function and by nobody else.
    async fn append(&self, row: AppendRow) -> Result<TranscriptRow, StoreError>;

    /// All rows of the active path, oldest first.
    async fn rows(&self, agent: &AgentId, session_id: &SessionId) -> Result<Vec<TranscriptRow>, StoreError>;

    /// The entry of a conversation.
    async fn entry(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError>;

    /// All sessions of an agent, newest change first.
    async fn list(&self, agent: &AgentId) -> Result<Vec<SessionSummary>, StoreError>;
}

/// Which sessions to give, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionQuery {
    /// Only of these agents. Absent: of all.
    pub agents: Option<Vec<AgentId>>,
    /// Only with keys that begin like this. Absent: all.
    pub key_prefix: Option<String>,
    /// Only changed at or after this time, milliseconds. Absent: all.
    pub updated_since: Option<u64>,
    /// Where the page before ended. Absent: begin with the newest.
    pub after: Option<PageStart>,
    /// At most so many.
    pub limit: u32,
}

/// The session with which a page of sessions ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageStart {
    /// When it last changed, milliseconds.
    pub updated_at: u64,
    /// Its agent.
    pub agent: AgentId,
    /// Its key.
    pub key: String,
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionPage {
    /// Newest change first.
    pub sessions: Vec<SessionSummary>,
    /// Where the next page goes on. Absent: this was the last one.
    pub next: Option<PageStart>,
}

/// The last messages of a transcript.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MessageTail {
    /// Oldest first.
    pub messages: Vec<JsonText>,
    /// Messages in the whole transcript.
    pub total: u64,
    /// Whether a limit left older messages out.
    pub truncated: bool,
}

/// Reads sessions and transcripts, for whoever must not write.
#[async_trait]
pub trait SessionReader: Send + Sync {
    /// A page of sessions.
    async fn page(&self, query: SessionQuery) -> Result<SessionPage, StoreError>;

    /// The entry of a conversation. None: there is no such key.
    async fn session(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError>;

    /// The last messages of a conversation, at most so many of them and so many bytes of JSON text. None: there is no such key.
    async fn message_tail(&self, key: &SessionKey, max_messages: u32, max_bytes: u32) -> Result<Option<MessageTail>, StoreError>;
}
