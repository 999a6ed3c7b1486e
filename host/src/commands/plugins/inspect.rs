//! `creel plugins inspect`: the whole truth about a plugin before any of its code runs. Reads manifest and component, compiles nothing,
//! and says what a plugin is also when it is off or does not load.

use std::path::{Path, PathBuf};

use domain::PluginId;
use plugin_host::discovery::{self, Candidate, Discovery, Found, Sources};
use plugin_host::plan::{self, OpenedComponent, PluginReport, PluginsSettings};
use serde_json::Value;

use super::circuits::Circuits;
use super::describe::Subject;
use super::{unbuilt, wanted};
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::Output;
use crate::wiring::plugins;

pub(super) async fn run(context: &Context, plugin: String, as_json: bool, output: &Output) -> Result<Code, Failure> {
    let settings = plugins::settings(&context.loaded.config, context.locations.environment());
    let sources = super::sources(context, &context.loaded.config, Vec::new())?;
    // Components are read here, some of them large.
    let shared = settings.clone();
    let looked = tokio::task::spawn_blocking(move || look(&plugin, &sources, &shared)).await;
    let (reports, hint) = looked.map_err(|error| Failure::internal(format!("looking at plugins failed: {error}")))??;
    let circuits = Circuits::load(context, output).await;
    let subjects: Vec<Subject<'_>> =
        reports.iter().map(|report| Subject::new(report, &settings).with_circuits(&circuits)).collect();
    if as_json {
        output.value(&subjects.iter().map(Subject::as_json).collect::<Vec<Value>>());
    } else {
        output.line(subjects.iter().map(|subject| subject.in_full(output)).collect::<Vec<_>>().join("\n\n"));
    }
    if let Some(hint) = hint {
        output.hint(hint);
    }
    let is_unreadable = reports.iter().any(|report| report.component.is_none());
    Ok(if is_unreadable { Code::Plugin } else { Code::Success })
}

/// What there is to say of a plugin, and what would help if it was not built.
fn look(plugin: &str, sources: &Sources, settings: &PluginsSettings) -> Result<(Vec<PluginReport>, Option<String>), Failure> {
    let path = Path::new(plugin);
    let discovery = if path.exists() { super::locate(path)? } else { find(discovery::discover(sources), plugin)? };
    let hint = unbuilt::hint(&discovery);
    Ok((reports(discovery, settings), hint))
}

/// What was found of one id.
fn find(discovery: Discovery, id: &str) -> Result<Discovery, Failure> {
    let is_meant = |found: &Found| id_of(found).is_some_and(|it| it.as_str() == id);
    let found: Vec<Found> = discovery.found.into_iter().filter(is_meant).collect();
    if found.is_empty() {
        return Err(Failure::usage(format!("there is no plugin `{id}`, and no file or directory of that name"))
            .hint("`creel plugins list` shows what was found"));
    }
    Ok(Discovery { found, ..Discovery::default() })
}

fn id_of(found: &Found) -> Option<&PluginId> {
    match found {
        Found::Plugin(candidate) => Some(&candidate.manifest.id),
        Found::Failure(failure) => failure.id.as_ref(),
    }
}

/// Reports with their components, as far as these can be read.
fn reports(discovery: Discovery, settings: &PluginsSettings) -> Vec<PluginReport> {
    let candidates: Vec<Candidate> = discovery.found.iter().filter_map(candidate).cloned().collect();
    // The entries of other plugins have nothing to say here.
    let mut own = settings.clone();
    own.entries.retain(|id, _| candidates.iter().any(|candidate| candidate.manifest.id.as_str() == id));
    let mut reports = plan::plan(discovery, &own).reports;
    for report in reports.iter_mut().filter(|report| report.component.is_none()) {
        let candidate = candidates.iter().find(|candidate| Some(candidate.place()) == report.place);
        report.component = open(candidate, report.place.as_ref());
        let of_plugin = report.id.as_ref().map(|id| settings.of(id)).unwrap_or_default();
        report.resolution = wanted::resolve(report, &of_plugin);
    }
    reports
}

fn candidate(found: &Found) -> Option<&Candidate> {
    match found {
        Found::Plugin(candidate) => Some(candidate),
        Found::Failure(_) => None,
    }
}

/// The component of a plugin that is off, or of a file without a manifest. Why it cannot be read is in the report already.
fn open(candidate: Option<&Candidate>, place: Option<&PathBuf>) -> Option<OpenedComponent> {
    if let Some(candidate) = candidate {
        return plan::open_component(candidate).ok();
    }
    let place = place.filter(|place| place.is_file())?;
    plan::open_file(place.parent()?, Path::new(place.file_name()?)).ok()
}
