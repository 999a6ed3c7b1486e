//! `creel plugins enable|disable`: changes one value of the configuration file and nothing else in it, then says what came of it.

use std::path::Path;

use config::{Config, KeyPath};
use domain::PluginId;
use plugin_host::manifest;
use plugin_host::plan::PluginState;
use serde_json::Value;

use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::Output;
use crate::wiring::plugins;

pub(super) async fn run(context: &Context, id: &str, enabled: bool, output: &Output) -> Result<Code, Failure> {
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
    let parsed = config::parse(&changed, path, context.locations.environment())
        .map_err(|errors| Failure::new(Code::Config, format!("nothing was changed, the result would not be valid:\n{errors}")))?;
    write_atomically(path, &changed)
        .map_err(|error| Failure::new(Code::Config, format!("{} cannot be written: {error}", path.display())))?;
    output.line(format!("{key} is now {enabled} in {}", path.display()));
    if enabled {
        tell_effect(context, &parsed.config, &id, output).await?;
    }
    Ok(Code::Success)
}

/// Enabling is one rung of a ladder; whatever keeps the plugin off all the same is told.
async fn tell_effect(context: &Context, config: &Config, id: &PluginId, output: &Output) -> Result<(), Failure> {
    let plan = plugins::survey(super::sources(context, config, Vec::new())?, plugins::settings(config)).await?;
    match plan.reports.iter().find(|report| report.id.as_ref() == Some(id)) {
        None => output.warning(format!("no plugin `{id}` was found; `creel plugins list` shows what was")),
        Some(report) => match &report.state {
            PluginState::Loaded => {}
            PluginState::Disabled(why) => output.warning(format!("the plugin is still off: {why}")),
            PluginState::Failed(why) => output.warning(format!("the plugin does not load: {why}")),
        },
    }
    Ok(())
}

fn write_atomically(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    // A link stays one: what it points at is what the operator keeps.
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
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
