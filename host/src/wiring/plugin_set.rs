//! The plugins of one host: looked for, planned and loaded by the configuration, and loaded again when something has changed. A load
//! that leaves a required plugin out is refused as a whole, and what served before goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::{Loaded as LoadedConfig, Locations};
use domain::PluginId;
use domain::tool::Tool;
use hooks::access::Diagnostic;
use hooks::{Circuits, DispatchBudgets, Registry};
use plugin_host::compile::Compiler;
use plugin_host::discovery::Sources;
use plugin_host::plan::{Plan, PlannedPlugin, PluginReport, PluginState, PluginsSettings};
use plugin_host::{HostSettings, PluginHost, Ports, ReadyPlugin, Served, Serves};

use super::plugins::{self, name, sentence};
use super::{Progress, hook_calls, load_log};
use crate::exit::{Code, Failure};

/// What became of one plugin.
#[derive(Debug, Clone)]
pub struct PluginStatus {
    /// Everything that is known of it; its state counts compilation too.
    pub report: PluginReport,
    /// How it comes to serve.
    pub serves: Serves,
    /// Tools that it offers.
    pub tools: Vec<String>,
    /// How long it took to load; none: it was not loaded.
    pub load_time: Option<Duration>,
}

/// Plugins of a host.
pub(super) struct Loaded {
    pub(super) registry: Arc<Registry>,
    pub(super) tools: Vec<Arc<dyn Tool>>,
    pub(super) statuses: Vec<PluginStatus>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Plugins that served before and do not any more.
    pub(super) ended: Vec<PluginId>,
}

/// What loading needs, beside the configuration.
pub(super) struct Request {
    pub(super) locations: Locations,
    pub(super) extra_dirs: Vec<PathBuf>,
    pub(super) bundled_dir: Option<PathBuf>,
    pub(super) cache_dir: PathBuf,
    pub(super) compiler: Compiler,
    pub(super) circuits: Circuits,
    pub(super) ports: Ports,
    pub(super) progress: Option<Progress>,
}

/// How important a line of the log is; errors come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Error,
    Warning,
}

/// The plugins of a host, for as long as it runs.
pub(super) struct PluginSet {
    host: PluginHost,
    locations: Locations,
    extra_dirs: Vec<PathBuf>,
    bundled_dir: Option<PathBuf>,
    served: Served,
    /// Where what serves was found. A manifest that cannot be read does not tell its id.
    places: BTreeMap<PathBuf, PluginId>,
    /// What the operator said when it was loaded.
    settings: PluginsSettings,
    /// Where plugins were looked for.
    sources: Sources,
    /// What was said in the log of the last load, so that the next one says what is new.
    told: BTreeSet<(Level, String)>,
}

impl PluginSet {
    /// Starts the engine; no plugin serves yet. What `plugins.engine` says counts from here to the end.
    ///
    /// # Errors
    /// When there is no engine.
    pub(super) fn open(request: Request, config: &LoadedConfig) -> Result<Self, Failure> {
        let Request { locations, extra_dirs, bundled_dir, cache_dir, compiler, circuits, ports, progress } = request;
        let settings = HostSettings {
            data_directory: Some(locations.plugin_data_dir()),
            circuits: Some(circuits),
            ..plugins::host_settings(&config.config, cache_dir, compiler, progress)
        };
        let host = PluginHost::new(settings, &ports).map_err(|error| Failure::new(Code::Plugin, error.to_string()))?;
        Ok(Self {
            host,
            locations,
            extra_dirs,
            bundled_dir,
            served: Served::default(),
            places: BTreeMap::new(),
            settings: PluginsSettings::default(),
            sources: Sources::default(),
            told: BTreeSet::new(),
        })
    }

