//! The only place where adapters meet ports. Two steps: [`prepare`] reads everything that does not depend on who is watching (plugins
//! among it, which may have to be compiled), [`Prepared::start`] joins the way out, the events and the person who is asked.

pub mod entries;
pub mod grants;
mod hook_calls;
pub mod installing;
mod load_log;
pub mod plugins;
mod prompt_sources;
mod providers;
mod time_zone;
mod tool_support;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, AgentPorts, AgentSettings};
use config::{Loaded, Locations};
use domain::AgentId;
use domain::approval::Approver;
use domain::event::EventSink;
use domain::model::{InvalidModelRef, ModelRef, ModelRegistry};
use domain::ports::{Channel, Clock, IdSource};
use domain::tool::Tool;
use hooks::access::Diagnostic;
use hooks::record::RecordSink;
use hooks::{Dispatcher, HookId};
use sessions::{SqlitePluginKv, SqliteSessions, StateDir};
use tools::{ExecSettings, Root};

use crate::exit::{Code, Failure};
use crate::system::{SystemClock, UuidSource};
use plugin_host::compile::Compiler;
use plugins::PluginStatus;
use tool_support::ConfiguredTools;

/// Says what is being done while a host is prepared.
pub type Progress = Box<dyn Fn(&str) + Send + Sync>;

/// What a host is made of. Start from [`HostOptions::new`] and change what differs.
pub struct HostOptions {
    /// Where things are.
    pub locations: Locations,
    /// The configuration.
    pub loaded: Loaded,
    /// The agent.
    pub agent_id: AgentId,
    /// Further directories with plugins.
    pub plugin_dirs: Vec<PathBuf>,
    /// Directory of bundled plugins, instead of the one beside the binary.
    pub bundled_dir: Option<PathBuf>,
    /// Providers instead of the configured ones.
    pub models: Option<Arc<dyn ModelRegistry>>,
    /// Tools beside the built-in ones and those of plugins.
    pub extra_tools: Vec<Arc<dyn Tool>>,
    /// Takes a record of each hook handler call.
    pub records: Option<Arc<dyn RecordSink>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn IdSource>,
    /// Where components are compiled.
    pub compiler: Compiler,
    /// Compiled components, instead of the cache below the state directory.
    pub cache_dir: Option<PathBuf>,
    /// Says what is being done.
    pub progress: Option<Progress>,
}

impl HostOptions {
    /// What the binary runs with; it compiles with [`plugins::own_compiler`].
    pub fn new(locations: Locations, loaded: Loaded, agent_id: AgentId, compiler: Compiler) -> Self {
        Self {
            locations,
            loaded,
            agent_id,
            plugin_dirs: Vec::new(),
            bundled_dir: None,
            models: None,
            extra_tools: Vec::new(),
            records: None,
            clock: Arc::new(SystemClock),
            ids: Arc::new(UuidSource),
            compiler,
            cache_dir: None,
            progress: None,
        }
    }
}

/// A host that is ready except for its ends.
pub struct Prepared {
    ports: Parts,
    settings: AgentSettings,
    plugins: plugins::Loaded,
    sessions: Arc<SqliteSessions>,
    kv: Arc<SqlitePluginKv>,
}

