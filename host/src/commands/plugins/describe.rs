//! A plugin in words: one line, one row, everything, JSON. All that a plugin says of itself goes to the terminal as one harmless line.

use hooks::access::Admission;
use hooks::fault::one_line as clean;
use plugin_host::inspect::{Import, Inspection, Need};
use plugin_host::limits::Limits;
use plugin_host::manifest::HandlerEntry;
use plugin_host::plan::{PluginReport, PluginSettings, PluginState, PluginsSettings};
use serde_json::{Value, json};

use crate::terminal::{Output, bytes};
use crate::wiring::plugins::PluginStatus;

/// Longest text of a plugin about itself, in bytes.
const MAX_WORDS: usize = 300;

/// A plugin as an operator sees it: what became of it, under these settings.
pub(super) struct Subject<'a> {
    pub(super) report: &'a PluginReport,
    settings: PluginSettings,
}

impl<'a> Subject<'a> {
    pub(super) fn new(report: &'a PluginReport, settings: &PluginsSettings) -> Self {
        Self { report, settings: report.id.as_ref().map(|id| settings.of(id)).unwrap_or_default() }
    }

    fn id(&self) -> String {
        self.report.id.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string)
    }

    fn version(&self) -> String {
        let version = self.report.manifest.as_ref().and_then(|manifest| manifest.version.as_deref());
        version.map_or_else(|| "-".to_owned(), |version| clean(version, MAX_WORDS))
    }

    fn tools(&self) -> &[String] {
        self.report.manifest.as_ref().map_or(&[], |manifest| &manifest.tools)
    }

    /// Its handlers; of a plugin that does not load those that it would have.
    fn handlers(&self) -> Vec<HandlerEntry> {
        let report = self.report;
        if !report.handlers.is_empty() {
            return report.handlers.clone();
        }
        let mut handlers = report.manifest.as_ref().map(|manifest| manifest.handlers.clone()).unwrap_or_default();
        let exported = report.component.as_ref().map(|component| component.inspection.hooks()).unwrap_or_default();
        let unnamed: Vec<_> = exported.into_iter().filter(|hook| handlers.iter().all(|entry| entry.hook != *hook)).collect();
        handlers.extend(unnamed.into_iter().map(HandlerEntry::with_defaults));
        handlers
    }

    /// The key that would let a handler in; none: it is in.
    fn denied_by(&self, handler: &HandlerEntry) -> Option<&'static str> {
        let access = self.settings.access(self.report.origin?);
        match access.admit(handler.hook) {
            Admission::Denied(key) => Some(key),
            Admission::Granted | Admission::PromptStripped => None,
        }
    }

    /// A sentence for each handler that a gate keeps out of a plugin that loads.
    pub(super) fn denials(&self) -> Vec<String> {
        let id = self.id();
        let denied = self.report.handlers.iter().filter_map(|handler| Some((handler.hook, self.denied_by(handler)?)));
        denied
            .map(|(hook, key)| {
                format!("plugin `{id}`: its {hook} handler is not called; to allow it set plugins.entries.{id}.hooks.{key}: true")
            })
            .collect()
    }

    /// A row of `creel plugins list`.
    pub(super) fn row(&self) -> [String; 7] {
        let report = self.report;
        let is_on = report.state == PluginState::Loaded;
        let called = report.handlers.iter().filter(|handler| self.denied_by(handler).is_none()).count();
        let required = if report.required { ", required" } else { "" };
        [
            self.id(),
            self.version(),
            format!("{}{required}", state(report)),
            if is_on { called.to_string() } else { "-".to_owned() },
            if is_on { self.tools().len().to_string() } else { "-".to_owned() },
            report.origin.map_or_else(|| "-".to_owned(), |origin| origin.to_string()),
            report.place.as_ref().map_or_else(|| "-".to_owned(), |place| place.display().to_string()),
        ]
    }

    /// Everything that is known, without running anything of the plugin.
    pub(super) fn in_full(&self, output: &Output) -> String {
        let mut lines = Lines(vec![output.style().bold().apply_to(self.heading()).to_string()]);
        self.say_what(&mut lines);
        self.say_component(&mut lines);
        self.say_rights(&mut lines);
        self.report.diagnostics.iter().for_each(|text| lines.say("note", text));
        lines.0.join("\n")
    }

    fn heading(&self) -> String {
        match (&self.report.id, &self.report.place) {
            (None, Some(place)) => place.display().to_string(),
            _ => format!("{} {}", self.id(), self.version()),
        }
    }

    fn say_what(&self, lines: &mut Lines) {
        let report = self.report;
        if let Some(description) = report.manifest.as_ref().and_then(|manifest| manifest.description.as_deref()) {
            lines.say("about", clean(description, MAX_WORDS));
        }
        lines.say("state", reason(report).map_or_else(|| state(report).to_owned(), |why| format!("{}: {why}", state(report))));
        if let (Some(place), Some(_)) = (&report.place, &report.id) {
            lines.say("place", place.display().to_string());
        }
    }

    fn say_component(&self, lines: &mut Lines) {
        let Some(component) = &self.report.component else { return };
        lines.say("component", format!("{}, sha256 {}", bytes(component.bytes.len()), component.digest()));
        for handler in self.handlers() {
            lines.say("hook", self.hook_line(&handler));
        }
        for tool in self.tools() {
            lines.say("tool", clean(tool, MAX_WORDS));
        }
        for import in component.inspection.imports.iter().filter(|import| import.need != Need::Standard) {
            lines.say("imports", import_line(import));
        }
        if let Some(line) = standard_line(&component.inspection) {
            lines.say("imports", line);
        }
    }

    fn hook_line(&self, handler: &HandlerEntry) -> String {
        let mut remarks = vec![format!("priority {}", handler.options.priority)];
        if !handler.handler_name.is_empty() {
            remarks.push(format!("handler {}", clean(&handler.handler_name, MAX_WORDS)));
        }
        if let Some(key) = self.denied_by(handler) {
            remarks.push(format!("not called without hooks.{key}"));
        }
        format!("{} ({})", handler.hook, remarks.join(", "))
    }

    fn say_rights(&self, lines: &mut Lines) {
        if let Some(resolution) = &self.report.resolution {
            for capability in &resolution.denied {
                lines.say("not granted", capability.key());
            }
            if let Some(kv) = resolution.grants.kv {
                lines.say("granted", format!("kv, at most {}", bytes(kv.max_bytes)));
            }
            if let Some(extension) = resolution.grants.session_extension {
                lines.say("granted", format!("sessionExtension, at most {} a value", bytes(extension.max_bytes)));
            }
        }
        if let Some(manifest) = &self.report.manifest {
            let limits = Limits::resolve(&manifest.limits, &self.settings.limits);
            lines.say(
                "limits",
                format!(
                    "memory {}, {} calls at once, log {} a call, answers {}",
                    bytes(limits.memory_bytes),
                    limits.max_instances,
                    bytes(limits.log_bytes),
                    bytes(limits.output_bytes)
                ),
            );
        }
    }

    /// Everything as JSON.
    pub(super) fn as_json(&self) -> Value {
        let report = self.report;
        let manifest = report.manifest.as_ref();
        let inspection = report.component.as_ref().map(|component| &component.inspection);
        json!({
            "id": report.id,
            "name": manifest.and_then(|manifest| manifest.name.clone()),
            "version": manifest.and_then(|manifest| manifest.version.clone()),
            "description": manifest.and_then(|manifest| manifest.description.clone()),
            "origin": report.origin.map(|origin| origin.to_string()),
            "place": report.place,
            "required": report.required,
            "state": state(report),
            "reason": reason(report),
            "hooks": self.handlers().iter().map(|handler| json!({
                "hook": handler.hook.name(), "handler": handler.handler_name, "priority": handler.options.priority,
                "deniedBy": self.denied_by(handler),
            })).collect::<Vec<_>>(),
            "tools": self.tools(),
            "imports": inspection.map(|inspection| inspection.imports.iter().map(|import| json!({
                "interface": import.name, "grant": import.need.capability().map(|capability| capability.key()),
            })).collect::<Vec<_>>()),
            "notGranted": report.resolution.as_ref().map(|it| it.denied.iter().map(|capability| capability.key()).collect::<Vec<_>>()),
            "sha256": report.component.as_ref().map(|component| component.digest()),
            "bytes": inspection.map(|inspection| inspection.bytes),
            "diagnostics": report.diagnostics.iter().cloned().chain(self.denials()).collect::<Vec<_>>(),
        })
    }
}

