//! `creel plugins grants`: what each plugin asks for, and what it was granted. Runs nothing of it.

use std::collections::{BTreeMap, BTreeSet};

use plugin_host::grant::Capability;
use serde_json::{Value, json};

use super::describe::{MAX_WORDS, Subject};
use super::switch::require_known;
use super::{granted, wanted};
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::{Output, Table};
use crate::wiring::plugins;
use plugin_host::manifest;

/// One thing that a plugin asks for or has.
#[derive(Debug, Default)]
struct Row {
    /// Whether its manifest or its component asks for it.
    asks: bool,
    /// What it has; none: nothing.
    granted: Option<String>,
}

pub(super) async fn run(context: &Context, id: Option<&str>, as_json: bool, output: &Output) -> Result<Code, Failure> {
    let id = id.map(manifest::parse_id).transpose().map_err(|error| Failure::usage(error.to_string()))?;
    if let Some(id) = &id {
        require_known(context, id).await?;
    }
    let config = &context.loaded.config;
    let settings = plugins::settings(config, context.locations.environment());
    let plan = plugins::survey(super::sources(context, config, Vec::new())?, settings.clone()).await?;
    let is_meant = |subject: &Subject<'_>| id.is_none() || subject.report.id == id;
    let subjects = plan.reports.iter().filter(|report| report.id.is_some()).map(|report| Subject::new(report, &settings));
    let subjects: Vec<Subject<'_>> = subjects.filter(is_meant).collect();
    if as_json {
        output.value(&subjects.iter().map(as_value).collect::<Vec<_>>());
        return Ok(Code::Success);
    }
    let mut table = Table::new(&["plugin", "kind", "asks", "granted"]);
    let mut is_empty = true;
    for subject in &subjects {
        for (kind, row) in rows(subject) {
            is_empty = false;
            let asks = if row.asks { "yes" } else { "-" };
            table.row([subject.id(), kind, asks.to_owned(), row.granted.unwrap_or_else(|| "no".to_owned())]);
        }
    }
    if is_empty {
        output.line("no plugin asks for anything, and none was granted anything");
        return Ok(Code::Success);
    }
    output.line(table.to_string());
    for subject in subjects.iter().filter(|subject| !subject.wanted().is_empty()) {
        output.hint(format!("`creel plugins grant {0} --all` grants all that {0} asks for", subject.id()));
    }
    Ok(Code::Success)
}

/// By kind: what is asked for, by the manifest or by what the component imports, and what was granted.
fn rows(subject: &Subject<'_>) -> BTreeMap<String, Row> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let report = subject.report;
    let of_manifest = report.manifest.iter().flat_map(|manifest| manifest.capabilities.capabilities.iter().copied());
    let of_component = report.component.iter().flat_map(|component| component.inspection.capabilities());
    for capability in of_manifest.chain(of_component).collect::<BTreeSet<Capability>>() {
        rows.entry(capability.key().to_owned()).or_default().asks = true;
    }
    let resolution = wanted::resolve(report, &subject.settings);
    for (kind, what) in resolution.iter().flat_map(|resolution| granted::lines(&resolution.grants)) {
        let row = rows.entry(kind.to_owned()).or_default();
        row.granted = Some(row.granted.take().map_or_else(|| what.clone(), |before| format!("{before}; {what}")));
    }
    // What is granted without a word more, an empty list of secrets for example, is granted.
    for capability in resolution.iter().flat_map(|it| Capability::all().filter(|capability| it.grants.covers(*capability))) {
        rows.entry(capability.key().to_owned()).or_default().granted.get_or_insert_with(|| "yes".to_owned());
    }
    for (kind, key) in [("conversation", "allowConversationAccess"), ("prompt", "allowPromptInjection")] {
        let behind: BTreeSet<&str> = subject
            .handlers()
            .iter()
            .filter(|handler| wanted::is_behind(report, &subject.settings, handler.hook, key))
            .map(|handler| handler.hook.name())
            .collect();
        if behind.is_empty() {
            continue;
        }
        let is_open = subject.handlers().iter().all(|handler| subject.denied_by(handler) != Some(key));
        let names: Vec<&str> = behind.into_iter().collect();
        let granted = is_open.then(|| hooks::fault::one_line(&names.join(", "), MAX_WORDS));
        rows.insert(kind.to_owned(), Row { asks: true, granted });
    }
    rows
}

fn as_value(subject: &Subject<'_>) -> Value {
    let row = |(kind, row): (String, Row)| json!({ "kind": kind, "asks": row.asks, "granted": row.granted });
    let id = subject.id();
    json!({
        "id": id,
        "grants": rows(subject).into_iter().map(row).collect::<Vec<_>>(),
        "toGrant": wanted::as_json(&id, &subject.wanted()),
    })
}