struct Parts {
    models: Arc<dyn ModelRegistry>,
    hooks: Dispatcher,
    tools: Vec<Arc<dyn Tool>>,
    tool_support: Arc<ConfiguredTools>,
    prompt_sources: Arc<prompt_sources::WorkspaceSources>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

/// A host that runs.
pub struct Running {
    /// The agent.
    pub agent: Agent,
    /// What became of each plugin.
    pub plugins: Vec<PluginStatus>,
    /// What an operator should know of registrations.
    pub diagnostics: Vec<Diagnostic>,
    /// Sessions and transcripts.
    pub sessions: Arc<SqliteSessions>,
    /// Key-value state of plugins.
    pub kv: Arc<SqlitePluginKv>,
}

/// Reads plugins, opens stores, builds tools.
///
/// # Errors
/// When the configuration cannot be served: an unknown agent, a workspace that cannot be used, a required plugin that does not load.
pub async fn prepare(options: HostOptions) -> Result<Prepared, Failure> {
    let HostOptions {
        locations,
        loaded,
        agent_id,
        plugin_dirs,
        bundled_dir,
        models,
        extra_tools,
        records,
        clock,
        ids,
        compiler,
        cache_dir,
        progress,
    } = options;
    let agent = loaded.config.agent(&agent_id).map_err(|error| Failure::new(Code::Config, error.to_string()))?;
    let workspace_dir =
        locations.workspace(&loaded.config, &agent_id).map_err(|error| Failure::new(Code::Config, error.to_string()))?;
    let state = StateDir::new(locations.state_dir());
    let sessions = Arc::new(SqliteSessions::new(state.clone()));
    let kv = Arc::new(SqlitePluginKv::new(&state, Arc::clone(&clock)));
    let prompt_sources = prompt_sources::open(&locations, &workspace_dir, &agent)?;
    installing::recover(&locations, &kv, &sessions).await;
    let loaded_plugins = plugins::load(plugins::Request {
        locations: &locations,
        loaded: &loaded,
        workspace_dir: &workspace_dir,
        extra_dirs: plugin_dirs,
        bundled_dir,
        compiler,
        cache_dir: cache_dir.unwrap_or_else(|| locations.cache_dir()),
        kv: Arc::clone(&kv) as _,
        circuits: hook_calls::circuits(&loaded.config, Arc::clone(&kv) as _, Arc::clone(&clock)).await,
        extensions: Arc::clone(&sessions) as _,
        sessions: Arc::clone(&sessions) as _,
        progress,
    })
    .await?;
    let workspace_dir = prompt_sources.path().to_owned();
    let root = Root::new(prompt_sources.dir()?, workspace_dir.clone());
    let exec =
        ExecSettings { timeout: Some(agent.tools.exec_timeout).filter(|limit| !limit.is_zero()), ..ExecSettings::from_process() };
    let mut tools = tools::built_in(root, exec);
    tools.extend(loaded_plugins.tools.iter().cloned());
    tools.extend(extra_tools);
    let tool_support =
        Arc::new(ConfiguredTools::new(&agent.tools, loaded.config.logging.redact_sensitive, agent.tool_result_max_chars));
    let specs: Vec<_> = tools.iter().map(|tool| tool.spec().clone()).collect();
    for entry in tool_support.unknown_entries(&specs) {
        tracing::warn!("tools: the entry `{entry}` of an allow or deny list names no tool that exists");
    }
    let mut hooks = Dispatcher::new(Arc::clone(&loaded_plugins.registry));
    if let Some(records) = records {
        hooks = hooks.with_sink(records);
    }
    let settings = AgentSettings {
        model: default_model(&loaded, agent.model.primary.as_deref())?,
        thinking: agent.thinking.map(|level| level.as_str().to_owned()),
        run_timeout: agent.run_budget(None),
        workspace_dir: workspace_dir.display().to_string(),
        time_zone: agent.user_timezone.clone().unwrap_or_else(time_zone::of_system),
        report_tool_errors: !loaded.config.messages.suppress_tool_errors,
        response_prefix: loaded.config.messages.response_prefix.clone(),
        agent_id,
    };
    let models = models.unwrap_or_else(|| Arc::new(providers::registry(&loaded, &locations)));
    let ports = Parts { models, hooks, tools, tool_support, prompt_sources: Arc::new(prompt_sources), clock, ids };
    Ok(Prepared { ports, settings, plugins: loaded_plugins, sessions, kv })
}

impl Prepared {
    /// Whether any plugin handles a hook.
    pub fn has_handlers(&self, hook: HookId) -> bool {
        self.ports.hooks.has(hook)
    }

    /// The handlers of all plugins.
    pub fn hooks(&self) -> &Dispatcher {
        &self.ports.hooks
    }

    /// What became of each plugin.
    pub fn plugins(&self) -> &[PluginStatus] {
        &self.plugins.statuses
    }

    /// Joins the ends.
    pub fn start(self, channel: Arc<dyn Channel>, approver: Arc<dyn Approver>, events: Arc<dyn EventSink>) -> Running {
        let Self { ports, settings, plugins, sessions, kv } = self;
        let agent = Agent::new(
            AgentPorts {
                store: Arc::clone(&sessions) as _,
                clock: ports.clock,
                ids: ports.ids,
                models: ports.models,
                hooks: ports.hooks,
                tools: ports.tools,
                tool_support: ports.tool_support,
                prompt_sources: ports.prompt_sources,
                approver,
                sent_keys: Arc::clone(&kv) as _,
                channel,
                events,
            },
            settings,
        );
        Running { agent, plugins: plugins.statuses, diagnostics: plugins.diagnostics, sessions, kv }
    }
}

impl Running {
    /// Lets observers end, at most `grace`, then closes the stores.
    pub async fn close(self, grace: Duration) {
        self.agent.settle(grace).await;
        self.sessions.close().await;
        self.kv.close().await;
    }
}

/// Checks what the configuration cannot check by itself, because only other parts know the names: hooks, their fields, and models.
///
/// # Errors
/// The first thing that is wrong.
pub fn check(loaded: &Loaded) -> Result<(), Failure> {
    hook_calls::check_names(loaded)?;
    for id in loaded.config.agent_ids() {
        let agent = loaded.config.agent(&id).map_err(|error| Failure::new(Code::Config, error.to_string()))?;
        default_model(loaded, agent.model.primary.as_deref())?;
    }
    Ok(())
}

/// The configured model, or the built-in one that echoes.
fn default_model(loaded: &Loaded, configured: Option<&str>) -> Result<ModelRef, Failure> {
    let Some(text) = configured else { return Ok(ModelRef::new(models::OFFLINE_PROVIDER, "echo")) };
    model_named(loaded, text).map_err(|error| {
        Failure::new(Code::Config, format!("{}: the model of an agent: {error}", loaded.path.display()))
            .hint("or give the model an alias in agents.defaults.models and use that")
    })
}

/// The model that a text means: `provider/model`, or an alias that the configuration gives one.
///
/// # Errors
/// When it is neither.
pub fn model_named(loaded: &Loaded, text: &str) -> Result<ModelRef, InvalidModelRef> {
    let is_meant = |alias: Option<&str>| alias.is_some_and(|alias| alias.eq_ignore_ascii_case(text.trim()));
    let aliased = loaded.config.agents.defaults.models.iter().find(|(_, entry)| is_meant(entry.alias.as_deref()));
    ModelRef::parse(aliased.map_or(text, |(reference, _)| reference))
}
