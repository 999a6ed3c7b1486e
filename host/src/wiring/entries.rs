//! `plugins.entries` held against the plugins that are there: for `creel config check`. Reads manifests; no component is opened, and no
//! code of a plugin runs.

use config::{ConfigErrors, KeyPath, Loaded, Locations};
use plugin_host::discovery::{self, Discovery, Found};
use plugin_host::plan::{EntryFinding, EntryProblem, check_entries};
use serde_json::Value;

use super::{grants, plugins};
use crate::exit::{Code, Failure};

/// What was found.
pub struct Checked {
    /// What keeps a plugin from serving.
    pub errors: Option<ConfigErrors>,
    /// What else an operator should know, one line each.
    pub warnings: Vec<String>,
}

/// Checks the entries.
///
/// # Errors
/// When the workspace of the default agent, where plugins are looked for too, has no place.
pub fn check(locations: &Locations, loaded: &Loaded) -> Result<Checked, Failure> {
    let config = &loaded.config;
    let settings = plugins::settings(config, locations.environment());
    let discovered = if settings.switches.enabled {
        let workspace = locations.workspace(config, &config.default_agent());
        let workspace = workspace.map_err(|error| Failure::new(Code::Config, error.to_string()))?;
        discovery::discover(&plugins::sources(locations, config, &workspace, Vec::new()))
    } else {
        Discovery::default()
    };
    let ids: Vec<&str> = discovered.found.iter().filter_map(id_of).collect();
    let (mut errors, mut warnings) = (grants::problems(config), Vec::new());
    for finding in check_entries(&discovered, &settings) {
        let config = settings.entries.get(&finding.entry).map(|entry| Value::Object(entry.config.clone())).unwrap_or_default();
        let (key, phrase) = (key(&finding, &config), phrase(&finding, &ids));
        match finding.is_error {
            true => errors.push((key, phrase)),
            false => warnings.push(format!("{}: {phrase}", loaded.place(&key))),
        }
    }
    Ok(Checked { errors: loaded.errors(errors), warnings })
}

fn id_of(found: &Found) -> Option<&str> {
    match found {
        Found::Plugin(candidate) => Some(candidate.manifest.id.as_str()),
        Found::Failure(failure) => failure.id.as_ref().map(domain::PluginId::as_str),
    }
}

/// The key that is to be changed.
fn key(finding: &EntryFinding, config: &Value) -> KeyPath {
    let entry = KeyPath::of("plugins.entries").key(&finding.entry);
    match &finding.problem {
        EntryProblem::Setting { pointer, .. } => entry.key("config").join_pointer(pointer, config),
        EntryProblem::Settings(_) => entry.key("config"),
        EntryProblem::RequiredOff { .. } => entry.key("required"),
        EntryProblem::NotFound { .. } | EntryProblem::Unusable { .. } | EntryProblem::Renamed { .. } => entry,
    }
}

fn phrase(finding: &EntryFinding, ids: &[&str]) -> String {
    let nearest = match finding.problem {
        EntryProblem::NotFound { .. } => config::nearest(&finding.entry, ids.iter().copied()),
        _ => None,
    };
    let suggestion = nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"));
    format!("{}{suggestion}", finding.problem)
}
