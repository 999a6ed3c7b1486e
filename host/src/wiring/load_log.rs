//! What was loaded, in the log: one line for each plugin that serves. Decides nothing, and shows words of plugins as one harmless line.

use domain::PluginId;
use hooks::Registry;
use hooks::catalogue::CATALOGUE;
use hooks::fault::one_line;
use plugin_host::Serves;

use super::plugin_set::{Loaded, PluginStatus};

/// Longest word of a plugin about itself, in bytes.
const MAX_WORD_BYTES: usize = 100;

/// Tells each plugin that serves: what it is, which of its handlers will be called, and which tools it offers.
pub(super) fn tell(loaded: &Loaded) {
    let serves = |status: &&PluginStatus| matches!(status.serves, Serves::Added | Serves::Replaced);
    for PluginStatus { report, tools, load_time, .. } in loaded.statuses.iter().filter(serves) {
        let Some(id) = &report.id else { continue };
        let version = report.manifest.as_ref().and_then(|manifest| manifest.version.as_deref()).unwrap_or("-");
        tracing::debug!(
            plugin = %id,
            version = one_line(version, MAX_WORD_BYTES),
            handlers = handlers(id, &loaded.registry),
            tools = list(tools.iter().map(|tool| one_line(tool, MAX_WORD_BYTES))),
            elapsed = ?load_time.unwrap_or_default(),
            "plugin loaded"
        );
    }
}

/// Hooks at which a plugin is called, with the names of its handlers. What a gate kept out is not among them.
fn handlers(id: &PluginId, registry: &Registry) -> String {
    let of_hook = |hook: hooks::HookId| {
        let own = registry.handlers(hook).filter(move |(plugin, _)| *plugin == id);
        own.map(
            move |(_, name)| {
                if name.is_empty() { hook.to_string() } else { format!("{hook}:{}", one_line(name, MAX_WORD_BYTES)) }
            },
        )
    };
    list(CATALOGUE.iter().flat_map(|row| of_hook(row.id)))
}

fn list(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(",") }
}
