//! The plugins of a host: starts the engine, starts what was planned in its order, and hands out a registry of handlers and the tools.
//! A plugin that does not start never stops the others; whether the host may serve without it is told, not decided, here. Plugins can be
//! loaded again while they serve: what was handed out before stays as it is.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::PluginId;
use domain::tool::Tool;
use hooks::access::Diagnostic;
use hooks::budget::Ceilings;
use hooks::{Circuits, DispatchBudgets, HookId, Registration, Registry, RegistryBuilder};

use crate::capability::files::{self, DataDirectory};
use crate::capability::http;
use crate::compile::Compiler;
use crate::engine::{EngineError, EngineSettings, PluginEngine};
use crate::error::StartError;
use crate::handler;
use crate::instance::{self, Plugin};
use crate::loader::{LoadProgress, Loader};
use crate::log_rate::LogRate;
use crate::manifest::HandlerEntry;
use crate::ready::ReadyPlugin;
use crate::served::{Served, Serving};
use crate::state::{PluginFacts, Ports};
use crate::tool::{self, Declared};
use crate::usage::Meter;

/// How plugins are run.
#[derive(Clone, Default)]
pub struct HostSettings {
    /// The engine.
    pub engine: EngineSettings,
    /// Private directory for compiled code. Absent: plugins are compiled at every start.
    pub cache_directory: Option<PathBuf>,
    /// Directory with one directory for each plugin that is granted files. Absent: nobody has files.
    pub data_directory: Option<PathBuf>,
    /// Where components are compiled.
    pub compiler: Compiler,
    /// Protection against handlers without a budget.
    pub ceilings: Ceilings,
    /// What whole dispatches may take.
    pub dispatch_budgets: DispatchBudgets,
    /// Leaves plugins alone for a while that fail again and again. Absent: a fault has no consequences for later calls.
    pub circuits: Option<Circuits>,
    /// Names that plugin tools may not have: those of the built-in tools.
    pub reserved_tools: BTreeSet<String>,
    /// Hears of slow steps.
    pub progress: Option<LoadProgress>,
}

/// How a plugin comes to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// It was not there before.
    Added,
    /// It takes the place of an earlier version, or of itself with other settings, grants or limits.
    Replaced,
    /// As before; its compiled code and the instances of runs are shared with what was loaded before.
    Unchanged,
    /// The one before goes on, because this one does not start.
    Before,
    /// It does not serve.
    Not,
}

/// What became of one plugin.
#[derive(Debug)]
pub struct StartReport {
    /// The plugin.
    pub plugin: PluginId,
    /// Whether the operator marked it as required.
    pub required: bool,
    /// How it comes to serve.
    pub serves: Serves,
    /// Absent: it started. Otherwise why not, a sentence.
    pub error: Option<StartError>,
    /// Hooks of its handlers, in their order; the access gates were not asked yet.
    pub hooks: Vec<HookId>,
    /// Names of the tools that it offers.
    pub tools: Vec<String>,
    /// How long starting took, compilation included.
    pub elapsed: Duration,
}

/// The plugins of a host.
pub struct LoadedPlugins {
    /// All handlers.
    pub registry: Registry,
    /// All tools, in load order.
    pub tools: Vec<Arc<dyn Tool>>,
    /// One report per plugin, in load order.
    pub reports: Vec<StartReport>,
    /// What operators should know: refused registrations, tools that were left out. One sentence each.
    pub diagnostics: Vec<Diagnostic>,
    /// Tells what the plugins hold, at any time.
    pub meter: Meter,
    /// What serves now, for the next load.
    pub served: Served,
}

impl LoadedPlugins {
    /// The first required plugin that does not serve. A host with one must not serve either.
    pub fn failed_required(&self) -> Option<&StartReport> {
        self.reports.iter().find(|report| report.required && report.serves == Serves::Not)
    }
}

/// Starts plugins. What it hands out keeps the engine alive; it ends with the last of them.
pub struct PluginHost {
    engine: Arc<PluginEngine>,
    loader: Loader,
    ports: Ports,
    data_directory: Option<PathBuf>,
    ceilings: Ceilings,
    circuits: Option<Circuits>,
    reserved_tools: BTreeSet<String>,
}

impl PluginHost {
    /// Starts the engine. The dispatch budgets of the settings are for [`start`](Self::start).
    ///
    /// # Errors
    /// When there is no engine.
    pub fn new(settings: HostSettings, ports: &Ports) -> Result<Self, EngineError> {
        let engine = Arc::new(PluginEngine::start(settings.engine)?);
        let loader = Loader::new(&engine, settings.cache_directory.as_deref(), settings.compiler, settings.progress);
        Ok(Self {
            engine,
            loader,
            ports: ports.clone(),
            data_directory: settings.data_directory,
            ceilings: settings.ceilings,
            circuits: settings.circuits,
            reserved_tools: settings.reserved_tools,
        })
    }

    /// Starts the plugins of a host that loads them once.
    ///
    /// # Errors
    /// When there is no engine. Plugins that do not start are in the reports.
    pub async fn start<P: Into<ReadyPlugin>>(
        settings: HostSettings,
        plugins: impl IntoIterator<Item = P>,
        ports: &Ports,
    ) -> Result<LoadedPlugins, EngineError> {
        let budgets = settings.dispatch_budgets.clone();
        Ok(Self::new(settings, ports)?.load(plugins, budgets, &Served::default()).await)
    }

