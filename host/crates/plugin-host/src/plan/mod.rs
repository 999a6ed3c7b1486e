//! What will be loaded: brings together the plugins that were found and the operator's settings, and says of every plugin whether it
//! loads, and why not. Reads component files; compiles nothing, runs nothing. One plugin's fault never changes what becomes of another.

mod aliases;
mod entries;
mod load;
mod report;
mod review;
mod settings;

use std::path::PathBuf;
use std::sync::Arc;

use domain::{JsonText, PluginId};
use hooks::access::{Access, Diagnostic};

use crate::discovery::{Candidate, Discovery, DiscoveryError, Failure, Found, Origin, Sources, discover};
use crate::enablement::{Subject, decide};
use crate::grant::{Grants, resolve};
use crate::inspect::Inspection;
use crate::limits::RequestedLimits;
use crate::manifest::{HandlerEntry, Lifetime, Manifest};

pub use entries::{EntryFinding, EntryProblem, check_entries};
pub use load::{LoadError, OpenedComponent, open_component, open_file};
pub use report::{PluginReport, PluginState};
use review::Duplicate;
pub use settings::{FieldsError, PluginSettings, PluginsSettings};

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
    /// What the operator should know about the settings themselves, and about what is no plugin; one sentence each.
    pub diagnostics: Vec<String>,
}

/// Finds plugins and plans. With `plugins.enabled: false` nothing is looked for.
pub fn survey(sources: &Sources, settings: &PluginsSettings) -> Plan {
    plan(if settings.switches.enabled { discover(sources) } else { Discovery::default() }, settings)
}

/// Plans what becomes of the plugins that were found. Reads components, so an asynchronous caller should not wait for it on its own
/// thread.
pub fn plan(discovery: Discovery, settings: &PluginsSettings) -> Plan {
    let (settings, diagnostics) = aliases::apply(&discovery, settings);
    let plan = Plan { diagnostics, ..Plan::default() };
    let mut planner = Planner { settings: &settings, plan, duplicates: Vec::new() };
    for found in discovery.found {
        match found {
            Found::Plugin(candidate) => planner.candidate(*candidate),
            Found::Failure(failure) => planner.failure(*failure),
        }
    }
    let Planner { mut plan, duplicates, .. } = planner;
    review::missing(&mut plan, &settings);
    review::duplicates(&mut plan, &duplicates);
    review::requirements(&mut plan);
    review::resources(&mut plan, &discovery.packages);
    plan
}

/// What the decision ladder asks about a plugin.
fn subject<'a>(candidate: &'a Candidate, own: &PluginSettings) -> Subject<'a> {
    let manifest = &candidate.manifest;
    Subject {
        id: manifest.id.as_str(),
        origin: candidate.origin,
        kinds: &manifest.kinds,
        enabled_by_default: manifest.enabled_by_default,
        enabled: own.enabled,
    }
}

struct Planner<'a> {
    settings: &'a PluginsSettings,
    plan: Plan,
    duplicates: Vec<Duplicate>,
}

impl Planner<'_> {
    fn candidate(&mut self, candidate: Candidate) {
        let settings = self.settings.of(&candidate.manifest.id);
        let mut report = PluginReport::of(&candidate, settings.required);
        let decision = decide(&subject(&candidate, &settings), &self.settings.switches);
        if !decision.is_on() {
            report.state = PluginState::Disabled(decision.reason);
            return self.plan.reports.push(report);
        }
        report.state = match self.load(candidate, &settings, &mut report) {
            Ok(plugin) => {
                self.plan.plugins.push(plugin);
                PluginState::Loaded
            }
            Err(error) => PluginState::failed(&error),
        };
        self.plan.reports.push(report);
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
        if let DiscoveryError::Duplicate { id, first, second } = &failure.error {
            self.duplicates.push(Duplicate { id: id.clone(), first: first.clone(), second: second.clone() });
        }
        let required = failure.id.as_ref().is_some_and(|id| self.settings.of(id).required);
        self.plan.reports.push(PluginReport::of_failure(failure, required));
    }
}

/// The bytes of a component, shared.
pub type ComponentBytes = Arc<[u8]>;

#[cfg(test)]
mod tests;
