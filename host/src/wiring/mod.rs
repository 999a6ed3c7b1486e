//! The only place where adapters meet ports. Two steps: [`prepare`] reads everything that does not depend on who is watching (plugins
//! among it, which may have to be compiled), [`Prepared::start`] joins the way out, the events and the person who is asked. A host that
//! runs can take over a changed configuration and changed plugins ([`Running::reload`]): what it is made of then is built anew, and runs
//! that are under way keep what they began with.

pub mod entries;
pub mod grants;
mod hook_calls;
pub mod installing;
mod load_log;
mod plugin_set;
pub mod plugins;
mod prompt_sources;
mod providers;
mod reload;
mod time_zone;
mod tool_support;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent::{Agent, AgentPorts, AgentSettings};
use config::{Loaded, Locations};
use domain::approval::Approver;
use domain::event::EventSink;
use domain::model::{InvalidModelRef, ModelRef, ModelRegistry};
use domain::ports::{Channel, Clock, IdSource};
use domain::tool::Tool;
use domain::{AgentId, PluginId};
use hooks::access::Diagnostic;
use hooks::record::RecordSink;
use hooks::{Dispatcher, HookId};
use sessions::{SqlitePluginKv, SqliteSessions, StateDir};
use tools::{ExecSettings, Root};

use crate::exit::{Code, Failure};
use crate::system::{SystemClock, UuidSource};
use plugin_host::compile::Compiler;
use plugin_set::PluginSet;
use plugins::PluginStatus;
pub use reload::{Change, Changed};
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
    base: Base,
    snapshot: Snapshot,
}

/// What a host keeps from its start to its end.
struct Base {
    locations: Locations,
    agent_id: AgentId,
    models: Models,
    extra_tools: Vec<Arc<dyn Tool>>,
    records: Option<Arc<dyn RecordSink>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
    sessions: Arc<SqliteSessions>,
    kv: Arc<SqlitePluginKv>,
    plugins: PluginSet,
}

/// Where the providers of a host come from.
enum Models {
    /// Given, whatever the configuration says.
    Given(Arc<dyn ModelRegistry>),
    /// Those of the configuration that was served last, with what it said. Providers have a state (connections, the place in a script),
    /// so they stay as long as it does not change.
    Configured(Option<(config::keys::Models, Arc<dyn ModelRegistry>)>),
}

/// What one configuration and the plugins at one moment make of a host.
struct Snapshot {
    models: Arc<dyn ModelRegistry>,
    hooks: Dispatcher,
    tools: Vec<Arc<dyn Tool>>,
    tool_support: Arc<ConfiguredTools>,
    prompt_sources: Arc<prompt_sources::WorkspaceSources>,
    settings: AgentSettings,
    statuses: Vec<PluginStatus>,
    diagnostics: Vec<Diagnostic>,
    ended: Vec<PluginId>,
}

/// The ends of a host.
struct Ends {
    channel: Arc<dyn Channel>,
    approver: Arc<dyn Approver>,
    events: Arc<dyn EventSink>,
}

/// A host that runs.
pub struct Running {
    /// The agent, for runs that begin now.
    pub agent: Agent,
    /// What became of each plugin.
    pub plugins: Vec<PluginStatus>,
    /// What an operator should know of registrations.
    pub diagnostics: Vec<Diagnostic>,
    /// Sessions and transcripts.
    pub sessions: Arc<SqliteSessions>,
    /// Key-value state of plugins.
    pub kv: Arc<SqlitePluginKv>,
    base: Base,
    ends: Ends,
    /// Agents of earlier snapshots, as long as something of theirs goes on.
    earlier: Vec<Agent>,
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
    // Before anything is made on disk.
    loaded.config.agent(&agent_id).map_err(wrong_configuration)?;
    let state = StateDir::new(locations.state_dir());
    let sessions = Arc::new(SqliteSessions::new(state.clone()));
    let kv = Arc::new(SqlitePluginKv::new(&state, Arc::clone(&clock)));
    installing::recover(&locations, &kv, &sessions).await;
    let request = plugin_set::Request {
        locations: locations.clone(),
        extra_dirs: plugin_dirs,
        bundled_dir,
        cache_dir: cache_dir.unwrap_or_else(|| locations.cache_dir()),
        compiler,
        circuits: hook_calls::circuits(Arc::clone(&kv) as _, Arc::clone(&clock)).await,
        ports: plugin_host::Ports {
            kv: Arc::clone(&kv) as _,
            session_extensions: Arc::clone(&sessions) as _,
            sessions: Arc::clone(&sessions) as _,
            network: egress::Network::system(),
        },
        progress,
    };
    let plugins = PluginSet::open(request, &loaded)?;
    let models = models.map_or(Models::Configured(None), Models::Given);
    let mut base = Base { locations, agent_id, models, extra_tools, records, clock, ids, sessions, kv, plugins };
    let snapshot = base.snapshot(&loaded).await?;
    Ok(Prepared { base, snapshot })
}

