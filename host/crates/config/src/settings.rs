//! What holds in the end: defaults filled in, agents merged with what all agents share. Pure look-ups in a loaded configuration.

use std::time::Duration;

use domain::AgentId;

use crate::keys::{
    AgentEntry, Config, ContextInjection, HookTimeout, ModelSelection, OpenObject, PluginEntry, Provider, ThinkingLevel,
    ToolProfile, TruncationWarning,
};

/// Time that a run may take if nobody says otherwise, in seconds (agent-loop 21.1).
pub const DEFAULT_RUN_SECONDS: u64 = 172_800;

const DEFAULT_BOOTSTRAP_CHARS: u32 = 20_000;
const DEFAULT_BOOTSTRAP_TOTAL_CHARS: u32 = 60_000;
const DEFAULT_EXEC_SECONDS: u64 = 1_800;

/// An agent that is not configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no agent `{agent}`; configured: {known}. Add it to agents.list, or name one of these")]
pub struct UnknownAgent {
    /// The agent that was asked for.
    pub agent: AgentId,
    /// Ids of the configured ones, for people.
    pub known: String,
}

/// Everything that holds for one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSettings {
    /// Its id.
    pub id: AgentId,
    /// Name for people.
    pub name: Option<String>,
    /// It is the agent of runs that name none.
    pub is_default: bool,
    /// The agent's own workspace as written. Use [`Locations::workspace`](crate::Locations::workspace) for the path.
    pub workspace: Option<String>,
    /// The model and what is tried after it.
    pub model: ModelPlan,
    /// The limit of a run as configured, in seconds; 0 is no limit. `None`: not configured, which some rules tell apart from the
    /// default (agent-loop 21.3).
    pub timeout_seconds: Option<u64>,
    /// How much the model thinks. `None`: what the model does by default.
    pub thinking: Option<ThinkingLevel>,
    /// Bootstrap files.
    pub bootstrap: BootstrapSettings,
    /// Upper limit for the context window of every model, in tokens.
    pub context_tokens: Option<u32>,
    /// Characters of one tool result. `None`: by the size of the context window.
    pub tool_result_max_chars: Option<u32>,
    /// Time zone of the user. `None`: that of the host.
    pub user_timezone: Option<String>,
    /// Which tools it may use.
    pub tools: ToolRules,
    params: OpenObject,
}

/// A model and what is tried after it (runtime 5.4).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelPlan {
    /// `provider/model` or an alias, as written. `None`: none is configured.
    pub primary: Option<String>,
    /// What is tried after it, in this order.
    pub fallbacks: Vec<String>,
}

/// Bootstrap files (agent-loop 8.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootstrapSettings {
    /// Characters of one file.
    pub max_chars: u32,
    /// Characters of all files together.
    pub total_max_chars: u32,
    /// When the prompt says that a file was cut.
    pub truncation_warning: TruncationWarning,
    /// When the files enter the prompt.
    pub injection: ContextInjection,
    /// Leave a new workspace without template files.
    pub skip_templates: bool,
}

/// Rules of one agent's tools, in the order in which they apply (agent-loop 14.1.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRules {
    /// Basic set. `None`: all tools.
    pub profile: Option<ToolProfile>,
    /// Rules for all agents.
    pub global: ToolList,
    /// Rules of the agent.
    pub agent: ToolList,
    /// Time that a command may take.
    pub exec_timeout: Duration,
}

/// One scope of tool rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolList {
    /// Only these. `None`: no limit.
    pub allow: Option<Vec<String>>,
    /// These too, on top of the profile.
    pub also_allow: Vec<String>,
    /// Never these.
    pub deny: Vec<String>,
}

impl AgentSettings {
    /// Time that a run may take; `None` is no limit. `run_seconds` is the run's own value, if it has one (agent-loop 21.2.1).
    pub fn run_budget(&self, run_seconds: Option<u64>) -> Option<Duration> {
        match run_seconds.or(self.timeout_seconds).unwrap_or(DEFAULT_RUN_SECONDS) {
            0 => None,
            seconds => Some(Duration::from_secs(seconds)),
        }
    }
}

impl Config {
    /// Ids of all agents, in the order of the file. `main` if none is configured.
    pub fn agent_ids(&self) -> Vec<AgentId> {
        let ids: Vec<_> = self.agents.list.iter().filter_map(|entry| AgentId::parse(&entry.id).ok()).collect();
        if ids.is_empty() { vec![AgentId::main()] } else { ids }
    }

    /// The agent of runs that name none: the first one with `default: true`, else the first one.
    pub fn default_agent(&self) -> AgentId {
        let list = &self.agents.list;
        let entry = list.iter().find(|entry| entry.default).or_else(|| list.first());
        entry.and_then(|entry| AgentId::parse(&entry.id).ok()).unwrap_or_else(AgentId::main)
    }

    /// Everything that holds for an agent.
    ///
    /// # Errors
    /// When the agent is not configured.
    pub fn agent(&self, id: &AgentId) -> Result<AgentSettings, UnknownAgent> {
        let entry = self.agents.list.iter().find(|entry| AgentId::parse(&entry.id).as_ref() == Ok(id));
        if entry.is_none() && !self.agent_ids().contains(id) {
            let known = self.agent_ids().iter().map(AgentId::to_string).collect::<Vec<_>>().join(", ");
            return Err(UnknownAgent { agent: id.clone(), known });
        }
        Ok(self.merged(id, entry))
    }

