//! The plugins of a host: starts the engine, starts what was planned in its order, and hands out a registry of handlers and the tools.
//! A plugin that does not start never stops the others; whether the host may serve without it is told, not decided, here.

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

/// What became of one plugin.
#[derive(Debug)]
pub struct StartReport {
    /// The plugin.
    pub plugin: PluginId,
    /// Whether the operator marked it as required.
    pub required: bool,
    /// Absent: it serves. Otherwise why not, a sentence.
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
}

impl LoadedPlugins {
    /// The first required plugin that does not serve. A host with one must not serve either.
    pub fn failed_required(&self) -> Option<&StartReport> {
        self.reports.iter().find(|report| report.required && report.error.is_some())
    }
}

/// Starts plugins.
pub struct PluginHost;

impl PluginHost {
    /// Starts the plugins in their order, which is the order of ties among handlers (plugin-hooks 1.2). Handlers and tools keep the
    /// engine alive; it ends with the last of them.
    ///
    /// # Errors
    /// When there is no engine. Plugins that do not start are in the reports.
    pub async fn start<P: Into<ReadyPlugin>>(
        settings: HostSettings,
        plugins: impl IntoIterator<Item = P>,
        ports: &Ports,
    ) -> Result<LoadedPlugins, EngineError> {
        let engine = Arc::new(PluginEngine::start(settings.engine)?);
        let loader = Loader::new(&engine, settings.cache_directory.as_deref(), settings.compiler, settings.progress);
        let registry = RegistryBuilder::new(settings.ceilings).with_dispatch_budgets(settings.dispatch_budgets);
        let mut starting = Starting {
            registry: match settings.circuits {
                Some(circuits) => registry.with_circuits(circuits),
                None => registry,
            },
            names: settings.reserved_tools,
            tools: Vec::new(),
            diagnostics: Vec::new(),
            meter: Meter::new(&engine),
            data_directory: settings.data_directory,
            engine,
            loader,
            ports: ports.clone(),
        };
        let mut reports = Vec::new();
        for plugin in plugins {
            reports.push(starting.start(plugin.into()).await);
        }
        let (registry, mut diagnostics) = starting.registry.build();
        diagnostics.extend(starting.diagnostics);
        Ok(LoadedPlugins { registry, tools: starting.tools, reports, diagnostics, meter: starting.meter })
    }
}

/// Plugins that were started so far.
struct Starting {
    engine: Arc<PluginEngine>,
    loader: Loader,
    data_directory: Option<PathBuf>,
    ports: Ports,
    registry: RegistryBuilder,
    tools: Vec<Arc<dyn Tool>>,
    /// Names of tools that are taken.
    names: BTreeSet<String>,
    diagnostics: Vec<Diagnostic>,
    meter: Meter,
}

impl Starting {
    async fn start(&mut self, plugin: ReadyPlugin) -> StartReport {
        let started = Instant::now();
        let mut report = StartReport {
            plugin: plugin.id.clone(),
            required: plugin.access.required,
            error: None,
            hooks: plugin.handlers.iter().map(|entry| entry.hook).collect(),
            tools: Vec::new(),
            elapsed: Duration::ZERO,
        };
        match self.add(plugin).await {
            Ok(tools) => report.tools = tools,
            Err(error) => {
                tracing::error!(plugin = %report.plugin, "the plugin does not start: {error}");
                report.error = Some(error);
            }
        }
        report.elapsed = started.elapsed();
        report
    }

    /// Starts a plugin; gives the names of its tools.
    async fn add(&mut self, ready: ReadyPlugin) -> Result<Vec<String>, StartError> {
        let loaded = self.loader.load(&ready).await?;
        let egress = http::egress(&ready.id, ready.grants.http.as_ref(), &self.ports.network);
        let files = self.data_directory.as_ref().zip(ready.grants.fs);
        let files = files.map(|(below, grant)| DataDirectory::new(files::directory(below, &ready.id), grant));
        let facts = PluginFacts {
            egress,
            files,
            told_slot: instance::next_slot(),
            id: ready.id,
            config: ready.config,
            grants: ready.grants,
            limits: ready.limits,
            ports: self.ports.clone(),
            memory: Arc::default(),
            log_rate: Arc::new(LogRate::new(ready.limits.log_bytes_per_minute)),
        };
        let plugin = Plugin::new(Arc::new(facts), Arc::clone(&self.engine), loaded.pre, ready.lifetime);
        let registrations = registrations(&plugin, ready.handlers)?;
        let declared = Declared { tools: ready.tools, optional: ready.optional_tools, per_run: ready.tools_per_run };
        let tools = if loaded.has_tools { self.add_tools(&plugin, &declared).await } else { Vec::new() };
        self.meter.add(&plugin);
        self.registry.add_plugin(&plugin.facts.id, &ready.access, registrations);
        Ok(tools)
    }

    async fn add_tools(&mut self, plugin: &Arc<Plugin>, declared: &Declared) -> Vec<String> {
        let id = &plugin.facts.id;
        let offered = tool::offered(plugin, declared, &mut self.names).await;
        let names = offered.tools.iter().map(|tool| tool.spec().name.clone()).collect();
        self.tools.extend(offered.tools);
        let of_plugin = |text| Diagnostic { plugin: id.clone(), text: format!("plugin `{id}`: {text}") };
        self.diagnostics.extend(offered.diagnostics.into_iter().map(of_plugin));
        names
    }
}

fn registrations(plugin: &Arc<Plugin>, entries: Vec<HandlerEntry>) -> Result<Vec<Registration>, StartError> {
    entries
        .into_iter()
        .map(|entry| {
            let handler = handler::of_hook(plugin, entry.hook).map_err(StartError::Link)?;
            Ok(Registration { hook: entry.hook, handler_name: entry.handler_name, options: entry.options, handler })
        })
        .collect()
}
