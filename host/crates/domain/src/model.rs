//! The port to language models. A stream never fails by itself: failures arrive as its last event, so that partial text is kept.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};

use crate::cancel::Cancel;
use crate::ids::ModelCallId;
use crate::message::{AgentMessage, AssistantMessage, ContentBlock};
use crate::tool::ToolSpec;

/// Provider and model.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ModelRef {
    /// Provider id; exact.
    pub provider: String,
    /// Model id; may hold slashes.
    pub model: String,
}

/// Why a text is no model reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a model reference: write `provider/model`, for example `offline/echo`")]
pub struct InvalidModelRef(pub String);

impl ModelRef {
    /// Joins the two parts.
    pub fn new(provider: impl Into<String>, model: impl Into<String>) -> Self {
        Self { provider: provider.into(), model: model.into() }
    }

    /// Splits at the first slash (runtime 6.1).
    ///
    /// # Errors
    /// When there is no slash, or a part is empty.
    pub fn parse(text: &str) -> Result<Self, InvalidModelRef> {
        match text.trim().split_once('/') {
            Some((provider, model)) if !provider.is_empty() && !model.is_empty() => Ok(Self::new(provider, model)),
            _ => Err(InvalidModelRef(text.to_owned())),
        }
    }
}

impl fmt::Display for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

impl fmt::Debug for ModelRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ModelRef({self})")
    }
}

impl From<ModelRef> for String {
    fn from(model: ModelRef) -> Self {
        model.to_string()
    }
}

impl TryFrom<String> for ModelRef {
    type Error = InvalidModelRef;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

/// One request. Messages are the view for the model: paired, repaired, without details (sessions 8).
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// Id of this call.
    pub call_id: ModelCallId,
    /// Provider and model.
    pub model: ModelRef,
    /// System prompt; none: the request has none.
    pub system_prompt: Option<String>,
    /// Messages, oldest first.
    pub messages: Vec<AgentMessage>,
    /// Tools that may be called.
    pub tools: Vec<ToolSpec>,
    /// Thinking level, as configured; none: the model's default.
    pub thinking: Option<String>,
    /// What the run allows a silent provider.
    pub bounds: CallBounds,
}

/// The limits of a run, as far as they bound how long a provider may be silent (agent-loop 21.3). The run's own timer is not here: it ends
/// a call by cancelling it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallBounds {
    /// The timeout that was given for this run. `Unlimited` takes the place of the agent's, and bounds nothing.
    pub run: RunLimit,
    /// `agents.defaults.timeoutSeconds`, if it is configured and finite.
    pub agent: Option<Duration>,
    /// Whether a scheduled job started the run: its fallbacks must still have time.
    pub is_cron: bool,
}

/// The timeout of a single run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunLimit {
    /// None was given; the agent's counts.
    #[default]
    Absent,
    /// It was given as none.
    Unlimited,
    /// This long.
    After(Duration),
}

impl RunLimit {
    /// A timeout as requests have it: zero is none.
    pub fn of(timeout: Option<Duration>) -> Self {
        match timeout {
            None => Self::Absent,
            Some(Duration::ZERO) => Self::Unlimited,
            Some(limit) => Self::After(limit),
        }
    }
}

/// One event of an answer. The last event is [`ModelEvent::Done`] or [`ModelEvent::Failed`]; nothing follows it.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The provider began to answer.
    Start,
    /// A piece of text. `index` counts the content blocks of the message.
    TextDelta {
        /// Content block.
        index: usize,
        /// New text.
        delta: String,
    },
    /// A piece of reasoning.
    ThinkingDelta {
        /// Content block.
        index: usize,
        /// New text.
        delta: String,
    },
    /// A piece of a tool call's arguments. For previews only; never executed.
    ToolCallDelta {
        /// Content block.
        index: usize,
        /// Tool name, as far as known.
        name: String,
        /// New piece of the arguments' text.
        delta: String,
    },
    /// The answer is complete. Its tool calls have parsed arguments.
    Done {
        /// The whole message.
        message: Box<AssistantMessage>,
        /// What can be said about the call.
        facts: CallFacts,
    },
    /// The answer failed; what came before the failure is in the message.
    Failed {
        /// Partial message, stop reason `error` or `aborted`.
        partial: Box<AssistantMessage>,
        /// What went wrong.
        failure: ModelFailure,
    },
}

