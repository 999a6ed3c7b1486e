//! Checks `plugins.entries` against the plugins that are there, as far as manifests tell: whether there is a plugin for an entry, whether
//! its settings fit its schema, whether a required one runs. Opens no component, compiles nothing, runs nothing.

use std::collections::BTreeMap;

use domain::PluginId;

use super::{PluginSettings, PluginsSettings, aliases, review, subject};
use crate::discovery::{Candidate, Discovery, DiscoveryError, Found};
use crate::enablement::decide;
use crate::schema::{ConfigError, ConfigSchema};

/// Something about one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryFinding {
    /// The key of the entry, as it stands in the configuration.
    pub entry: String,
    /// What.
    pub problem: EntryProblem,
    /// Whether a run suffers from it: a plugin that should serve does not.
    pub is_error: bool,
}

/// What is the matter with an entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryProblem {
    /// There is no plugin for it.
    #[error("{}no plugin with this id was found", required(*is_required))]
    NotFound {
        /// Whether the host does not serve without it.
        is_required: bool,
    },
    /// There is something with this id that is no plugin.
    #[error("{}{why}", required(*is_required))]
    Unusable {
        /// Whether the host does not serve without it.
        is_required: bool,
        /// Why, a sentence.
        why: String,
    },
    /// The plugin has another id now.
    #[error("the plugin is called `{to}` now; rename the entry")]
    Renamed {
        /// Its id.
        to: PluginId,
    },
    /// It is required and does not run.
    #[error("it is required, so nothing would run: {why}; let it run, or remove `required`")]
    RequiredOff {
        /// Why it does not run.
        why: String,
    },
    /// One of its settings does not fit.
    #[error("{problem}")]
    Setting {
        /// Where, as a JSON pointer below `config`.
        pointer: String,
        /// What is wrong; without the value.
        problem: String,
    },
    /// Its settings as a whole cannot be used, or the schema for them.
    #[error("{0}")]
    Settings(String),
}

fn required(is_required: bool) -> &'static str {
    if is_required { "it is required, so nothing would run: " } else { "" }
}

/// Checks all entries, in the order of their ids. With `plugins.enabled: false` nothing is looked for, so only what is required is told.
pub fn check_entries(discovery: &Discovery, settings: &PluginsSettings) -> Vec<EntryFinding> {
    let known = Known::of(discovery);
    let mut findings = Vec::new();
    for (id, own) in &settings.entries {
        let mut add = |problem, is_error| findings.push(EntryFinding { entry: id.clone(), problem, is_error });
        if !settings.switches.enabled {
            if own.required {
                add(EntryProblem::RequiredOff { why: "plugins.enabled is false".to_owned() }, true);
            }
            continue;
        }
        match known.find(id) {
            Place::Nowhere if own.required && own.enabled == Some(false) => {
                add(EntryProblem::RequiredOff { why: format!("plugins.entries.{id}.enabled is false") }, true);
            }
            Place::Nowhere => add(EntryProblem::NotFound { is_required: own.required }, own.required),
            Place::Unusable(why) => add(EntryProblem::Unusable { is_required: own.required, why }, own.required),
            Place::Here(candidate) => {
                if candidate.manifest.id.as_str() != id {
                    add(EntryProblem::Renamed { to: candidate.manifest.id.clone() }, false);
                }
                let decision = decide(&subject(candidate, own), &settings.switches);
                if own.required && !decision.is_on() {
                    add(EntryProblem::RequiredOff { why: decision.reason.clone() }, true);
                }
                settings_problems(candidate, own).into_iter().for_each(|problem| add(problem, decision.is_on()));
            }
        }
    }
    findings
}

/// Plugins by the ids under which they have settings.
struct Known<'a> {
    candidates: BTreeMap<&'a str, &'a Candidate>,
    failures: BTreeMap<&'a str, String>,
    aliases: BTreeMap<String, PluginId>,
}

/// What there is for an entry.
enum Place<'a> {
    Here(&'a Candidate),
    Unusable(String),
    Nowhere,
}

impl<'a> Known<'a> {
    fn of(discovery: &'a Discovery) -> Self {
        let mut known = Self { candidates: BTreeMap::new(), failures: BTreeMap::new(), aliases: aliases::aliases(discovery) };
        for found in &discovery.found {
            match found {
                Found::Plugin(candidate) => {
                    known.candidates.insert(candidate.manifest.id.as_str(), candidate);
                }
                Found::Failure(failure) => {
                    let Some(id) = &failure.id else { continue };
                    let why = known.failures.entry(id.as_str());
                    why.and_modify(|first| {
                        if let DiscoveryError::Duplicate { second, .. } = &failure.error {
                            first.push_str(&format!("; {}", review::not_taken(second)));
                        }
                    })
                    .or_insert_with(|| failure.error.to_string());
                }
            }
        }
        known
    }

    fn find(&self, id: &str) -> Place<'a> {
        let current = self.aliases.get(id).map_or(id, PluginId::as_str);
        match (self.candidates.get(current), self.failures.get(id)) {
            (Some(candidate), _) => Place::Here(candidate),
            (None, Some(why)) => Place::Unusable(why.clone()),
            (None, None) => Place::Nowhere,
        }
    }
}

fn settings_problems(candidate: &Candidate, own: &PluginSettings) -> Vec<EntryProblem> {
    let schema = match ConfigSchema::compile(&candidate.manifest.config_schema) {
        Ok(schema) => schema,
        Err(error) => return vec![EntryProblem::Settings(error.to_string())],
    };
    match schema.settings(candidate.manifest.id.as_str(), &own.config) {
        Ok(_) => Vec::new(),
        Err(ConfigError::Violations { violations, more }) => {
            let setting = |it: crate::schema::Violation| EntryProblem::Setting { pointer: it.pointer, problem: it.problem };
            let rest = (more > 0).then(|| EntryProblem::Settings(format!("{more} more settings do not fit")));
            violations.into_iter().map(setting).chain(rest).collect()
        }
        Err(error @ (ConfigError::TooLong { .. } | ConfigError::TooComplex { .. })) => {
            vec![EntryProblem::Settings(error.to_string())]
        }
    }
}
