//! `creel plugins reload`: tells every process that works with the state directory to load its plugins again, and says what came of it.

use serde_json::json;

use crate::commands::Context;
use crate::control::client::{self, Told};
use crate::exit::{Code, Failure};
use crate::terminal::Output;
use crate::wiring::{Change, Changed};

pub(super) async fn run(context: &Context, as_json: bool, output: &Output) -> Result<Code, Failure> {
    let state_dir = context.locations.state_dir();
    let told = client::reload(state_dir).await.map_err(|error| {
        Failure::new(Code::RunFailed, format!("running processes of {} cannot be found: {error}", state_dir.display()))
    })?;
    if as_json {
        let of = |told: &Told| json!({ "process": told.process, "plugins": told.answer.plugins, "error": told.answer.error });
        output.value(&told.iter().map(of).collect::<Vec<_>>());
    } else if told.is_empty() {
        output.line(format!("no process runs with {}; plugins are loaded when one starts", state_dir.display()));
    } else {
        told.iter().for_each(|told| tell(told, output));
    }
    let has_failed = |told: &Told| told.answer.error.is_some() || told.answer.plugins.iter().any(|change| change.why.is_some());
    Ok(if told.iter().any(has_failed) { Code::Plugin } else { Code::Success })
}

fn tell(told: &Told, output: &Output) {
    let process = told.process;
    if let Some(error) = &told.answer.error {
        return output.error(format!("process {process}: nothing has changed: {error}"));
    }
    let changed: Vec<&Change> = told.answer.plugins.iter().filter(|change| change.what != Changed::Unchanged).collect();
    for change in &changed {
        output.line(format!("process {process}: {change}"));
    }
    match told.answer.plugins.len() - changed.len() {
        0 if changed.is_empty() => output.line(format!("process {process}: it has no plugins")),
        0 => {}
        1 => output.line(format!("process {process}: 1 plugin is as before")),
        same => output.line(format!("process {process}: {same} plugins are as before")),
    }
}
