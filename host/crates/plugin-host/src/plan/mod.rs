//! What will be loaded: brings together the plugins that were found and the operator's settings, and says of every plugin whether it
//! loads, and why not. Reads component files; compiles nothing, runs nothing. One plugin's fault never changes what becomes of another.

mod aliases;
mod load;
mod report;
mod settings;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use domain::{JsonText, PluginId};
use hooks::access::{Access, Diagnostic};

use crate::discovery::{Candidate, Discovery, Failure, Found, Origin, ResourcePackage, Sources, discover};
use crate::enablement::{Subject, decide};
use crate::grant::{Grants, resolve};
use crate::inspect::Inspection;
use crate::manifest::{HandlerEntry, Lifetime, Manifest, RequestedLimits};

pub use load::{LoadError, OpenedComponent, open_component, open_file};
pub use report::{PluginReport, PluginState};
pub use settings::{PluginSettings, PluginsSettings};

/// A plugin that is ready to be compiled and instantiated.
#[derive(Debug, Clone)]
pub struct PlannedPlugin {
    /// Canonical id.
    pub id: PluginId,
    /// Where it comes from.
    pub origin: Origin,
    /// Its directory.
    pub root: PathBuf,
    /// Its component.
    pub component: OpenedComponent,
    /// Its manifest; `handlers` and `lifetime` below are what counts of it.
    pub manifest: Manifest,
    /// Settings after the schema accepted them, with defaults: a JSON object.
    pub config: JsonText,
    /// What it may import.
    pub grants: Grants,
    /// Limits that it would like.
    pub requested_limits: RequestedLimits,
    /// Limits that the operator set.
    pub operator_limits: RequestedLimits,
    /// How long its instances live.
    pub lifetime: Lifetime,
    /// What the gates of its registrations ask for.
    pub access: Access,
    /// Its handlers: those of the manifest in their order, then exports without an entry in theirs.
    pub handlers: Vec<HandlerEntry>,
    /// Directories of skills, absolute; all inside its directory.
    pub skills: Vec<PathBuf>,
    /// What the operator should know; one sentence each. They are in its report too.
    pub diagnostics: Vec<Diagnostic>,
}

impl PlannedPlugin {
    /// What its component says about itself.
    pub fn inspection(&self) -> &Inspection {
        &self.component.inspection
    }
}

/// What becomes of all plugins.
#[derive(Debug, Default)]
pub struct Plan {
    /// Plugins to load, in load order, which is the order of ties between handlers.
    pub plugins: Vec<PlannedPlugin>,
    /// One report per plugin that was found, or that should have been; in load order.
    pub reports: Vec<PluginReport>,
    /// Skills, prompts and themes of resource packages.
    pub packages: Vec<ResourcePackage>,
    /// What the operator should know about the settings themselves; one sentence each.
    pub diagnostics: Vec<String>,
}

impl Plan {
    /// Plugins that are marked `required` and do not load. If there is one, the host must not serve: it would run unguarded.
    pub fn unguarded(&self) -> impl Iterator<Item = &PluginReport> {
        self.reports.iter().filter(|report| report.required && report.state != PluginState::Loaded)
    }
}

/// Finds plugins and plans. With `plugins.enabled: false` nothing is looked for.
pub fn survey(sources: &Sources, settings: &PluginsSettings) -> Plan {
    plan(if settings.switches.enabled { discover(sources) } else { Discovery::default() }, settings)
}

/// Plans what becomes of the plugins that were found. Reads components, so an asynchronous caller should not wait for it on its own
/// thread.
pub fn plan(discovery: Discovery, settings: &PluginsSettings) -> Plan {
    let (settings, diagnostics) = aliases::apply(&discovery, settings);
    let mut planner = Planner { settings: &settings, plan: Plan { diagnostics, ..Plan::default() } };
    for found in discovery.found {
        match found {
            Found::Plugin(candidate) => planner.candidate(*candidate),
            Found::Failure(failure) => planner.failure(*failure),
        }
    }
    planner.missing();
    planner.requirements();
    planner.plan.packages = discovery.packages;
    planner.plan
}

struct Planner<'a> {
    settings: &'a PluginsSettings,
    plan: Plan,
}

