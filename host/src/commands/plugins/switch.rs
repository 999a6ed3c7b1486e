//! `creel plugins enable|disable`: changes one value of the configuration file and nothing else in it, then says what came of it.
//! Refuses ids that nobody knows.

use std::collections::BTreeSet;

use config::Config;
use domain::PluginId;
use plugin_host::discovery::{self, Found};
use plugin_host::manifest;
use plugin_host::plan::PluginState;
use serde_json::Value;

use super::entry_edit::EntryEdit;
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::Output;
use crate::wiring::plugins;

pub(super) async fn run(context: &Context, id: &str, enabled: bool, output: &Output) -> Result<Code, Failure> {
    let id = manifest::parse_id(id).map_err(|error| Failure::usage(error.to_string()))?;
    require_known(context, &id).await?;
    let mut edit = EntryEdit::open(context, &id)?;
    edit.set(&["enabled"], Value::from(enabled))?;
    let parsed = edit.finish(true)?;
    output.line(format!("plugins.entries.{id}.enabled is now {enabled} in {}", context.loaded.path.display()));
    if enabled {
        tell_effect(context, &parsed.config, &id, output).await?;
    }
    Ok(Code::Success)
}

/// Refuses an id that nobody knows.
pub(super) async fn require_known(context: &Context, id: &PluginId) -> Result<(), Failure> {
    let known = known(context).await?;
    let is_known = known.contains(id) || context.loaded.config.plugins.entries.contains_key(id.as_str());
    if is_known { Ok(()) } else { Err(unknown(id, &known)) }
}

/// Ids of the plugins that are found, also if plugins are switched off altogether, and the ids that they had before.
async fn known(context: &Context) -> Result<BTreeSet<PluginId>, Failure> {
    let sources = super::sources(context, &context.loaded.config, Vec::new())?;
    let discovered = tokio::task::spawn_blocking(move || discovery::discover(&sources)).await;
    let discovered = discovered.map_err(|error| Failure::internal(format!("looking for plugins failed: {error}")))?;
    let ids = |found: Found| match found {
        Found::Plugin(candidate) => {
            let former = candidate.manifest.legacy_plugin_ids.iter().map(|id| PluginId::new(id.as_str()));
            former.chain([candidate.manifest.id.clone()]).collect::<Vec<_>>()
        }
        Found::Failure(failure) => failure.id.into_iter().collect(),
    };
    Ok(discovered.found.into_iter().flat_map(ids).collect())
}

/// An entry for a plugin that nobody knows is most likely misspelt, and the plugin that was meant would stay as it is.
fn unknown(id: &PluginId, known: &BTreeSet<PluginId>) -> Failure {
    let failure = Failure::usage(format!("there is no plugin `{id}`, and no plugins.entries.{id} in the configuration"));
    let list: Vec<&str> = known.iter().map(PluginId::as_str).collect();
    match config::nearest(id.as_str(), list.iter().copied()) {
        Some(nearest) => failure.hint(format!("did you mean `{nearest}`?")),
        None if list.is_empty() => failure.hint("no plugins were found; `creel plugins list` says where they are looked for"),
        None => failure.hint(format!("these were found: {}", list.join(", "))),
    }
}

/// Enabling is one rung of a ladder; whatever keeps the plugin off all the same is told.
pub(super) async fn tell_effect(context: &Context, config: &Config, id: &PluginId, output: &Output) -> Result<(), Failure> {
    let plan =
        plugins::survey(super::sources(context, config, Vec::new())?, plugins::settings(config, context.locations.environment()))
            .await?;
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
