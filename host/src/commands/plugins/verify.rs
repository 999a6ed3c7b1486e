//! `creel plugins verify`: compares installed plugins with `creel.lock`.

use hooks::fault::one_line as clean;
use installer::{Layout, Verified, VerifyError};
use plugin_host::manifest;
use serde_json::{Value, json};

use super::describe::MAX_WORDS;
use crate::args::VerifyArgs;
use crate::commands::Context;
use crate::exit::{Code, Failure};
use crate::terminal::{Output, Table};

pub(super) async fn run(context: &Context, args: &VerifyArgs, output: &Output) -> Result<Code, Failure> {
    let layout = Layout::new(context.locations.state_dir());
    let verified = tokio::task::spawn_blocking(move || installer::verify(&layout)).await;
    let verified = verified.map_err(|error| Failure::internal(format!("comparing plugins failed: {error}")))?;
    let mut verified = verified.map_err(|error| match error {
        VerifyError::Lock(error) => Failure::new(Code::Plugin, error.to_string()),
        VerifyError::Guard(_) => Failure::new(Code::RunFailed, error.to_string()),
    })?;
    if let Some(id) = &args.id {
        let id = manifest::parse_id(id).map_err(|error| Failure::usage(error.to_string()))?;
        verified.retain(|plugin| plugin.id == id);
        if verified.is_empty() {
            return Err(Failure::usage(format!("there is no installed plugin `{id}`")));
        }
    }
    if args.json {
        output.value(&verified.iter().map(as_json).collect::<Vec<Value>>());
    } else if verified.is_empty() {
        output.note("No plugins are installed.");
    } else {
        tell(&verified, output);
    }
    let has_changed = verified.iter().any(|plugin| !plugin.changed.is_empty());
    Ok(if has_changed { Code::Plugin } else { Code::Success })
}

fn tell(verified: &[Verified], output: &Output) {
    let mut table = Table::new(&["plugin", "version", "state", "signer", "installed", "source"]);
    for plugin in verified {
        let entry = plugin.entry.as_ref();
        let of = |text: Option<String>| text.map_or_else(|| "-".to_owned(), |text| clean(&text, MAX_WORDS));
        table.row([
            plugin.id.to_string(),
            of(entry.and_then(|entry| entry.version.clone())),
            state(plugin).to_owned(),
            of(entry.and_then(|entry| entry.signer.as_ref().map(ToString::to_string))),
            of(entry.map(|entry| entry.installed_at.clone())),
            of(entry.map(|entry| entry.source.path.display().to_string())),
        ]);
    }
    output.line(table.to_string());
    for plugin in verified {
        plugin.changed.iter().for_each(|changed| output.error(format!("plugin `{}`: {changed}", plugin.id)));
    }
}

fn state(plugin: &Verified) -> &'static str {
    match (&plugin.entry, plugin.changed.is_empty()) {
        (None, _) => "unlocked",
        (Some(_), true) => "as installed",
        (Some(_), false) => "changed",
    }
}

fn as_json(plugin: &Verified) -> Value {
    json!({
        "id": plugin.id,
        "state": state(plugin),
        "entry": plugin.entry,
        "changed": plugin.changed.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
