//! What can be said only when all plugins are planned: which ones are missing, which ones stand in another's place, what they build on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use domain::PluginId;
use hooks::access::Diagnostic;

use super::load::note;
use super::{Plan, PluginReport, PluginState, PluginsSettings};
use crate::discovery::ResourcePackage;

/// A plugin that was left out because another one has its id.
pub(super) struct Duplicate {
    pub(super) id: PluginId,
    pub(super) first: PathBuf,
    pub(super) second: PathBuf,
}

/// Entries of plugins that were not found: a failure if the plugin is required, else a word about it.
pub(super) fn missing(plan: &mut Plan, settings: &PluginsSettings) {
    let found: BTreeSet<&str> = plan.reports.iter().filter_map(|report| report.id.as_ref()).map(PluginId::as_str).collect();
    let missing = settings.entries.iter().filter(|(id, _)| !found.contains(id.as_str()));
    let (mut reports, mut diagnostics) = (Vec::new(), Vec::new());
    for (id, entry) in missing {
        match (entry.required, settings.switches.enabled) {
            (true, true) => {
                let why = format!("plugins.entries.{id} requires it, and no plugin with this id was found{}", nameless(plan));
                reports.push(PluginReport::of_missing(PluginId::new(id.as_str()), PluginState::Failed(why)));
            }
            (true, false) => {
                let state = PluginState::Disabled("plugins.enabled is false".to_owned());
                reports.push(PluginReport::of_missing(PluginId::new(id.as_str()), state));
            }
            (false, true) => diagnostics.push(format!("plugins.entries.{id} is for a plugin that was not found")),
            (false, false) => {}
        }
    }
    plan.reports.append(&mut reports);
    plan.diagnostics.append(&mut diagnostics);
}

/// Places whose plugins have no id, because nobody could read it: one of them may be what is looked for.
fn nameless(plan: &Plan) -> String {
    let mut whys = plan.reports.iter().filter_map(|report| match (&report.id, &report.state) {
        (None, PluginState::Failed(why)) => Some(why),
        _ => None,
    });
    match (whys.next(), whys.count()) {
        (None, _) => String::new(),
        (Some(why), 0) => format!("; perhaps it is here: {why}"),
        (Some(why), more) => format!("; perhaps it is here: {why} ({more} more places could not be read)"),
    }
}

/// Says of two plugins with one id what became of the first, and where the second is. What stands behind one that loads is not what the
/// operator requires.
pub(super) fn duplicates(plan: &mut Plan, duplicates: &[Duplicate]) {
    for Duplicate { id, first, second } in duplicates {
        let is_at =
            |report: &PluginReport, place: &Path| report.id.as_ref() == Some(id) && report.place.as_deref() == Some(place);
        let Some(fault) = plan.reports.iter().find(|report| is_at(report, first)).and_then(fault).map(str::to_owned) else {
            continue;
        };
        for report in plan.reports.iter_mut().filter(|report| is_at(report, first)) {
            report.state = PluginState::Failed(format!("{fault}; {}", not_taken(second)));
        }
        for report in plan.reports.iter_mut().filter(|report| is_at(report, second)) {
            if let PluginState::Failed(why) = &mut report.state {
                *why = format!("{why}; the first one does not load: {fault}");
            }
        }
    }
    let loaded: BTreeSet<PluginId> = plan.plugins.iter().map(|plugin| plugin.id.clone()).collect();
    for report in plan.reports.iter_mut().filter(|report| report.state != PluginState::Loaded) {
        report.required &= !report.id.as_ref().is_some_and(|id| loaded.contains(id));
    }
}

fn fault(report: &PluginReport) -> Option<&str> {
    match &report.state {
        PluginState::Failed(why) => Some(why),
        PluginState::Loaded | PluginState::Disabled(_) => None,
    }
}

/// About a plugin whose id a faulty one has.
pub(super) fn not_taken(second: &Path) -> String {
    format!("{} has the same id and is not taken in its place", second.display())
}

/// Warns about plugins that others build on, and that do not load.
pub(super) fn requirements(plan: &mut Plan) {
    let loaded: BTreeSet<PluginId> = plan.plugins.iter().map(|plugin| plugin.id.clone()).collect();
    for plugin in &mut plan.plugins {
        for needed in &plugin.manifest.requires_plugins {
            if loaded.iter().any(|id| id.as_str() == needed) {
                continue;
            }
            let text = note(&plugin.id, &format!("builds on the plugin `{needed}`, which is not loaded"));
            for report in plan.reports.iter_mut().filter(|report| report.id.as_ref() == Some(&plugin.id)) {
                if report.state == PluginState::Loaded {
                    report.diagnostics.push(text.clone());
                }
            }
            plugin.diagnostics.push(Diagnostic { plugin: plugin.id.clone(), text });
        }
    }
}

/// Says that what a resource package brings beside extensions has no effect yet.
pub(super) fn resources(plan: &mut Plan, packages: &[ResourcePackage]) {
    for package in packages {
        let kinds = [("skills", &package.skills), ("prompts", &package.prompts), ("themes", &package.themes)];
        let there =
            kinds.into_iter().filter(|(_, paths)| !paths.is_empty()).map(|(kind, paths)| format!("{} {kind}", paths.len()));
        let list = there.collect::<Vec<_>>().join(", ");
        plan.diagnostics.push(format!("{} brings {list}, which this version of the host does not use", package.root.display()));
    }
}