    /// Starts the plugins in their order, which is the order of ties among handlers (plugin-hooks 1.2). What served `before` and is the
    /// same is not started again; of what does not start, the one before goes on, unless its grants are others now.
    pub async fn load<P: Into<ReadyPlugin>>(
        &self,
        plugins: impl IntoIterator<Item = P>,
        dispatch_budgets: DispatchBudgets,
        before: &Served,
    ) -> LoadedPlugins {
        let registry = RegistryBuilder::new(self.ceilings).with_dispatch_budgets(dispatch_budgets);
        let mut loading = Loading {
            host: self,
            before,
            registry: match &self.circuits {
                Some(circuits) => registry.with_circuits(circuits.clone()),
                None => registry,
            },
            names: self.reserved_tools.clone(),
            tools: Vec::new(),
            diagnostics: Vec::new(),
            meter: Meter::new(&self.engine),
            served: Served::default(),
        };
        let mut reports = Vec::new();
        for plugin in plugins {
            reports.push(loading.plugin(plugin.into()).await);
        }
        let Loading { registry, tools, meter, served, diagnostics: of_tools, .. } = loading;
        let (registry, mut diagnostics) = registry.build();
        diagnostics.extend(of_tools);
        LoadedPlugins { registry, tools, reports, diagnostics, meter, served }
    }

    /// Makes a plugin that can be called.
    async fn make(&self, ready: &ReadyPlugin) -> Result<Serving, StartError> {
        let loaded = self.loader.load(ready).await?;
        let egress = http::egress(&ready.id, ready.grants.http.as_ref(), &self.ports.network);
        let files = self.data_directory.as_ref().zip(ready.grants.fs);
        let files = files.map(|(below, grant)| DataDirectory::new(files::directory(below, &ready.id), grant));
        let facts = PluginFacts {
            egress,
            files,
            told_slot: instance::next_slot(),
            id: ready.id.clone(),
            config: ready.config.clone(),
            grants: ready.grants.clone(),
            limits: ready.limits,
            ports: self.ports.clone(),
            memory: Arc::default(),
            log_rate: Arc::new(LogRate::new(ready.limits.log_bytes_per_minute)),
        };
        let plugin = Plugin::new(Arc::new(facts), Arc::clone(&self.engine), loaded.pre, ready.lifetime);
        Ok(Serving { source: ready.without_component(), plugin, has_tools: loaded.has_tools })
    }
}

/// Plugins that were loaded so far.
struct Loading<'a> {
    host: &'a PluginHost,
    before: &'a Served,
    registry: RegistryBuilder,
    tools: Vec<Arc<dyn Tool>>,
    /// Names of tools that are taken.
    names: BTreeSet<String>,
    diagnostics: Vec<Diagnostic>,
    meter: Meter,
    served: Served,
}

impl Loading<'_> {
    async fn plugin(&mut self, ready: ReadyPlugin) -> StartReport {
        let started = Instant::now();
        let mut report = StartReport {
            plugin: ready.id.clone(),
            required: ready.access.required,
            serves: Serves::Not,
            error: None,
            hooks: ready.handlers.iter().map(|entry| entry.hook).collect(),
            tools: Vec::new(),
            elapsed: Duration::ZERO,
        };
        let before = self.before.get(&ready.id);
        let (serving, serves) = match before {
            Some(before) if before.is(&ready) => (Some(before.with(ready.without_component())), Serves::Unchanged),
            before => match self.host.make(&ready).await {
                Ok(serving) => (Some(serving), if before.is_some() { Serves::Replaced } else { Serves::Added }),
                Err(error) => {
                    report.error = Some(error);
                    (before.filter(|before| before.source.grants == ready.grants).cloned(), Serves::Before)
                }
            },
        };
        let registered = match serving {
            Some(serving) => self.register(serving).await.map(|tools| (tools, serves)),
            None => Ok((Vec::new(), Serves::Not)),
        };
        match registered {
            Ok((tools, serves)) => (report.tools, report.serves) = (tools, serves),
            Err(error) => report.error = Some(error),
        }
        report.elapsed = started.elapsed();
        report
    }

    /// Adds the handlers and tools of a plugin; gives the names of its tools.
    async fn register(&mut self, serving: Serving) -> Result<Vec<String>, StartError> {
        let Serving { source, plugin, has_tools } = &serving;
        let registrations = registrations(plugin, source)?;
        let tools = if *has_tools { self.add_tools(plugin, source).await } else { Vec::new() };
        self.meter.add(plugin);
        self.registry.add_plugin(&source.id, &source.access, registrations);
        self.served.add(serving);
        Ok(tools)
    }

    async fn add_tools(&mut self, plugin: &Arc<Plugin>, source: &ReadyPlugin) -> Vec<String> {
        let ReadyPlugin { id, tools, optional_tools, tools_per_run, .. } = source;
        let declared = Declared { tools: tools.clone(), optional: optional_tools.clone(), per_run: *tools_per_run };
        let offered = tool::offered(plugin, &declared, &mut self.names).await;
        let names = offered.tools.iter().map(|tool| tool.spec().name.clone()).collect();
        self.tools.extend(offered.tools);
        let of_plugin = |text| Diagnostic { plugin: id.clone(), text: format!("plugin `{id}`: {text}") };
        self.diagnostics.extend(offered.diagnostics.into_iter().map(of_plugin));
        names
    }
}

fn registrations(plugin: &Arc<Plugin>, source: &ReadyPlugin) -> Result<Vec<Registration>, StartError> {
    let registration = |entry: &HandlerEntry| {
        let handler = handler::of_hook(plugin, entry.hook).map_err(StartError::Link)?;
        let (handler_name, options) = (entry.handler_name.clone(), entry.options.clone());
        Ok(Registration { hook: entry.hook, handler_name, options, handler })
    };
    source.handlers.iter().map(registration).collect()
}
