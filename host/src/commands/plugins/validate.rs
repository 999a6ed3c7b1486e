//! `creel plugins validate`: checks a plugin as loading would, compilation included. Whether the operator switched it on is not asked, and
//! what the operator does not grant is no fault of the plugin: it is checked as if it were granted, and the lines that would grant it are
//! told.

use std::path::Path;
use std::sync::Arc;

use plugin_host::discovery::{Candidate, Discovery, Found};
use plugin_host::grant;
use plugin_host::plan::{self, Plan, PluginState, PluginsSettings};
use plugin_host::{HostSettings, Ports};
use serde_json::Value;
use sessions::{SqlitePluginKv, SqliteSessions, StateDir};

use super::describe::Subject;
use super::{unbuilt, wanted};
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::system::SystemClock;
use crate::terminal::{Output, Spinner};
use crate::wiring::Progress;
use crate::wiring::plugins;

/// With which rights plugins are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rights {
    /// All that they ask for.
    AsAsked,
    /// Those that the configuration grants.
    AsConfigured,
}

pub(super) async fn run(context: &Context, path: &Path, rights: Rights, as_json: bool, output: &Output) -> Result<Code, Failure> {
    if !path.exists() {
        return Err(Failure::usage(format!("{} does not exist", path.display())));
    }
    let discovered = super::locate(path)?;
    let hint = unbuilt::hint(&discovered);
    let settings = as_selected(&discovered, plugins::settings(&context.loaded.config, context.locations.environment()));
    // Components are read here, some of them large.
    let shared = settings.clone();
    let planned = tokio::task::spawn_blocking(move || plan_all(discovered, &shared, rights)).await;
    let plan = planned.map_err(|error| Failure::internal(format!("looking at plugins failed: {error}")))?;
    let spinner = Spinner::loading(output, "checking");
    let mut statuses = plugins::check(plan, host_settings(context, spinner), ports(context)).await?;
    for status in &mut statuses {
        let own = status.report.id.as_ref().map(|id| settings.of(id)).unwrap_or_default();
        status.report.resolution = wanted::resolve(&status.report, &own);
    }
    let subjects: Vec<Subject<'_>> = statuses.iter().map(|status| Subject::new(&status.report, &settings)).collect();
    if as_json {
        output.value(&subjects.iter().map(Subject::as_json).collect::<Vec<Value>>());
    }
    let code = tell(&subjects, path, as_json, output);
    if let Some(hint) = hint.filter(|_| code != Code::Success) {
        output.hint(hint);
    }
    Ok(code)
}

fn host_settings(context: &Context, spinner: Spinner) -> HostSettings {
    let progress: Progress = Box::new(move |text: &str| spinner.say(text));
    let compiler = plugins::own_compiler();
    plugins::host_settings(&context.loaded.config, context.locations.cache_dir(), compiler, Some(progress))
}

fn ports(context: &Context) -> Ports {
    let state = StateDir::new(context.locations.state_dir());
    let sessions = Arc::new(SqliteSessions::new(state.clone()));
    Ports {
        kv: Arc::new(SqlitePluginKv::new(&state, Arc::new(SystemClock))),
        session_extensions: Arc::clone(&sessions) as _,
        sessions,
        network: egress::Network::system(),
    }
}

/// The settings of the plugins at a place, with all of them selected.
fn as_selected(discovered: &Discovery, mut settings: PluginsSettings) -> PluginsSettings {
    let mut entries = std::mem::take(&mut settings.entries);
    settings.switches = Default::default();
    for candidate in candidates(discovered) {
        let id = candidate.manifest.id.as_str();
        let mut entry = entries.remove(id).unwrap_or_default();
        entry.enabled = Some(true);
        settings.entries.insert(id.to_owned(), entry);
    }
    settings
}

/// Plans everything at a place.
fn plan_all(discovered: Discovery, settings: &PluginsSettings, rights: Rights) -> Plan {
    let mut settings = settings.clone();
    if rights == Rights::AsAsked {
        for candidate in candidates(&discovered) {
            let Some(entry) = settings.entries.get_mut(candidate.manifest.id.as_str()) else { continue };
            // A component that cannot be read is told by the plan.
            let Ok(component) = plan::open_component(candidate) else { continue };
            let asked = &candidate.manifest.capabilities;
            let missing = grant::resolve(asked, &component.inspection.capabilities(), &entry.grants).denied;
            entry.grants = std::mem::take(&mut entry.grants).and(&missing, asked);
        }
    }
    plan::plan(discovered, &settings)
}

fn candidates(discovered: &Discovery) -> impl Iterator<Item = &Candidate> {
    discovered.found.iter().filter_map(|found| match found {
        Found::Plugin(candidate) => Some(&**candidate),
        Found::Failure(_) => None,
    })
}

fn tell(subjects: &[Subject<'_>], path: &Path, as_json: bool, output: &Output) -> Code {
    let mut is_valid = !subjects.is_empty();
    for subject in subjects {
        let report = subject.report;
        match &report.state {
            PluginState::Loaded if as_json => {}
            PluginState::Loaded => output.line(valid(subject)),
            PluginState::Disabled(why) | PluginState::Failed(why) => {
                is_valid = false;
                output.error(plugins::sentence(report, why));
            }
        }
        report.diagnostics.iter().chain(&not_offered(subject)).for_each(|text| output.warning(text));
    }
    if subjects.is_empty() {
        output.error(format!("{} holds no plugin", path.display()));
    }
    if is_valid { Code::Success } else { Code::Plugin }
}

/// That a plugin is valid, and the entry that would give it what it asks for and does not get.
fn valid(subject: &Subject<'_>) -> String {
    let sentence = format!("{} is valid.", plugins::name(subject.report));
    let wanted = subject.wanted();
    if wanted.is_empty() {
        return sentence;
    }
    let entry = wanted::entry(&subject.id(), &wanted, "  ");
    format!("{sentence} It asks for what the configuration does not grant; to grant it, add below plugins.entries:\n{entry}")
}

/// Capabilities that a plugin which loads asks for, and that nobody can grant.
fn not_offered(subject: &Subject<'_>) -> Vec<String> {
    let denied = subject.report.resolution.iter().flat_map(|resolution| &resolution.denied);
    let unknown = denied.filter(|capability| !capability.offered() && subject.report.state == PluginState::Loaded);
    let name = plugins::name(subject.report);
    unknown.map(|it| format!("{name} asks for `{}`, which this version of the host does not offer", it.key())).collect()
}