    fn merged(&self, id: &AgentId, entry: Option<&AgentEntry>) -> AgentSettings {
        let defaults = &self.agents.defaults;
        AgentSettings {
            id: id.clone(),
            name: entry.and_then(|entry| entry.name.clone()),
            is_default: self.default_agent() == *id,
            workspace: entry.and_then(|entry| entry.workspace.clone()),
            model: model_plan(entry.and_then(|entry| entry.model.as_ref()), defaults.model.as_ref()),
            timeout_seconds: entry.and_then(|entry| entry.timeout_seconds).or(defaults.timeout_seconds).map(|value| value.get()),
            thinking: entry.and_then(|entry| entry.thinking_default).or(defaults.thinking_default),
            bootstrap: self.bootstrap(entry),
            context_tokens: entry.and_then(|entry| entry.context_tokens).or(defaults.context_tokens),
            tool_result_max_chars: entry
                .and_then(|entry| entry.context_limits.tool_result_max_chars)
                .or(defaults.context_limits.tool_result_max_chars),
            user_timezone: defaults.user_timezone.clone(),
            tools: self.tool_rules(entry),
            params: entry.map(|entry| entry.params.clone()).unwrap_or_default(),
        }
    }

    fn bootstrap(&self, entry: Option<&AgentEntry>) -> BootstrapSettings {
        let defaults = &self.agents.defaults;
        BootstrapSettings {
            max_chars: entry
                .and_then(|entry| entry.bootstrap_max_chars)
                .or(defaults.bootstrap_max_chars)
                .unwrap_or(DEFAULT_BOOTSTRAP_CHARS),
            total_max_chars: entry
                .and_then(|entry| entry.bootstrap_total_max_chars)
                .or(defaults.bootstrap_total_max_chars)
                .unwrap_or(DEFAULT_BOOTSTRAP_TOTAL_CHARS),
            truncation_warning: defaults.bootstrap_prompt_truncation_warning.unwrap_or_default(),
            injection: entry.and_then(|entry| entry.context_injection).or(defaults.context_injection).unwrap_or_default(),
            skip_templates: defaults.skip_bootstrap,
        }
    }

    fn tool_rules(&self, entry: Option<&AgentEntry>) -> ToolRules {
        let global = &self.tools;
        let agent = entry.map(|entry| entry.tools.clone()).unwrap_or_default();
        let seconds = agent.exec.timeout_sec.or(global.exec.timeout_sec).map_or(DEFAULT_EXEC_SECONDS, |value| value.get());
        ToolRules {
            profile: agent.profile.or(global.profile),
            global: ToolList {
                allow: global.allow.clone(),
                also_allow: global.also_allow.clone().unwrap_or_default(),
                deny: global.deny.clone(),
            },
            agent: ToolList { allow: agent.allow, also_allow: agent.also_allow.unwrap_or_default(), deny: agent.deny },
            exec_timeout: Duration::from_secs(seconds),
        }
    }

    /// Parameters of a request of an agent for a model: those of all requests, then of the provider's models, then of the model,
    /// then of the agent; later ones win (runtime 6.7).
    pub fn model_params(&self, agent: &AgentSettings, model: &str) -> OpenObject {
        let defaults = &self.agents.defaults;
        let entry =
            |wanted: &str| defaults.models.iter().find(|(key, _)| key.eq_ignore_ascii_case(wanted)).map(|(_, entry)| entry);
        let wildcard = model.split_once('/').and_then(|(provider, _)| entry(&format!("{provider}/*")));
        let layers = wildcard.into_iter().chain(entry(model)).map(|entry| &entry.params).chain([&agent.params]);
        layers.fold(defaults.params.clone(), OpenObject::merged)
    }

    /// A configured provider. Ids are exact.
    pub fn provider(&self, id: &str) -> Option<&Provider> {
        self.models.providers.get(id)
    }

    /// What the operator set for a plugin.
    pub fn plugin_entry(&self, plugin: &str) -> Option<&PluginEntry> {
        self.plugins.entries.get(plugin)
    }

    /// Time of one call of a hook of a plugin, in milliseconds, if the operator set one: the time of that hook, else of all hooks
    /// (plugin-hooks 1.7, sources 1 and 2).
    pub fn operator_timeout_ms(&self, plugin: &str, hook: &str) -> Option<u64> {
        let hooks = &self.plugin_entry(plugin)?.hooks;
        hooks.timeouts.get(hook).copied().or(hooks.timeout_ms).map(HookTimeout::get)
    }
}

/// The agent's model with its own fallbacks, else that of all agents (runtime 5.4.3).
fn model_plan(own: Option<&ModelSelection>, shared: Option<&ModelSelection>) -> ModelPlan {
    let plan = |selection: Option<&ModelSelection>| match selection {
        None => ModelPlan::default(),
        Some(ModelSelection::Model(model)) => ModelPlan { primary: Some(model.clone()), fallbacks: Vec::new() },
        Some(ModelSelection::Chain(chain)) => ModelPlan { primary: chain.primary.clone(), fallbacks: chain.fallbacks.clone() },
    };
    let shared = plan(shared);
    match own {
        None => shared,
        Some(own) => {
            let own = plan(Some(own));
            ModelPlan { primary: own.primary.or(shared.primary), fallbacks: own.fallbacks }
        }
    }
}
