//! Tools: what a model may call, the call, its result, and the port that runs one. Policy and hooks live elsewhere: whoever holds a
//! [`Tool`] must reach it through the one executor of the agent.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::cancel::Cancel;
use crate::ids::{AgentId, CallId, PluginId, RunId, SessionId};
use crate::message::ContentBlock;
use crate::session_key::SessionKey;

/// What a tool is.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Canonical id, the name that the model uses: letters, digits, `_`, `-`, at most 64.
    pub name: String,
    /// Name to show.
    pub label: String,
    /// What it does; the model reads this.
    pub description: String,
    /// JSON Schema of the parameters, an object of type `object`.
    pub parameters: Value,
    /// JSON Schema of the result's `details`; none: not checked.
    pub output_schema: Option<Value>,
    /// Whether it is hidden until an operator allows it (plugin-hooks 8).
    pub optional: bool,
    /// Who offers it.
    pub owner: ToolOwner,
    /// Whether a batch that holds it must run one call after another (agent-loop 14.3.1).
    pub sequential: bool,
}

/// Who offers a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolOwner {
    /// The host.
    Host,
    /// A plugin.
    Plugin(PluginId),
}

/// For whom a tool runs.
#[derive(Debug, Clone)]
pub struct ToolScope {
    /// The agent.
    pub agent_id: AgentId,
    /// The conversation.
    pub session_key: SessionKey,
    /// The session generation.
    pub session_id: SessionId,
    /// The run.
    pub run_id: RunId,
}

/// One call, ready to run: checked, allowed, its parameters final.
pub struct Invocation<'a> {
    /// Id of the call.
    pub call_id: &'a CallId,
    /// Parameters that fit the schema.
    pub params: &'a Map<String, Value>,
    /// For whom.
    pub scope: &'a ToolScope,
    /// Variables for a child process, already filtered (plugin-hooks 5.12).
    pub env: &'a BTreeMap<String, String>,
    /// Asks the tool to stop.
    pub cancel: &'a Cancel,
    /// Takes partial results.
    pub progress: &'a dyn Progress,
    /// Instances of the run, for tools that live in a plugin.
    pub run: &'a crate::ports::RunScope,
    /// Plugins whose calls are around this one, outermost first. Empty: the model made it.
    pub chain: &'a [PluginId],
}

/// Takes partial results of a running tool. Never blocks.
pub trait Progress: Send + Sync {
    /// Replaces what is shown so far.
    fn update(&self, partial: &ToolResult);
}

/// Drops partial results.
pub struct NoProgress;

impl Progress for NoProgress {
    fn update(&self, _partial: &ToolResult) {}
}

/// What a tool gives back.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolResult {
    /// What the model sees: text and images.
    pub content: Vec<ContentBlock>,
    /// For user interfaces and hooks; never shown to a model.
    pub details: Option<Value>,
    /// End the turn after this batch.
    pub terminate: bool,
}

impl ToolResult {
    /// A result of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ContentBlock::text(text)], details: None, terminate: false }
    }

    /// Adds details.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

/// How a tool call ended (plugin-hooks 4.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// The tool ran and returned a result.
    Ok,
    /// The tool ran and failed.
    Failed,
    /// A policy, a hook or an approval kept it from running.
    Blocked,
    /// It ran, or waited for approval, longer than allowed.
    TimedOut,
    /// The run was aborted.
    Aborted,
}

/// Why a tool gave no result. The text goes to the model, so that it can do better.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ToolFailure {
    /// The call does not make sense.
    #[error("{0}")]
    Invalid(String),
    /// It was tried and failed.
    #[error("{0}")]
    Failed(String),
    /// It took longer than allowed.
    #[error("{0}")]
    TimedOut(String),
    /// It was asked to stop.
    #[error("the operation was aborted")]
    Aborted,
    /// It was asked to stop and had something to show by then, which the text holds.
    #[error("the operation was aborted. {0}")]
    AbortedWith(String),
}

impl ToolFailure {
    /// The outcome that this failure counts as.
    pub fn outcome(&self) -> ToolOutcome {
        match self {
            Self::Invalid(_) | Self::Failed(_) => ToolOutcome::Failed,
            Self::TimedOut(_) => ToolOutcome::TimedOut,
            Self::Aborted | Self::AbortedWith(_) => ToolOutcome::Aborted,
        }
    }
}

/// A tool that can be called.
#[async_trait]
pub trait Tool: Send + Sync {
    /// What it is. Must not change during a run.
    fn spec(&self) -> &ToolSpec;

    /// How long a call may need to end by itself after it was asked to stop; the executor waits for it that long, within a limit of its
    /// own, before it drops the call. Zero, the default: it ends at once.
    fn stop_grace(&self) -> Duration {
        Duration::ZERO
    }

    /// Runs one call. Dropping the future must stop the work.
    ///
    /// # Errors
    /// [`ToolFailure`]: the text becomes an error result that the model sees.
    async fn execute(&self, call: Invocation<'_>) -> Result<ToolResult, ToolFailure>;
}