impl Planner<'_> {
    fn candidate(&mut self, candidate: Candidate) {
        let settings = self.settings.of(&candidate.manifest.id);
        let mut report = PluginReport::of(&candidate, settings.required);
        let decision = decide(&self.subject(&candidate, &settings), &self.settings.switches);
        if !decision.is_on() {
            report.state = PluginState::Disabled(decision.reason);
            return self.plan.reports.push(report);
        }
        report.state = match self.load(candidate, &settings, &mut report) {
            Ok(plugin) => {
                self.plan.plugins.push(plugin);
                PluginState::Loaded
            }
            Err(error) => PluginState::Failed(error.to_string()),
        };
        self.plan.reports.push(report);
    }

    fn subject<'b>(&self, candidate: &'b Candidate, settings: &PluginSettings) -> Subject<'b> {
        let manifest = &candidate.manifest;
        Subject {
            id: manifest.id.as_str(),
            origin: candidate.origin,
            kinds: &manifest.kinds,
            enabled_by_default: manifest.enabled_by_default,
            enabled: settings.enabled,
            channel_configured: manifest.channels.iter().any(|channel| self.settings.configured_channels.contains(channel)),
            auto_enabled: self.settings.auto_enabled.contains(manifest.id.as_str()),
        }
    }

    /// Opens and prepares one plugin. The report gets as much as is known by then.
    fn load(
        &self,
        candidate: Candidate,
        settings: &PluginSettings,
        report: &mut PluginReport,
    ) -> Result<PlannedPlugin, LoadError> {
        let component = open_component(&candidate)?;
        report.component = Some(component.clone());
        let resolution = resolve(&candidate.manifest.capabilities, &component.inspection.capabilities(), &settings.grants);
        report.resolution = Some(resolution.clone());
        let plugin = load::prepare(candidate, component, settings, &resolution)?;
        report.handlers.clone_from(&plugin.handlers);
        report.diagnostics = plugin.diagnostics.iter().map(|diagnostic| diagnostic.text.clone()).collect();
        Ok(plugin)
    }

    fn failure(&mut self, failure: Failure) {
        let required = failure.id.as_ref().is_some_and(|id| self.settings.of(id).required);
        self.plan.reports.push(PluginReport::of_failure(failure, required));
    }

    /// Entries of plugins that were not found: a failure if the plugin is required, else a word about it.
    fn missing(&mut self) {
        let found: BTreeSet<&str> = self.plan.reports.iter().filter_map(|it| it.id.as_ref()).map(PluginId::as_str).collect();
        let missing: Vec<&String> = self.settings.entries.keys().filter(|id| !found.contains(id.as_str())).collect();
        for id in missing {
            let required = self.settings.entries.get(id).is_some_and(|entry| entry.required);
            if required {
                let state = if self.settings.switches.enabled {
                    PluginState::Failed(format!("plugins.entries.{id} requires it, and no plugin with this id was found"))
                } else {
                    PluginState::Disabled("plugins.enabled is false".to_owned())
                };
                self.plan.reports.push(PluginReport::of_missing(PluginId::new(id.as_str()), state));
            } else if self.settings.switches.enabled {
                self.plan.diagnostics.push(format!("plugins.entries.{id} is for a plugin that was not found"));
            }
        }
    }

    /// Warns about plugins that others build on, and that do not load.
    fn requirements(&mut self) {
        let loaded: BTreeSet<PluginId> = self.plan.plugins.iter().map(|plugin| plugin.id.clone()).collect();
        for plugin in &mut self.plan.plugins {
            for needed in &plugin.manifest.requires_plugins {
                if loaded.iter().any(|id| id.as_str() == needed) {
                    continue;
                }
                let text = load::note(&plugin.id, &format!("builds on the plugin `{needed}`, which is not loaded"));
                for report in self.plan.reports.iter_mut().filter(|report| report.id.as_ref() == Some(&plugin.id)) {
                    if report.state == PluginState::Loaded {
                        report.diagnostics.push(text.clone());
                    }
                }
                plugin.diagnostics.push(Diagnostic { plugin: plugin.id.clone(), text });
            }
        }
    }
}

/// The bytes of a component, shared.
pub type ComponentBytes = Arc<[u8]>;

#[cfg(test)]
mod tests;
