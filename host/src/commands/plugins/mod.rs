//! `creel plugins list|inspect|validate|enable|disable|pack`.

mod describe;
mod inspect;
mod list;
mod pack;
mod switch;
mod validate;

use std::path::PathBuf;

use config::Config;
use plugin_host::discovery::Sources;

use super::Context;
use crate::args::PluginsCommand;
use crate::exit::{Code, Failure};
use crate::terminal::Output;
use crate::wiring::plugins;

pub(crate) use describe::one_line;

pub(super) async fn run(context: &Context, command: PluginsCommand, output: &Output) -> Result<Code, Failure> {
    match command {
        PluginsCommand::List { json, plugin_dirs } => list::run(context, plugin_dirs, json, output).await,
        PluginsCommand::Inspect { plugin, json } => inspect::run(context, plugin, json, output).await,
        PluginsCommand::Validate { path, json } => validate::run(context, &path, json, output).await,
        PluginsCommand::Enable { id } => switch::run(context, &id, true, output).await,
        PluginsCommand::Disable { id } => switch::run(context, &id, false, output).await,
        PluginsCommand::Pack { dir, output: file } => pack::run(&dir, file, output),
    }
}

/// Directories of `--plugin-dir`. One that is not there is a slip of the pen, unlike one of the configuration, which may be on another
/// machine.
pub(super) fn existing(plugin_dirs: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    match plugin_dirs.iter().find(|dir| !dir.exists()) {
        Some(missing) => Err(Failure::usage(format!("--plugin-dir: {} does not exist", missing.display()))),
        None => Ok(plugin_dirs),
    }
}

/// Where plugins of the default agent are looked for.
fn sources(context: &Context, config: &Config, plugin_dirs: Vec<PathBuf>) -> Result<Sources, Failure> {
    let workspace = context.locations.workspace(config, &config.default_agent());
    let workspace = workspace.map_err(|error| Failure::new(Code::Config, error.to_string()))?;
    Ok(plugins::sources(&context.locations, config, &workspace, plugin_dirs))
}
