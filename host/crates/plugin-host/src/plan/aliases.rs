//! Old ids of plugins (`legacyPluginIds`): settings under an old id count for the plugin that has it now.
//!
//! Settings hold grants, so a claim on an old id is worth something. It counts only if no plugin has the id itself, if nobody else
//! claims it, and never for a plugin that comes with a workspace.

use std::collections::{BTreeMap, BTreeSet};

use domain::PluginId;

use super::PluginsSettings;
use crate::discovery::{Candidate, Discovery, Found, Origin};

/// The settings with old ids replaced by new ones, and a word about each that was.
pub(super) fn apply(discovery: &Discovery, settings: &PluginsSettings) -> (PluginsSettings, Vec<String>) {
    let aliases = aliases(discovery);
    let mut settings = settings.clone();
    let mut diagnostics = Vec::new();
    let lists = [("plugins.allow", &mut settings.switches.allow), ("plugins.deny", &mut settings.switches.deny)];
    for (key, list) in lists {
        for id in list {
            rename(key, id, &aliases, &mut diagnostics);
        }
    }
    let slots = [
        ("plugins.slots.memory", &mut settings.switches.memory_slot),
        ("plugins.slots.contextEngine", &mut settings.switches.context_engine_slot),
    ];
    for (key, slot) in slots {
        if let Some(id) = slot {
            rename(key, id, &aliases, &mut diagnostics);
        }
    }
    for (old, new) in &aliases {
        if settings.entries.contains_key(new.as_str()) {
            continue;
        }
        if let Some(entry) = settings.entries.remove(old) {
            settings.entries.insert(new.to_string(), entry);
            diagnostics.push(format!("plugins.entries.{old}: the plugin is called `{new}` now; rename the entry"));
        }
    }
    (settings, diagnostics)
}

fn rename(key: &str, id: &mut String, aliases: &BTreeMap<String, PluginId>, diagnostics: &mut Vec<String>) {
    if let Some(new) = aliases.get(id.as_str()) {
        diagnostics.push(format!("{key} names `{id}`: the plugin is called `{new}` now; rename it"));
        *id = new.to_string();
    }
}

/// Old ids that one plugin may have settings under.
pub(super) fn aliases(discovery: &Discovery) -> BTreeMap<String, PluginId> {
    let candidates = || {
        discovery.found.iter().filter_map(|found| match found {
            Found::Plugin(candidate) => Some(&**candidate),
            Found::Failure(_) => None,
        })
    };
    // A plugin that is faulty has its id all the same.
    let taken: BTreeSet<&str> = discovery.found.iter().filter_map(Found::id).map(PluginId::as_str).collect();
    let mut claims: BTreeMap<&String, BTreeSet<&PluginId>> = BTreeMap::new();
    for Candidate { manifest, .. } in candidates().filter(|candidate| candidate.origin != Origin::Workspace) {
        for old in manifest.legacy_plugin_ids.iter().filter(|old| !taken.contains(old.as_str())) {
            claims.entry(old).or_default().insert(&manifest.id);
        }
    }
    let sole = |(old, claimants): (&String, BTreeSet<&PluginId>)| match claimants.into_iter().collect::<Vec<_>>().as_slice() {
        [one] => Some((old.clone(), (*one).clone())),
        _ => None,
    };
    claims.into_iter().filter_map(sole).collect()
}
