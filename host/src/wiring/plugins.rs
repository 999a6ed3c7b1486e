//! From configuration to loaded plugins: what the operator said is handed to the plugin host in its own words.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::keys::{PluginEngine, PluginEntry, PluginLimits};
use config::{Config, Environment, Loaded as LoadedConfig, Locations};
use domain::PluginId;
use domain::ports::{PluginKv, SessionExtensions};
use domain::session::SessionReader;
use domain::tool::Tool;
use hooks::access::Diagnostic;
use hooks::budget::OperatorBudgets;
use hooks::{Circuits, Registry};
use plugin_host::compile::Compiler;
use plugin_host::discovery::Sources;
use plugin_host::enablement::Switches;
use plugin_host::limits::RequestedLimits;
use plugin_host::plan::{self, Plan, PluginReport, PluginSettings, PluginState, PluginsSettings};
use plugin_host::{EngineSettings, HostSettings, LoadProgress, LoadStep, PluginHost, Ports, ReadyPlugin};

use super::{Progress, grants, hook_calls};
use crate::exit::{Code, Failure};

/// Hidden command of the binary that compiles one component and ends.
pub const COMPILE_COMMAND: &str = "compile-component";

/// What became of one plugin.
#[derive(Debug, Clone)]
pub struct PluginStatus {
    /// Everything that is known of it; its state counts compilation too.
    pub report: PluginReport,
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
}

/// What loading needs.
pub(super) struct Request<'a> {
    pub(super) locations: &'a Locations,
    pub(super) loaded: &'a LoadedConfig,
    pub(super) workspace_dir: &'a Path,
    pub(super) extra_dirs: Vec<PathBuf>,
    pub(super) bundled_dir: Option<PathBuf>,
    pub(super) cache_dir: PathBuf,
    pub(super) compiler: Compiler,
    pub(super) kv: Arc<dyn PluginKv>,
    pub(super) circuits: Circuits,
    pub(super) extensions: Arc<dyn SessionExtensions>,
    pub(super) sessions: Arc<dyn SessionReader>,
    pub(super) progress: Option<Progress>,
}

/// Where plugins are looked for.
pub fn sources(locations: &Locations, config: &Config, workspace_dir: &Path, extra_dirs: Vec<PathBuf>) -> Sources {
    let bundled = std::env::current_exe().ok().and_then(|binary| Some(binary.parent()?.join("../share/creel/bundled")));
    Sources {
        load_paths: extra_dirs.into_iter().map(absolute).chain(locations.plugin_paths(config)).collect(),
        installed: Some(locations.state_dir().join("plugins")),
        bundled: bundled.filter(|dir| dir.is_dir()),
        workspace: Some(workspace_dir.join("plugins")),
    }
}

fn absolute(path: PathBuf) -> PathBuf {
    std::path::absolute(&path).unwrap_or(path)
}

/// What the operator said about plugins.
pub fn settings(config: &Config, environment: &Environment) -> PluginsSettings {
    let plugins = &config.plugins;
    PluginsSettings {
        switches: Switches {
            enabled: plugins.enabled,
            allow: plugins.allow.clone(),
            deny: plugins.deny.clone(),
            memory_slot: plugins.slots.memory.clone(),
            context_engine_slot: plugins.slots.context_engine.clone(),
        },
        entries: plugins.entries.iter().map(|(id, entry)| (id.clone(), entry_settings(entry, environment))).collect(),
    }
}

fn entry_settings(entry: &PluginEntry, environment: &Environment) -> PluginSettings {
    PluginSettings {
        enabled: entry.enabled,
        config: entry.config.as_map().clone(),
        grants: grants::of(&entry.capabilities, environment),
        limits: limits(&entry.limits),
        required: entry.required,
        allow_conversation: entry.hooks.allow_conversation_access,
        allow_prompt_injection: entry.hooks.allow_prompt_injection,
        budgets: OperatorBudgets {
            by_hook: entry.hooks.timeouts.iter().map(|(hook, limit)| (hook.clone(), limit.get())).collect(),
            all: entry.hooks.timeout_ms.map(|limit| limit.get()),
        },
        fields: entry.hooks.fields.clone(),
        circuit: hook_calls::overrides(entry.circuit),
    }
}

fn limits(limits: &PluginLimits) -> RequestedLimits {
    RequestedLimits {
        memory_bytes: limits.memory_bytes.map(|bytes| bytes.get()),
        total_memory_bytes: limits.total_memory_bytes.map(|bytes| bytes.get()),
        memories: limits.memories,
        tables: limits.tables,
        table_elements: limits.table_elements,
        core_instances: limits.core_instances,
        max_instances: limits.max_instances,
        handles: limits.handles,
        output_bytes: limits.output_bytes.map(|bytes| bytes.get()),
        log_bytes_per_call: limits.log_bytes_per_call.map(|bytes| bytes.get()),
        log_records_per_call: limits.log_records_per_call,
        log_bytes_per_minute: limits.log_bytes_per_minute.map(|bytes| bytes.get()),
        output_tail_bytes: limits.output_tail_bytes.map(|bytes| bytes.get()),
        tool_ms: limits.tool_ms.map(|time| time.get()),
        component_bytes: limits.component_bytes.map(|bytes| bytes.get()),
        compile_ms: limits.compile_ms.map(|time| time.get()),
        compile_memory_bytes: limits.compile_memory_bytes.map(|bytes| bytes.get()),
    }
}

