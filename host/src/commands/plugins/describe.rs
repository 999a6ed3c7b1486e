//! A plugin in words: one line, one row, everything, JSON.

use plugin_host::inspect::Import;
use plugin_host::limits::Limits;
use plugin_host::manifest::RequestedLimits;
use plugin_host::plan::{PluginReport, PluginState};
use serde_json::{Value, json};

use crate::terminal::Output;
use crate::wiring::plugins::{self, PluginStatus};

fn state(report: &PluginReport) -> &'static str {
    match report.state {
        PluginState::Loaded => "on",
        PluginState::Disabled(_) => "off",
        PluginState::Failed(_) => "failed",
    }
}

fn version(report: &PluginReport) -> String {
    report.manifest.as_ref().and_then(|manifest| manifest.version.clone()).unwrap_or_else(|| "-".to_owned())
}

fn hook_names(report: &PluginReport) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = report.handlers.iter().map(|handler| handler.hook.name()).collect();
    names.dedup();
    names
}

/// One line, for lists of loaded plugins.
pub(crate) fn one_line(status: &PluginStatus) -> String {
    let report = &status.report;
    let id = report.id.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string);
    match &report.state {
        PluginState::Loaded => {
            let mut does = hook_names(report);
            let tools: Vec<String> = status.tools.iter().map(|tool| format!("tool {tool}")).collect();
            does.extend(tools.iter().map(String::as_str));
            format!("{id:<18} {}", does.join(", "))
        }
        PluginState::Disabled(why) => format!("{id:<18} off: {why}"),
        PluginState::Failed(why) => format!("{id:<18} failed: {why}"),
    }
}

/// A row of `creel plugins list`.
pub(super) fn row(report: &PluginReport) -> [String; 6] {
    [
        report.id.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string),
        version(report),
        report.origin.map_or_else(|| "-".to_owned(), |origin| origin.to_string()),
        if report.required { format!("{}, required", state(report)) } else { state(report).to_owned() },
        report.handlers.len().to_string(),
        report.place.as_ref().map_or_else(|| "-".to_owned(), |place| place.display().to_string()),
    ]
}

/// Everything that is known, without running anything of the plugin.
pub(super) fn full(report: &PluginReport, output: &Output) -> String {
    let heading = format!("{} {}", report.id.as_ref().map_or("?", |id| id.as_str()), version(report));
    let mut lines = vec![output.style().bold().apply_to(heading).to_string()];
    let mut say = |name: &str, text: String| lines.push(format!("  {name:<12} {text}"));
    if let Some(description) = report.manifest.as_ref().and_then(|manifest| manifest.description.as_deref()) {
        say("about", hooks::fault::one_line(description, 300));
    }
    match &report.state {
        PluginState::Loaded => say("state", "on".to_owned()),
        PluginState::Disabled(why) => say("state", format!("off: {why}")),
        PluginState::Failed(why) => say("state", format!("failed: {why}")),
    }
    if let Some(place) = &report.place {
        say("place", place.display().to_string());
    }
    if let Some(component) = &report.component {
        say("component", format!("{} kB, sha256 {}", component.bytes.len() / 1000, component.digest()));
        for handler in &report.handlers {
            let row = handler.hook.row();
            say("hook", format!("{} (priority {}{})", row.name, handler.options.priority, name_of(&handler.handler_name)));
        }
        for tool in report.manifest.iter().flat_map(|manifest| &manifest.tools) {
            say("tool", tool.clone());
        }
        for import in &component.inspection.imports {
            say("imports", import_line(import));
        }
    }
    if let Some(resolution) = &report.resolution {
        for capability in &resolution.denied {
            say("not granted", capability.key().to_owned());
        }
        if let Some(kv) = resolution.grants.kv {
            say("granted", format!("kv, at most {} bytes", kv.max_bytes));
        }
        if let Some(extension) = resolution.grants.session_extension {
            say("granted", format!("sessionExtension, at most {} bytes a value", extension.max_bytes));
        }
    }
    if let Some(manifest) = &report.manifest {
        let limits = Limits::resolve(&manifest.limits, &RequestedLimits::default());
        say(
            "limits",
            format!(
                "memory {} MiB, {} calls at once, log {} kB a call, answers {} kB (before the operator's own)",
                limits.memory_bytes >> 20,
                limits.max_instances,
                limits.log_bytes / 1000,
                limits.output_bytes / 1000
            ),
        );
    }
    for text in &report.diagnostics {
        say("note", text.clone());
    }
    lines.join("\n")
}

fn name_of(handler: &str) -> String {
    if handler.is_empty() { String::new() } else { format!(", handler {handler}") }
}

fn import_line(import: &Import) -> String {
    match import.need.capability() {
        Some(capability) => format!("{} (needs the grant `{}`)", import.name, capability.key()),
        None => import.name.clone(),
    }
}

/// Everything as JSON.
pub(super) fn as_json(report: &PluginReport) -> Value {
    let reason = match &report.state {
        PluginState::Loaded => None,
        PluginState::Disabled(why) | PluginState::Failed(why) => Some(why),
    };
    let component = report.component.as_ref();
    json!({
        "id": report.id,
        "name": report.manifest.as_ref().and_then(|manifest| manifest.name.clone()),
        "version": report.manifest.as_ref().and_then(|manifest| manifest.version.clone()),
        "label": plugins::name(report),
        "origin": report.origin.map(|origin| origin.to_string()),
        "place": report.place,
        "required": report.required,
        "state": state(report),
        "reason": reason,
        "hooks": report.handlers.iter().map(|handler| json!({
            "hook": handler.hook.name(), "handler": handler.handler_name, "priority": handler.options.priority,
        })).collect::<Vec<_>>(),
        "tools": report.manifest.as_ref().map(|manifest| manifest.tools.clone()).unwrap_or_default(),
        "imports": component.map(|component| component.inspection.imports.iter().map(|import| json!({
            "interface": import.name, "grant": import.need.capability().map(|capability| capability.key()),
        })).collect::<Vec<_>>()),
        "notGranted": report.resolution.as_ref().map(|it| it.denied.iter().map(|capability| capability.key()).collect::<Vec<_>>()),
        "sha256": component.map(|component| component.digest()),
        "bytes": component.map(|component| component.bytes.len()),
        "diagnostics": report.diagnostics,
    })
}
