//! `creel plugins list|inspect|validate|enable|disable|pack`.

mod describe;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use config::KeyPath;
use plugin_host::plan::{self, Plan, PluginState};
use plugin_host::{Ports, discovery, embedded, manifest};
use serde_json::Value;
use sessions::{SqlitePluginKv, SqliteSessions, StateDir};

use super::Context;
use crate::args::PluginsCommand;
use crate::exit::{Code, Failure};
use crate::system::SystemClock;
use crate::terminal::{Output, Spinner, Table};
use crate::wiring::plugins::{self, PluginStatus};

pub(crate) use describe::one_line;

pub(super) async fn run(context: &Context, command: PluginsCommand, output: &Output) -> Result<Code, Failure> {
    match command {
        PluginsCommand::List { json, plugin_dirs } => list(context, plugin_dirs, json, output).await,
        PluginsCommand::Inspect { plugin, json } => inspect(context, &plugin, json, output).await,
        PluginsCommand::Validate { path, json } => validate(context, &path, json, output).await,
        PluginsCommand::Enable { id } => set_enabled(context, &id, true, output),
        PluginsCommand::Disable { id } => set_enabled(context, &id, false, output),
        PluginsCommand::Pack { dir, output: file } => pack(&dir, file, output),
    }
}

async fn survey(context: &Context, plugin_dirs: Vec<PathBuf>) -> Result<Plan, Failure> {
    let config = &context.loaded.config;
    let workspace = context
        .locations
        .workspace(config, &config.default_agent())
        .map_err(|error| Failure::new(Code::Config, error.to_string()))?;
    let sources = plugins::sources(&context.locations, config, &workspace, plugin_dirs);
    plugins::survey(sources, plugins::settings(config)).await
}

async fn list(context: &Context, plugin_dirs: Vec<PathBuf>, as_json: bool, output: &Output) -> Result<Code, Failure> {
    let plan = survey(context, plugin_dirs).await?;
    if as_json {
        let all: Vec<Value> = plan.reports.iter().map(describe::as_json).collect();
        output.value(&all);
        return Ok(Code::Success);
    }
    for text in &plan.diagnostics {
        output.note(format!("warning: {text}"));
    }
    if plan.reports.is_empty() {
        output.note("No plugins were found.");
        output.note(format!(
            "hint: put one into {}, or name it in plugins.load.paths",
            context.locations.state_dir().join("plugins").display()
        ));
        return Ok(Code::Success);
    }
    let mut table = Table::new(&["plugin", "version", "origin", "state", "hooks", "place"]);
    for report in &plan.reports {
        table.row(describe::row(report));
    }
    output.line(table.to_string());
    for report in &plan.reports {
        if let PluginState::Failed(why) | PluginState::Disabled(why) = &report.state {
            output.line(format!("  {}: {why}", plugins::name(report)));
        }
        for text in &report.diagnostics {
            output.line(format!("  {text}"));
        }
    }
    Ok(Code::Success)
}

async fn inspect(context: &Context, plugin: &str, as_json: bool, output: &Output) -> Result<Code, Failure> {
    let plan = find(context, plugin).await?;
    if as_json {
        let all: Vec<Value> = plan.reports.iter().map(describe::as_json).collect();
        output.value(&all);
    } else {
        for report in &plan.reports {
            output.line(describe::full(report, output));
        }
    }
    let failed = plan.reports.iter().any(|report| report.component.is_none());
    Ok(if failed { Code::Plugin } else { Code::Success })
}

/// A plugin by its id among those that are found, or by its place.
async fn find(context: &Context, plugin: &str) -> Result<Plan, Failure> {
    let path = Path::new(plugin);
    if path.exists() {
        return located(context, path);
    }
    let mut plan = survey(context, Vec::new()).await?;
    plan.reports.retain(|report| report.id.as_ref().is_some_and(|id| id.as_str() == plugin));
    if plan.reports.is_empty() {
        return Err(Failure::usage(format!("there is no plugin `{plugin}`, and no file or directory of that name"))
            .hint("`creel plugins list` shows what was found"));
    }
    Ok(plan)
}

