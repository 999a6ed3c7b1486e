//! What the loop needs from outside. The binary wires adapters to these; tests wire fakes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::AgentId;
use domain::approval::Approver;
use domain::event::EventSink;
use domain::message::ToolResultMessage;
use domain::model::{ModelRef, ModelRegistry};
use domain::ports::{Channel, Clock, IdSource, SentKeys};
use domain::session::SessionStore;
use domain::tool::{Tool, ToolSpec};
use hooks::Dispatcher;
use serde_json::{Map, Value};

/// All ports of the loop.
#[derive(Clone)]
pub struct AgentPorts {
    /// Sessions and transcripts.
    pub store: Arc<dyn SessionStore>,
    /// Wall-clock time.
    pub clock: Arc<dyn Clock>,
    /// Ids of runs, rows and calls.
    pub ids: Arc<dyn IdSource>,
    /// Providers.
    pub models: Arc<dyn ModelRegistry>,
    /// The handlers of all plugins.
    pub hooks: Dispatcher,
    /// Tools before policy.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Policy, checks and caps around tools.
    pub tool_support: Arc<dyn ToolSupport>,
    /// Bootstrap files and other texts for the system prompt.
    pub prompt_sources: Arc<dyn PromptSources>,
    /// Asks a person.
    pub approver: Arc<dyn Approver>,
    /// The way out.
    pub channel: Arc<dyn Channel>,
    /// Messages of plugins that went out already.
    pub sent_keys: Arc<dyn SentKeys>,
    /// Takes run events.
    pub events: Arc<dyn EventSink>,
}

/// Settings of the loop, from one configuration snapshot.
#[derive(Debug, Clone)]
pub struct AgentSettings {
    /// The agent.
    pub agent_id: AgentId,
    /// Model when nothing else names one.
    pub model: ModelRef,
    /// Thinking level when the request names none.
    pub thinking: Option<String>,
    /// Budget of a run; none: unlimited (agent-loop 21.1).
    pub run_timeout: Option<Duration>,
    /// `agents.defaults.timeoutSeconds`, if it is configured and finite; bounds silent providers (agent-loop 21.3).
    pub configured_timeout: Option<Duration>,
    /// The workspace, as text for prompts and contexts.
    pub workspace_dir: String,
    /// Time zone for the prompt.
    pub time_zone: String,
    /// Whether a failed tool is told to the user when nothing else is left to say (`messages.suppressToolErrors` negated).
    pub report_tool_errors: bool,
    /// Put before each outgoing text; none: nothing.
    pub response_prefix: Option<String>,
}

/// Parameters that fit, or the sentence that the model gets.
pub type ArgumentCheck = Result<Map<String, Value>, String>;

/// Policy, checks and caps around tools. Pure; the tools crate implements it.
pub trait ToolSupport: Send + Sync {
    /// The tools that the configured policy leaves (agent-loop 14.1).
    fn permitted(&self, tools: &[ToolSpec]) -> Vec<String>;

    /// Narrows names by the lists that `before_prompt_build` handlers gave; never adds one (plugin-hooks 4.2).
    fn narrow(&self, tools: &[ToolSpec], lists: &[Vec<String>]) -> Vec<String>;

    /// Checks and coerces the arguments of a call (agent-loop 14.2).
    fn check_arguments(&self, spec: &ToolSpec, arguments: &Value) -> ArgumentCheck;

    /// Checks a result's details against the tool's output schema, if it has one.
    ///
    /// # Errors
    /// When the schema is invalid or the value does not fit; a sentence for the model.
    fn check_details(&self, spec: &ToolSpec, details: Option<&Value>) -> Result<(), String>;

    /// Whether a tool's output schema, if it has one, can be used at all; asked before execution.
    ///
    /// # Errors
    /// A sentence for the model.
    fn check_output_schema(&self, spec: &ToolSpec) -> Result<(), String>;

    /// Filters variables that plugins want to add to a command (plugin-hooks 5.12); gives what is left and what was dropped.
    fn filter_env(&self, env: BTreeMap<String, String>) -> (BTreeMap<String, String>, Vec<String>);

    /// A copy for logs and events: cut, without image data, secrets masked (agent-loop 14.4).
    fn emitted(&self, value: &Value) -> Value;

    /// Caps and masks a tool result before it is stored (agent-loop 14.4.6 to 14.4.8).
    fn cap_result(&self, message: ToolResultMessage, context_window: Option<u32>) -> ToolResultMessage;

    /// Paths that parameters seem to name; hints.
    fn derived_paths(&self, tool: &str, params: &Map<String, Value>) -> Vec<String>;
}

/// A text for the project part of the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Name to show.
    pub name: String,
    /// What goes into the prompt, already capped.
    pub text: String,
}

/// What the prompt takes from the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectContext {
    /// Bootstrap files in their order.
    pub files: Vec<ContextFile>,
    /// A notice about files that were cut.
    pub notice: Option<String>,
}

/// Gathers texts for the system prompt.
#[async_trait]
pub trait PromptSources: Send + Sync {
    /// The project context of a run.
    ///
    /// # Errors
    /// A sentence, when the workspace cannot be used.
    async fn project_context(&self) -> Result<ProjectContext, String>;
}
