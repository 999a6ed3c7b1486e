//! `creel plugins validate`: checks a plugin as loading would, compilation included. Whether the operator switched it on is not asked.

use std::path::Path;
use std::sync::Arc;

use plugin_host::plan::{self, Plan, PluginState, PluginsSettings};
use plugin_host::{Ports, discovery};
use serde_json::Value;
use sessions::{SqlitePluginKv, SqliteSessions, StateDir};

use super::describe::Subject;
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::system::SystemClock;
use crate::terminal::{Output, Spinner};
use crate::wiring::Progress;
use crate::wiring::plugins::{self, PluginStatus};

pub(super) async fn run(context: &Context, path: &Path, as_json: bool, output: &Output) -> Result<Code, Failure> {
    if !path.exists() {
        return Err(Failure::usage(format!("{} does not exist", path.display())));
    }
    let mut settings = plugins::settings(&context.loaded.config);
    let plan = plan_all(path, &mut settings)?;
    let spinner = Spinner::start(output, "checking");
    let state = StateDir::new(context.locations.state_dir());
    let ports = Ports {
        kv: Arc::new(SqlitePluginKv::new(&state, Arc::new(SystemClock))),
        session_extensions: Arc::new(SqliteSessions::new(state)),
    };
    let progress: Progress = Box::new(move |text: &str| spinner.say(text));
    let statuses = plugins::check(plan, context.locations.cache_dir(), ports, Some(progress)).await?;
    if as_json {
        let all = statuses.iter().map(|status| Subject::new(&status.report, &settings).as_json());
        output.value(&all.collect::<Vec<Value>>());
    }
    Ok(tell(&statuses, path, as_json, output))
}

/// Plans everything at a place as if it were on.
fn plan_all(path: &Path, settings: &mut PluginsSettings) -> Result<Plan, Failure> {
    let path = std::path::absolute(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    let discovered = discovery::locate(&path);
    let mut entries = std::mem::take(&mut settings.entries);
    settings.switches = Default::default();
    for found in &discovered.found {
        if let discovery::Found::Plugin(candidate) = found {
            let id = candidate.manifest.id.as_str();
            let mut entry = entries.remove(id).unwrap_or_default();
            entry.enabled = Some(true);
            settings.entries.insert(id.to_owned(), entry);
        }
    }
    Ok(plan::plan(discovered, settings))
}

fn tell(statuses: &[PluginStatus], path: &Path, as_json: bool, output: &Output) -> Code {
    let mut is_valid = !statuses.is_empty();
    for PluginStatus { report, .. } in statuses {
        match &report.state {
            PluginState::Loaded if as_json => {}
            PluginState::Loaded => output.line(format!("{} is valid.", plugins::name(report))),
            PluginState::Disabled(why) | PluginState::Failed(why) => {
                is_valid = false;
                output.error(plugins::sentence(report, why));
            }
        }
        report.diagnostics.iter().for_each(|text| output.warning(text));
    }
    if statuses.is_empty() {
        output.error(format!("{} holds no plugin", path.display()));
    }
    if is_valid { Code::Success } else { Code::Plugin }
}