fn located(context: &Context, path: &Path) -> Result<Plan, Failure> {
    let path = std::path::absolute(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    Ok(plan::plan(discovery::locate(&path), &plugins::settings(&context.loaded.config)))
}

async fn validate(context: &Context, path: &Path, as_json: bool, output: &Output) -> Result<Code, Failure> {
    if !path.exists() {
        return Err(Failure::usage(format!("{} does not exist", path.display())));
    }
    let mut settings = plugins::settings(&context.loaded.config);
    // Whether the operator switched it on is not what is asked here.
    settings.switches = Default::default();
    let absolute = std::path::absolute(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    let discovered = discovery::locate(&absolute);
    for found in &discovered.found {
        if let discovery::Found::Plugin(candidate) = found {
            settings.entries.entry(candidate.manifest.id.to_string()).or_default().enabled = Some(true);
        }
    }
    let plan = plan::plan(discovered, &settings);
    let spinner = Spinner::start(output, "checking");
    let state = StateDir::new(context.locations.state_dir());
    let ports = Ports {
        kv: Arc::new(SqlitePluginKv::new(&state, Arc::new(SystemClock))),
        session_extensions: Arc::new(SqliteSessions::new(state)),
    };
    let progress: crate::wiring::Progress = Box::new(move |text: &str| spinner.say(text));
    let statuses = plugins::check(plan, context.locations.cache_dir(), ports, Some(progress)).await?;
    report_validity(&statuses, path, as_json, output)
}

fn report_validity(statuses: &[PluginStatus], path: &Path, as_json: bool, output: &Output) -> Result<Code, Failure> {
    if as_json {
        let all: Vec<Value> = statuses.iter().map(|status| describe::as_json(&status.report)).collect();
        output.value(&all);
    }
    let mut valid = !statuses.is_empty();
    for status in statuses {
        let report = &status.report;
        match &report.state {
            PluginState::Loaded if !as_json => output.line(format!("{} is valid.", plugins::name(report))),
            PluginState::Loaded => {}
            PluginState::Disabled(why) | PluginState::Failed(why) => {
                valid = false;
                output.note(format!("error: {}: {why}", plugins::name(report)));
            }
        }
        for text in &report.diagnostics {
            output.note(format!("warning: {text}"));
        }
    }
    if statuses.is_empty() {
        output.note(format!("error: {} holds no plugin", path.display()));
    }
    Ok(if valid { Code::Success } else { Code::Plugin })
}

/// Changes one value of the configuration file and nothing else in it.
fn set_enabled(context: &Context, id: &str, enabled: bool, output: &Output) -> Result<Code, Failure> {
    let id = manifest::parse_id(id).map_err(|error| Failure::usage(error.to_string()))?;
    let path = &context.loaded.path;
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::new(Code::Config, format!("{} cannot be read: {error}", path.display()))),
    };
    let key = KeyPath::of("plugins.entries").key(id.as_str()).key("enabled");
    let changed = config::set_value(&text, &key, &Value::from(enabled))
        .map_err(|error| Failure::new(Code::Config, format!("{}: {error}", path.display())))?;
    config::parse(&changed, path, context.locations.environment())
        .map_err(|errors| Failure::new(Code::Config, format!("nothing was changed, the result would not be valid:\n{errors}")))?;
    write_atomically(path, &changed)
        .map_err(|error| Failure::new(Code::Config, format!("{} cannot be written: {error}", path.display())))?;
    output.line(format!("plugins.entries.{id}.enabled is now {enabled} in {}", path.display()));
    Ok(Code::Success)
}

fn write_atomically(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    let temporary = directory.join(format!(".creel.json.{}", uuid::Uuid::now_v7()));
    let written = std::fs::File::create_new(&temporary).and_then(|mut file| {
        if let Ok(old) = std::fs::metadata(path) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    });
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

fn pack(dir: &Path, file: Option<PathBuf>, output: &Output) -> Result<Code, Failure> {
    let failed = |path: &Path, error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
    let manifest_path = dir.join(manifest::FILE_NAME);
    let text = std::fs::read(&manifest_path).map_err(|error| failed(&manifest_path, &error))?;
    let parsed = manifest::Manifest::parse(&text, &manifest_path.display().to_string())
        .map_err(|error| Failure::new(Code::Plugin, error.to_string()))?;
    let component = parsed
        .component
        .as_deref()
        .ok_or_else(|| Failure::new(Code::Plugin, format!("{}: `component` is missing", manifest_path.display())))?;
    let component_path = dir.join(component);
    let bytes = std::fs::read(&component_path).map_err(|error| failed(&component_path, &error))?;
    let packed = embedded::write(&bytes, &text).map_err(|error| failed(&component_path, &error))?;
    let target = file.unwrap_or_else(|| PathBuf::from(format!("{}.wasm", parsed.id.as_str().replace('/', "-"))));
    if target == component_path || target.exists() {
        return Err(Failure::usage(format!("{} exists already", target.display())).hint("name another file with --output"));
    }
    std::fs::write(&target, &packed).map_err(|error| failed(&target, &error))?;
    output.line(format!("{}: {} kB, manifest of `{}` included", target.display(), packed.len() / 1000, parsed.id));
    Ok(Code::Success)
}
