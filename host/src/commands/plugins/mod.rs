//! `creel plugins`: one file for each of its commands.

mod as_json;
mod circuits;
mod describe;
mod entry_edit;
mod grant;
mod granted;
mod grants;
mod in_full;
mod inspect;
mod install;
mod list;
mod pack;
mod reload;
mod remove;
mod replace;
mod reset;
mod sign;
mod switch;
mod trust;
mod unbuilt;
mod validate;
mod verify;
mod wanted;

use std::path::{Path, PathBuf};

use config::Config;
use plugin_host::discovery::{self, Discovery, Sources};

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
        PluginsCommand::Validate { path, as_configured, json } => {
            let rights = if as_configured { validate::Rights::AsConfigured } else { validate::Rights::AsAsked };
            validate::run(context, &path, rights, json, output).await
        }
        PluginsCommand::Install(args) => install::install(context, args, output).await,
        PluginsCommand::Update(args) => install::update(context, args, output).await,
        PluginsCommand::Remove(args) => remove::run(context, &args, output).await,
        PluginsCommand::Verify(args) => verify::run(context, &args, output).await,
        PluginsCommand::Sign(args) => sign::run(context, &args, output),
        PluginsCommand::Trust(command) => trust::run(context, &command, output),
        PluginsCommand::Grants { id, json } => grants::run(context, id.as_deref(), json, output).await,
        PluginsCommand::Grant(args) => grant::grant(context, args, output).await,
        PluginsCommand::Revoke(args) => grant::revoke(context, args, output).await,
        PluginsCommand::Enable { id } => switch::run(context, &id, true, output).await,
        PluginsCommand::Disable { id } => switch::run(context, &id, false, output).await,
        PluginsCommand::Reload { json } => reload::run(context, json, output).await,
        PluginsCommand::Reset { id, hook } => reset::run(context, &id, hook.as_deref(), output).await,
        PluginsCommand::Pack { dir, component, output: file, force } => {
            pack::run(&pack::Request { dir, component, file, force }, output)
        }
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

/// What is at a place that was named on the command line.
fn locate(path: &Path) -> Result<Discovery, Failure> {
    let path = std::path::absolute(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    Ok(discovery::locate(&path))
}
