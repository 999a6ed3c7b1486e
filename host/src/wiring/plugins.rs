//! From configuration to plugins: what the operator said is handed to the plugin host in its own words. Loads nothing; that is
//! `plugin_set`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::keys::{PluginEngine, PluginEntry, PluginLimits};
use config::{Config, Environment, Locations};
use hooks::budget::OperatorBudgets;
use plugin_host::compile::Compiler;
use plugin_host::discovery::Sources;
use plugin_host::enablement::Switches;
use plugin_host::limits::RequestedLimits;
use plugin_host::plan::{self, Plan, PluginReport, PluginSettings, PluginsSettings};
use plugin_host::{EngineSettings, HostSettings, LoadProgress, LoadStep};

use super::{Progress, grants, hook_calls};
use crate::exit::Failure;

pub use super::plugin_set::{PluginStatus, check};

/// Hidden command of the binary that compiles one component and ends.
pub const COMPILE_COMMAND: &str = "compile-component";

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
        circuit: hook_calls::overrides(plugins.circuit),
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

fn steps(progress: Progress) -> LoadProgress {
    Arc::new(move |step| {
        if let LoadStep::CompileStarted { plugin, bytes } = step {
            progress(&format!("compiling {plugin} ({} kB)", bytes / 1000));
        }
    })
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