/// Finds plugins and plans, away from the async threads: components are read here.
///
/// # Errors
/// When the work is lost, which is a fault of the host.
pub async fn survey(sources: Sources, settings: PluginsSettings) -> Result<Plan, Failure> {
    let surveyed = tokio::task::spawn_blocking(move || look(&sources, &settings)).await;
    surveyed.map_err(|error| Failure::internal(format!("looking for plugins failed: {error}")))
}

/// Plans, while no installer switches plugins. What differs from what was installed is not loaded.
fn look(sources: &Sources, settings: &PluginsSettings) -> Plan {
    let Some(state) = sources.installed.as_deref().and_then(Path::parent) else { return plan::survey(sources, settings) };
    let layout = installer::Layout::new(state);
    if let Err(error) = installer::recover(&layout, &installer::SystemDisk) {
        tracing::error!("an interrupted installation can neither be finished nor undone: {error}");
    }
    let guard = installer::reading(&layout);
    if let Err(error) = &guard {
        tracing::warn!("installed plugins may be switched while they are read: {error}");
    }
    let mut plan = plan::survey(sources, settings);
    installer::load::enforce(&mut plan, &layout);
    plan
}

pub(super) async fn load(request: Request<'_>) -> Result<Loaded, Failure> {
    let Request {
        locations,
        loaded,
        workspace_dir,
        extra_dirs,
        bundled_dir,
        cache_dir,
        compiler,
        kv,
        circuits,
        extensions,
        sessions,
        progress,
    } = request;
    let config = &loaded.config;
    hook_calls::check_names(loaded)?;
    let mut sources = sources(locations, config, workspace_dir, extra_dirs);
    sources.bundled = bundled_dir.or(sources.bundled);
    let plan = survey(sources, settings(config, locations.environment())).await?;
    for text in &plan.diagnostics {
        tracing::warn!("{text}");
    }
    let ports = Ports { kv, session_extensions: extensions, sessions, network: egress::Network::system() };
    let data_directory = Some(locations.plugin_data_dir());
    let circuits = Some(circuits);
    let settings = HostSettings { data_directory, circuits, ..host_settings(config, cache_dir, compiler, progress) };
    let mut loaded = compile(plan, settings, ports).await?;
    refuse_unguarded(&loaded.statuses)?;
    if let Some(refused) = loaded.registry.unguarded().first() {
        let message = format!("plugin `{}` is required and would run without a handler: {}", refused.plugin, refused.text);
        return Err(Failure::new(Code::Plugin, message).hint("allow it, or remove `required` from its entry to run without it"));
    }
    for status in &loaded.statuses {
        if let PluginState::Failed(why) = &status.report.state {
            tracing::error!("{}", sentence(&status.report, why));
        }
    }
    for diagnostic in &loaded.diagnostics {
        tracing::warn!("{}", diagnostic.text);
    }
    super::load_log::tell(&loaded);
    loaded.statuses.shrink_to_fit();
    Ok(loaded)
}

/// How plugins are run.
pub fn host_settings(config: &Config, cache_dir: PathBuf, compiler: Compiler, progress: Option<Progress>) -> HostSettings {
    HostSettings {
        engine: engine(&config.plugins.engine),
        dispatch_budgets: hook_calls::dispatch_budgets(config),
        cache_directory: Some(cache_dir),
        compiler,
        reserved_tools: tools::BUILT_IN.iter().map(|name| (*name).to_owned()).collect(),
        progress: progress.map(steps),
        ..HostSettings::default()
    }
}

fn engine(settings: &PluginEngine) -> EngineSettings {
    let defaults = EngineSettings::default();
    EngineSettings {
        live_instances: settings.live_instances.unwrap_or(defaults.live_instances),
        tick: settings.tick_ms.map_or(defaults.tick, |tick| Duration::from_millis(tick.get())),
        stack_bytes: settings.stack_bytes.and_then(|bytes| usize::try_from(bytes.get()).ok()).unwrap_or(defaults.stack_bytes),
    }
}

/// This program as the one that compiles. By the descriptor of the running process, so that an update of the file on disk meanwhile
/// cannot bring two versions together.
pub fn own_compiler() -> Compiler {
    let running = PathBuf::from("/proc/self/exe");
    let program = if running.exists() { running } else { std::env::current_exe().unwrap_or_else(|_| "creel".into()) };
    Compiler::Process { program, arguments: vec![COMPILE_COMMAND.into()] }
}