impl Base {
    /// Builds what depends on the configuration and on plugins.
    async fn snapshot(&mut self, loaded: &Loaded) -> Result<Snapshot, Failure> {
        let agent = loaded.config.agent(&self.agent_id).map_err(wrong_configuration)?;
        let workspace_dir = self.locations.workspace(&loaded.config, &self.agent_id).map_err(wrong_configuration)?;
        let prompt_sources = prompt_sources::open(&self.locations, &workspace_dir, &agent)?;
        let model = default_model(loaded, agent.model.primary.as_deref())?;
        let root = Root::new(prompt_sources.dir()?, prompt_sources.path().to_owned());
        let plugins = self.plugins.load(loaded, &workspace_dir).await?;
        let workspace_dir = prompt_sources.path().display().to_string();
        let exec = ExecSettings {
            timeout: Some(agent.tools.exec_timeout).filter(|limit| !limit.is_zero()),
            ..ExecSettings::from_process()
        };
        let mut tools = tools::built_in(root, exec);
        tools.extend(plugins.tools);
        tools.extend(self.extra_tools.iter().cloned());
        let tool_support =
            Arc::new(ConfiguredTools::new(&agent.tools, loaded.config.logging.redact_sensitive, agent.tool_result_max_chars));
        let specs: Vec<_> = tools.iter().map(|tool| tool.spec().clone()).collect();
        for entry in tool_support.unknown_entries(&specs) {
            tracing::warn!("tools: the entry `{entry}` of an allow or deny list names no tool that exists");
        }
        let hooks = Dispatcher::new(plugins.registry);
        Ok(Snapshot {
            models: self.models(loaded),
            hooks: match &self.records {
                Some(records) => hooks.with_sink(Arc::clone(records)),
                None => hooks,
            },
            tools,
            tool_support,
            prompt_sources: Arc::new(prompt_sources),
            settings: AgentSettings {
                model,
                thinking: agent.thinking.map(|level| level.as_str().to_owned()),
                run_timeout: agent.run_budget(None),
                configured_timeout: agent.timeout_seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs),
                workspace_dir,
                time_zone: agent.user_timezone.clone().unwrap_or_else(time_zone::of_system),
                report_tool_errors: !loaded.config.messages.suppress_tool_errors,
                response_prefix: loaded.config.messages.response_prefix.clone(),
                agent_id: self.agent_id.clone(),
            },
            statuses: plugins.statuses,
            diagnostics: plugins.diagnostics,
            ended: plugins.ended,
        })
    }

    fn models(&mut self, loaded: &Loaded) -> Arc<dyn ModelRegistry> {
        match &self.models {
            Models::Given(registry) => Arc::clone(registry),
            Models::Configured(Some((of, registry))) if *of == loaded.config.models => Arc::clone(registry),
            Models::Configured(_) => {
                let registry: Arc<dyn ModelRegistry> = Arc::new(providers::registry(loaded, &self.locations));
                self.models = Models::Configured(Some((loaded.config.models.clone(), Arc::clone(&registry))));
                registry
            }
        }
    }

    /// The agent of a snapshot.
    fn agent(&self, snapshot: &Snapshot, ends: &Ends) -> Agent {
        let ports = AgentPorts {
            store: Arc::clone(&self.sessions) as _,
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
            models: Arc::clone(&snapshot.models),
            hooks: snapshot.hooks.clone(),
            tools: snapshot.tools.clone(),
            tool_support: Arc::clone(&snapshot.tool_support) as _,
            prompt_sources: Arc::clone(&snapshot.prompt_sources) as _,
            approver: Arc::clone(&ends.approver),
            sent_keys: Arc::clone(&self.kv) as _,
            channel: Arc::clone(&ends.channel),
            events: Arc::clone(&ends.events),
        };
        Agent::new(ports, snapshot.settings.clone())
    }
}

fn wrong_configuration(error: impl std::fmt::Display) -> Failure {
    Failure::new(Code::Config, error.to_string())
}

impl Prepared {
    /// Whether any plugin handles a hook.
    pub fn has_handlers(&self, hook: HookId) -> bool {
        self.snapshot.hooks.has(hook)
    }

    /// The handlers of all plugins.
    pub fn hooks(&self) -> &Dispatcher {
        &self.snapshot.hooks
    }

    /// What became of each plugin.
    pub fn plugins(&self) -> &[PluginStatus] {
        &self.snapshot.statuses
    }

    /// Joins the ends.
    pub fn start(self, channel: Arc<dyn Channel>, approver: Arc<dyn Approver>, events: Arc<dyn EventSink>) -> Running {
        let Self { base, snapshot } = self;
        let ends = Ends { channel, approver, events };
        Running {
            agent: base.agent(&snapshot, &ends),
            plugins: snapshot.statuses,
            diagnostics: snapshot.diagnostics,
            sessions: Arc::clone(&base.sessions),
            kv: Arc::clone(&base.kv),
            base,
            ends,
            earlier: Vec::new(),
        }
    }
}

impl Running {
    /// Observers that have not ended yet: `<plugin> (<hook>)`.
    pub fn watching(&self) -> Vec<String> {
        self.agents().flat_map(Agent::watching).collect()
    }

    /// Lets observers end, at most `grace`, then closes the stores.
    pub async fn close(&self, grace: Duration) {
        futures_util::future::join_all(self.agents().map(|agent| agent.settle(grace))).await;
        self.sessions.close().await;
        self.kv.close().await;
    }

    fn agents(&self) -> impl Iterator<Item = &Agent> {
        std::iter::once(&self.agent).chain(&self.earlier)
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
