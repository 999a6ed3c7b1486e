//! `creel plugins list`: every plugin that was found, with its state and the reason for it.

use std::path::PathBuf;

use serde_json::Value;

use super::circuits::Circuits;
use super::describe::Subject;
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::{Output, Table};
use crate::wiring::plugins;

pub(super) async fn run(context: &Context, plugin_dirs: Vec<PathBuf>, as_json: bool, output: &Output) -> Result<Code, Failure> {
    let config = &context.loaded.config;
    let settings = plugins::settings(config, context.locations.environment());
    let sources = super::sources(context, config, super::existing(plugin_dirs)?)?;
    let plan = plugins::survey(sources, settings.clone()).await?;
    plan.diagnostics.iter().for_each(|text| output.warning(text));
    let circuits = Circuits::load(context, output).await;
    let subjects: Vec<Subject<'_>> =
        plan.reports.iter().map(|report| Subject::new(report, &settings).with_circuits(&circuits)).collect();
    if as_json {
        output.value(&subjects.iter().map(Subject::as_json).collect::<Vec<Value>>());
    } else if subjects.is_empty() {
        let place = context.locations.state_dir().join("plugins");
        output.note("No plugins were found.");
        output.hint(format!("put one into {}, or name it in plugins.load.paths", place.display()));
    } else {
        output.line(table(&subjects).to_string());
        let remarks: Vec<String> = subjects.iter().flat_map(remarks).collect();
        if !remarks.is_empty() {
            output.line(format!("\n{}", remarks.join("\n")));
        }
    }
    Ok(Code::Success)
}

fn table(subjects: &[Subject<'_>]) -> Table {
    let mut table = Table::new(&["plugin", "version", "state", "hooks", "tools", "origin", "place"]);
    for subject in subjects {
        table.row(subject.row());
    }
    table
}

/// What an operator should know or do, one line each.
fn remarks(subject: &Subject<'_>) -> Vec<String> {
    let report = subject.report;
    let why = subject.reason().map(|why| plugins::sentence(report, why));
    let notes = report.diagnostics.iter().cloned().chain(subject.denials());
    why.into_iter().chain(notes).chain(subject.troubles()).collect()
}