/// Compiles what was planned and links it.
///
/// # Errors
/// When there is no engine. A plugin that does not compile is in its status.
pub(super) async fn compile(plan: Plan, settings: HostSettings, ports: Ports) -> Result<Loaded, Failure> {
    let mut diagnostics: Vec<Diagnostic> = plan.plugins.iter().flat_map(|plugin| plugin.diagnostics.clone()).collect();
    let ready: Vec<ReadyPlugin> = plan.plugins.into_iter().map(ReadyPlugin::from).collect();
    let started = PluginHost::start(settings, ready, &ports).await;
    let loaded = started.map_err(|error| Failure::new(Code::Plugin, error.to_string()))?;
    diagnostics.extend(loaded.diagnostics);
    let mut statuses: Vec<PluginStatus> =
        plan.reports.into_iter().map(|report| PluginStatus { report, tools: Vec::new(), load_time: None }).collect();
    for compiled in loaded.reports {
        let Some(status) = statuses.iter_mut().find(|status| is(&status.report, &compiled.plugin)) else { continue };
        status.tools = compiled.tools;
        status.load_time = Some(compiled.elapsed);
        if let Some(error) = compiled.error {
            status.report.state = PluginState::Failed(error.to_string());
        }
    }
    Ok(Loaded { registry: Arc::new(loaded.registry), tools: loaded.tools, statuses, diagnostics })
}

fn is(report: &PluginReport, plugin: &PluginId) -> bool {
    report.id.as_ref() == Some(plugin) && report.state == PluginState::Loaded
}

fn steps(progress: Progress) -> LoadProgress {
    Arc::new(move |step| {
        if let LoadStep::CompileStarted { plugin, bytes } = step {
            progress(&format!("compiling {plugin} ({} kB)", bytes / 1000));
        }
    })
}

/// A required plugin that does not serve stops everything: the alternative would be to run unguarded.
fn refuse_unguarded(statuses: &[PluginStatus]) -> Result<(), Failure> {
    let unguarded = statuses.iter().find(|status| status.report.required && status.report.state != PluginState::Loaded);
    let Some(status) = unguarded else { return Ok(()) };
    let why = match &status.report.state {
        PluginState::Loaded => return Ok(()),
        PluginState::Disabled(why) | PluginState::Failed(why) => why,
    };
    let name = name(&status.report);
    Err(Failure::new(Code::Plugin, format!("{name} is required and does not serve: {why}"))
        .hint("mend it, or remove `required` from its entry to run without it"))
}

/// How a plugin is named in a sentence.
pub fn name(report: &PluginReport) -> String {
    match (&report.id, &report.place) {
        (Some(id), _) => format!("plugin `{id}`"),
        (None, Some(place)) => place.display().to_string(),
        (None, None) => "a plugin".to_owned(),
    }
}

/// What is to be said about a plugin. Without an id the reason names the place itself.
pub fn sentence(report: &PluginReport, why: &str) -> String {
    if report.id.is_some() { format!("{}: {why}", name(report)) } else { why.to_owned() }
}

/// Compiles one plugin by itself, as `creel plugins validate` does.
///
/// # Errors
/// When there is no engine.
pub async fn check(plan: Plan, settings: HostSettings, ports: Ports) -> Result<Vec<PluginStatus>, Failure> {
    compile(plan, settings, ports).await.map(|loaded| loaded.statuses)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use plugin_host::limits::{ROWS, Unit};
    use serde_json::json;

    use super::*;

    /// The bounds that the configuration has for a limit.
    fn bounds(property: &serde_json::Value) -> (Option<u64>, Option<u64>, Option<u64>) {
        let text = property.to_string();
        let first = |key: &str| {
            let start = text.find(&format!("\"{key}\":"))? + key.len() + 3;
            text[start..].split(|character: char| !character.is_ascii_digit()).next()?.parse().ok()
        };
        (first("minimum"), first("maximum"), first("default"))
    }

    #[test]
    fn the_configuration_has_every_limit_of_the_host_with_its_bounds() {
        let schema = Config::schema();
        let entry = "/properties/plugins/properties/entries/additionalProperties/properties/limits/properties";
        let properties = schema.pointer(entry).and_then(serde_json::Value::as_object).unwrap();
        assert_eq!(properties.len(), ROWS.len());
        for row in ROWS {
            let found = bounds(&properties[row.key]);
            assert_eq!(found, (Some(row.min), Some(row.max), Some(row.default)), "{}: {}", row.key, properties[row.key]);
        }
    }

    #[test]
    fn every_limit_reaches_the_host() {
        let written = |row: &plugin_host::limits::LimitRow| match row.unit {
            Unit::Count => json!(row.max),
            Unit::Bytes | Unit::Milliseconds => json!(row.max),
        };
        let all: serde_json::Map<_, _> = ROWS.iter().map(|row| (row.key.to_owned(), written(row))).collect();
        let parsed: PluginLimits = serde_json::from_value(all.into()).unwrap();
        let resolved = plugin_host::limits::Limits::resolve(&RequestedLimits::default(), &limits(&parsed));
        for (row, number) in resolved.rows() {
            assert_eq!(number, row.max, "{}", row.key);
        }
    }
}