/// Facts about one call for `model_call_ended`; no content, no headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallFacts {
    /// Bytes sent.
    pub request_payload_bytes: Option<u32>,
    /// Bytes received.
    pub response_stream_bytes: Option<u32>,
    /// Milliseconds to the first byte.
    pub time_to_first_byte_ms: Option<u32>,
    /// Hash of the provider's request id.
    pub upstream_request_id_hash: Option<String>,
}

/// How a model call failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelFailure {
    /// Class, for retries and for users.
    pub class: FailureClass,
    /// How the connection failed, if it did.
    pub connection: Option<ConnectionFailure>,
    /// One sentence that names the provider and the cause. Holds no secret.
    pub message: String,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// What can be said about the call.
    pub facts: CallFacts,
}

/// Class of a failure (runtime 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// Missing or refused credentials.
    Auth,
    /// Too many requests.
    RateLimit,
    /// No credit.
    Billing,
    /// The provider is overloaded or broken.
    Overloaded,
    /// Nothing came in time, or the connection broke.
    Timeout,
    /// The request is too large for the model.
    ContextOverflow,
    /// The request is not acceptable.
    Format,
    /// There is no such model.
    ModelNotFound,
    /// This side gave up.
    Aborted,
    /// Anything else.
    Unknown,
}

impl FailureClass {
    /// The class as text, for events and logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::RateLimit => "rate_limit",
            Self::Billing => "billing",
            Self::Overloaded => "overloaded",
            Self::Timeout => "timeout",
            Self::ContextOverflow => "context_overflow",
            Self::Format => "format",
            Self::ModelNotFound => "model_not_found",
            Self::Aborted => "aborted",
            Self::Unknown => "unknown",
        }
    }
}

/// How a connection failed (plugin-hooks 5.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionFailure {
    /// By this side.
    Aborted,
    /// Closed by the other side.
    Closed,
    /// Reset by the other side.
    Reset,
    /// Cut in the middle of the stream.
    Terminated,
    /// No byte in time.
    Timeout,
}

impl ModelFailure {
    /// A failure without connection facts.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, connection: None, message: message.into(), status: None, facts: CallFacts::default() }
    }
}

/// A provider.
#[async_trait]
pub trait ModelClient: Send + Sync {
    /// Wire protocol, for example `openai-completions`.
    fn api(&self) -> &str;

    /// Transport, for example `sse`.
    fn transport(&self) -> &str;

    /// Asks the model. The stream ends with `Done` or `Failed`; cancelling makes it end soon with `Failed`, class `aborted`.
    async fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent>;
}

/// Finds the provider of a model.
pub trait ModelRegistry: Send + Sync {
    /// The client and the facts of a model.
    ///
    /// # Errors
    /// When the provider or model is not configured; the text says what to configure.
    fn resolve(&self, model: &ModelRef) -> Result<ResolvedModel, UnknownModel>;
}

/// A model that can be called.
#[derive(Clone)]
pub struct ResolvedModel {
    /// Provider and model.
    pub model: ModelRef,
    /// The provider.
    pub client: Arc<dyn ModelClient>,
    /// Window in tokens; none: unknown.
    pub context_window: Option<u32>,
    /// Whether it reads pictures.
    pub reads_images: bool,
}

/// There is no such model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownModel(pub String);

/// Text pieces of a message, in order; used for `llm_output`.
pub fn assistant_texts(message: &AssistantMessage) -> Vec<String> {
    message.content.iter().filter_map(ContentBlock::as_text).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_split_at_the_first_slash() {
        assert_eq!(ModelRef::parse("or/meta/llama"), Ok(ModelRef::new("or", "meta/llama")));
        for bad in ["", "x", "/x", "x/"] {
            assert!(ModelRef::parse(bad).is_err(), "{bad}");
        }
    }
}