/// Lines with a name before each.
struct Lines(Vec<String>);

impl Lines {
    fn say(&mut self, name: &str, text: impl AsRef<str>) {
        self.0.push(format!("  {name:<12} {}", text.as_ref()));
    }
}

fn state(report: &PluginReport) -> &'static str {
    match report.state {
        PluginState::Loaded => "on",
        PluginState::Disabled(_) => "off",
        PluginState::Failed(_) => "failed",
    }
}

fn reason(report: &PluginReport) -> Option<&String> {
    match &report.state {
        PluginState::Loaded => None,
        PluginState::Disabled(why) | PluginState::Failed(why) => Some(why),
    }
}

fn import_line(import: &Import) -> String {
    let name = clean(&import.name, MAX_WORDS);
    match import.need {
        Need::Grant(capability) => format!("{name} (needs the grant `{}`)", capability.key()),
        Need::NotOffered(_) => format!("{name} (this version of the host does not offer it)"),
        Need::UnknownContract | Need::OtherStandard | Need::Unknown => format!("{name} (this host does not know it)"),
        Need::Free | Need::Standard => name,
    }
}

/// The standard interfaces in one line, by package: a language runtime brings a dozen, and the host links
/// them empty or refusing.
fn standard_line(inspection: &Inspection) -> Option<String> {
    let standard = inspection.imports.iter().filter(|import| import.need == Need::Standard);
    let mut packages: Vec<(&str, usize)> = Vec::new();
    for package in standard.map(|import| import.name.split('/').next().unwrap_or_default()) {
        match packages.iter_mut().find(|(name, _)| *name == package) {
            Some((_, count)) => *count += 1,
            None => packages.push((package, 1)),
        }
    }
    let listed: Vec<String> = packages.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    (!listed.is_empty()).then(|| format!("{}: standard interfaces, without files, network or environment", listed.join(", ")))
}

/// One line, for lists of loaded plugins.
pub(crate) fn one_line(status: &PluginStatus) -> String {
    let report = &status.report;
    let id = report.id.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string);
    match &report.state {
        PluginState::Loaded => {
            let mut does: Vec<&str> = report.handlers.iter().map(|handler| handler.hook.name()).collect();
            does.dedup();
            let tools: Vec<String> = status.tools.iter().map(|tool| format!("tool {tool}")).collect();
            does.extend(tools.iter().map(String::as_str));
            format!("{id:<18} {}", does.join(", "))
        }
        PluginState::Disabled(why) => format!("{id:<18} off: {why}"),
        PluginState::Failed(why) => format!("{id:<18} failed: {why}"),
    }
}