    /// Files and directories in which plugins were looked for.
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        let Sources { load_paths, installed, bundled, workspace } = self.sources.clone();
        load_paths.into_iter().chain(installed).chain(bundled).chain(workspace).collect()
    }

    /// Where plugins are looked for.
    fn sources(&self, config: &LoadedConfig, workspace_dir: &Path) -> Sources {
        let mut sources = plugins::sources(&self.locations, &config.config, workspace_dir, self.extra_dirs.clone());
        sources.bundled = self.bundled_dir.clone().or(sources.bundled);
        sources
    }

    /// Loads the plugins as they are now. What has not changed goes on as it is; of what does not load, the one before goes on, if the
    /// operator still allows it the same.
    ///
    /// # Errors
    /// When the names in the configuration are wrong, or a required plugin would not serve. What was loaded before stays loaded.
    pub(super) async fn load(&mut self, config: &LoadedConfig, workspace_dir: &Path) -> Result<Loaded, Failure> {
        hook_calls::check_names(config)?;
        let settings = plugins::settings(&config.config, self.locations.environment());
        self.sources = self.sources(config, workspace_dir);
        let plan = plugins::survey(self.sources.clone(), settings.clone()).await?;
        let mut said: BTreeSet<(Level, String)> = plan.diagnostics.iter().map(|text| (Level::Warning, text.clone())).collect();
        let going_on = self.going_on(&plan.reports, &settings);
        let budgets = hook_calls::dispatch_budgets(&config.config);
        let (mut loaded, served) = start(&self.host, plan, going_on, budgets, &self.served).await;
        refuse_unguarded(&loaded.statuses)?;
        if let Some(refused) = loaded.registry.unguarded().first() {
            let message = format!("plugin `{}` is required and would run without a handler: {}", refused.plugin, refused.text);
            return Err(
                Failure::new(Code::Plugin, message).hint("allow it, or remove `required` from its entry to run without it")
            );
        }
        loaded.ended = self.served.ids().filter(|id| served.source(id).is_none()).cloned().collect();
        said.extend(loaded.statuses.iter().filter_map(failure).map(|text| (Level::Error, text)));
        said.extend(loaded.diagnostics.iter().map(|diagnostic| (Level::Warning, diagnostic.text.clone())));
        for (level, text) in said.difference(&self.told) {
            match level {
                Level::Error => tracing::error!("{text}"),
                Level::Warning => tracing::warn!("{text}"),
            }
        }
        self.told = said;
        load_log::tell(&loaded);
        self.places = loaded.statuses.iter().filter(|status| status.serves != Serves::Not).filter_map(place).collect();
        (self.served, self.settings) = (served, settings);
        Ok(loaded)
    }

    /// What goes on of the plugins that cannot even be planned, in place of them: one for each report, in order.
    fn going_on(&self, reports: &[PluginReport], settings: &PluginsSettings) -> Vec<Option<ReadyPlugin>> {
        let claimed =
            |id: &PluginId| reports.iter().any(|report| report.id.as_ref() == Some(id) && report.state == PluginState::Loaded);
        let of = |report: &PluginReport| {
            let PluginState::Failed(_) = report.state else { return None };
            let id = report.id.as_ref().or_else(|| self.places.get(report.place.as_ref()?))?;
            let allowed =
                |settings: &PluginsSettings| (settings.of(id).enabled, settings.of(id).grants, settings.switches.clone());
            let goes_on = !claimed(id) && allowed(settings) == allowed(&self.settings);
            goes_on.then(|| self.served.source(id).cloned()).flatten()
        };
        reports.iter().map(of).collect()
    }
}

/// Why a plugin does not load, and what comes of it.
fn failure(status: &PluginStatus) -> Option<String> {
    let PluginState::Failed(why) = &status.report.state else { return None };
    let goes_on = if status.serves == Serves::Before { "; the one before goes on" } else { "" };
    Some(format!("{}{goes_on}", sentence(&status.report, why)))
}

fn place(status: &PluginStatus) -> Option<(PathBuf, PluginId)> {
    Some((status.report.place.clone()?, status.report.id.clone()?))
}

