//! `agents`: defaults of all agents and the list of agents.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Quantity, Seconds};
use super::secret::OpenObject;
use super::tools::AgentTools;

/// Time that one run may take. The limit is a year: a larger number is a slip, and "no limit" is 0.
pub(super) type RunSeconds = Quantity<Seconds, 0, { 366 * 86_400 }>;

/// `agents`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Agents {
    /// What holds for every agent that does not say otherwise.
    pub defaults: AgentDefaults,
    /// The agents. Empty or absent: one agent, `main`. The default agent is the first one with `default: true`, else the first one.
    pub list: Vec<AgentEntry>,
}

/// `agents.defaults`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AgentDefaults {
    /// Directory in which the default agent works. `~` is the home directory; a relative path starts at the directory of this
    /// file. Absent: `workspace` in the state directory.
    #[schemars(length(min = 1))]
    pub workspace: Option<String>,
    /// Model of a run that asks for none: `provider/model` or an alias, alone or with fallbacks.
    pub model: Option<ModelSelection>,
    /// Models by `provider/model` with their aliases and parameters. A key `provider/*` stands for all models of a provider.
    pub models: BTreeMap<String, ModelEntry>,
    /// Parameters that are sent to the provider with every request, under those of the model and of the agent.
    pub params: OpenObject,
    /// Time that one run may take, in seconds or as text such as "2h". 0: no limit.
    #[schemars(extend("default" = 172_800))]
    pub timeout_seconds: Option<RunSeconds>,
    /// How much the model thinks before it answers. Absent: what the model does by default.
    pub thinking_default: Option<ThinkingLevel>,
    /// Characters of one bootstrap file (`AGENTS.md` and so on) that enter the prompt.
    #[schemars(range(min = 1, max = 10_000_000), extend("default" = 20_000))]
    pub bootstrap_max_chars: Option<u32>,
    /// Characters of all bootstrap files together that enter the prompt.
    #[schemars(range(min = 1, max = 10_000_000), extend("default" = 60_000))]
    pub bootstrap_total_max_chars: Option<u32>,
    /// When the prompt says that a bootstrap file was cut.
    #[schemars(extend("default" = "always"))]
    pub bootstrap_prompt_truncation_warning: Option<TruncationWarning>,
    /// When bootstrap files enter the prompt.
    #[schemars(extend("default" = "always"))]
    pub context_injection: Option<ContextInjection>,
    /// Leave a new workspace empty instead of laying template files into it.
    pub skip_bootstrap: bool,
    /// Upper limit for the context window of every model, in tokens.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub context_tokens: Option<u32>,
    /// Limits of single parts of the context.
    pub context_limits: ContextLimits,
    /// Time zone of the user, for example `Europe/Berlin`. Absent: that of the host.
    #[schemars(length(min = 1))]
    pub user_timezone: Option<String>,
}

/// One entry of `agents.list`. What it leaves out is taken from `agents.defaults`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentEntry {
    /// Id of the agent: 1 to 64 letters, digits, `_` or `-`, the first one a letter or a digit. Upper case is lowered.
    pub id: String,
    /// This is the agent of runs that name none.
    #[serde(default)]
    pub default: bool,
    /// Name for people.
    #[serde(default)]
    pub name: Option<String>,
    /// Directory in which the agent works. Absent: `workspace-<id>` in the state directory, or for the default agent that of
    /// `agents.defaults`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    pub workspace: Option<String>,
    /// Model of the agent. A model without its own fallbacks has none.
    #[serde(default)]
    pub model: Option<ModelSelection>,
    /// Parameters that are sent to the provider with every request of this agent.
    #[serde(default)]
    pub params: OpenObject,
    /// Time that one run of this agent may take, in seconds or as text such as "2h". 0: no limit.
    #[serde(default)]
    pub timeout_seconds: Option<RunSeconds>,
    /// How much the model thinks before it answers.
    #[serde(default)]
    pub thinking_default: Option<ThinkingLevel>,
    /// Characters of one bootstrap file that enter the prompt.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub bootstrap_max_chars: Option<u32>,
    /// Characters of all bootstrap files together that enter the prompt.
    #[serde(default)]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub bootstrap_total_max_chars: Option<u32>,
    /// When bootstrap files enter the prompt.
    #[serde(default)]
    pub context_injection: Option<ContextInjection>,
    /// Upper limit for the context window of every model, in tokens.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub context_tokens: Option<u32>,
    /// Limits of single parts of the context.
    #[serde(default)]
    pub context_limits: ContextLimits,
    /// Which tools this agent may use. It can only take away what the global rules allow, except by `alsoAllow`.
    #[serde(default)]
    pub tools: AgentTools,
}

/// A model, alone or with what to try after it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum ModelSelection {
    /// `provider/model` or an alias.
    Model(#[schemars(length(min = 1))] String),
    /// A model and its fallbacks.
    Chain(ModelChain),
}

/// A model and its fallbacks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ModelChain {
    /// The model that is tried first.
    #[schemars(length(min = 1))]
    pub primary: Option<String>,
    /// Models that are tried after it, in this order. Empty list: none.
    #[schemars(inner(length(min = 1)))]
    pub fallbacks: Vec<String>,
}

/// One value of `agents.defaults.models`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ModelEntry {
    /// Short name of the model. An alias belongs to one model only.
    #[schemars(length(min = 1))]
    pub alias: Option<String>,
    /// Parameters that are sent to the provider with every request for this model.
    pub params: OpenObject,
}

/// `contextLimits`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ContextLimits {
    /// Characters of one tool result that are stored and shown to the model. Absent: by the size of the context window.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub tool_result_max_chars: Option<u32>,
}

/// How much a model thinks (runtime 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ThinkingLevel {
    /// Not at all.
    Off,
    /// As little as the model can.
    Minimal,
    /// A little.
    Low,
    /// Somewhat.
    Medium,
    /// Much.
    High,
    /// Very much.
    Xhigh,
    /// As much as the model finds right.
    Adaptive,
    /// As much as the model can.
    Max,
    /// More than `max`, where a provider has it.
    Ultra,
}

impl ThinkingLevel {
    /// All levels.
    pub const ALL: [Self; 9] =
        [Self::Off, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Adaptive, Self::Max, Self::Ultra];

    /// The word in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Adaptive => "adaptive",
            Self::Max => "max",
            Self::Ultra => "ultra",
        }
    }
}

/// When the prompt says that a bootstrap file was cut (agent-loop 8.3.5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum TruncationWarning {
    /// Never.
    Off,
    /// Once for each set of cut files.
    Once,
    /// In every prompt.
    #[default]
    Always,
}

/// When bootstrap files enter the prompt (agent-loop 8.3.8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum ContextInjection {
    /// In every turn.
    #[default]
    Always,
    /// Not in turns that continue after a complete answer.
    ContinuationSkip,
    /// Never.
    Never,
}