/// Starts what was planned, as a host does that loads its plugins once.
///
/// # Errors
/// When there is no engine. A plugin that does not compile is in its status.
pub(super) async fn start_once(plan: Plan, settings: HostSettings, ports: &Ports) -> Result<Loaded, Failure> {
    let budgets = settings.dispatch_budgets.clone();
    let host = PluginHost::new(settings, ports).map_err(|error| Failure::new(Code::Plugin, error.to_string()))?;
    let nothing = plan.reports.iter().map(|_| None).collect();
    Ok(start(&host, plan, nothing, budgets, &Served::default()).await.0)
}

/// Compiles one plugin by itself, as `creel plugins validate` does.
///
/// # Errors
/// When there is no engine.
pub async fn check(plan: Plan, settings: HostSettings, ports: Ports) -> Result<Vec<PluginStatus>, Failure> {
    start_once(plan, settings, &ports).await.map(|loaded| loaded.statuses)
}

/// Starts what was planned, and what goes on instead of a report's plugin, in the order of the reports.
async fn start(
    host: &PluginHost,
    plan: Plan,
    going_on: Vec<Option<ReadyPlugin>>,
    budgets: DispatchBudgets,
    before: &Served,
) -> (Loaded, Served) {
    let mut diagnostics: Vec<Diagnostic> = plan.plugins.iter().flat_map(|plugin| plugin.diagnostics.clone()).collect();
    let mut statuses = Vec::new();
    let mut ready: Vec<ReadyPlugin> = Vec::new();
    let mut planned = plan.plugins;
    for (report, goes_on) in plan.reports.into_iter().zip(going_on) {
        let serves = if goes_on.is_some() { Serves::Before } else { Serves::Not };
        let at = planned.iter().position(|plugin| is_of(plugin, &report));
        ready.extend(at.map(|at| planned.remove(at).into()));
        // Its id is known by its place; the manifest that would tell it cannot be read.
        let id = report.id.clone().or_else(|| goes_on.as_ref().map(|goes_on| goes_on.id.clone()));
        ready.extend(goes_on);
        statuses.push(PluginStatus { report: PluginReport { id, ..report }, serves, tools: Vec::new(), load_time: None });
    }
    ready.extend(planned.into_iter().map(ReadyPlugin::from));
    let loaded = host.load(ready, budgets, before).await;
    diagnostics.extend(loaded.diagnostics);
    for started in loaded.reports {
        let Some(status) = statuses.iter_mut().find(|status| is_started(status, &started.plugin)) else { continue };
        status.tools = started.tools;
        status.load_time = Some(started.elapsed);
        if status.report.state == PluginState::Loaded || started.serves == Serves::Not {
            status.serves = started.serves;
        }
        if let Some(error) = &started.error {
            status.report.state = PluginState::failed(error);
        }
    }
    let loaded_set =
        Loaded { registry: Arc::new(loaded.registry), tools: loaded.tools, statuses, diagnostics, ended: Vec::new() };
    (loaded_set, loaded.served)
}

fn is_of(plugin: &PlannedPlugin, report: &PluginReport) -> bool {
    report.id.as_ref() == Some(&plugin.id) && report.state == PluginState::Loaded
}

fn is_started(status: &PluginStatus, plugin: &PluginId) -> bool {
    let is_meant = status.report.state == PluginState::Loaded || status.serves == Serves::Before;
    is_meant && status.report.id.as_ref() == Some(plugin)
}

/// A required plugin that does not serve stops everything: the alternative would be to run unguarded.
fn refuse_unguarded(statuses: &[PluginStatus]) -> Result<(), Failure> {
    let Some(status) = statuses.iter().find(|status| status.report.required && status.serves == Serves::Not) else {
        return Ok(());
    };
    let why = match &status.report.state {
        PluginState::Loaded => return Ok(()),
        PluginState::Disabled(why) | PluginState::Failed(why) => why,
    };
    let name = name(&status.report);
    Err(Failure::new(Code::Plugin, format!("{name} is required and does not serve: {why}"))
        .hint("mend it, or remove `required` from its entry to run without it"))
}
