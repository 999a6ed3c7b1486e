//! A plugin as an operator sees it under the present settings, in one line or one row. All that a plugin says of itself goes to the
//! terminal as one harmless line.

use std::time::Duration;

use hooks::budget::{self, Ceilings};
use hooks::fault::one_line as clean;
use hooks::{FieldSet, HookId};
use plugin_host::manifest::HandlerEntry;
use plugin_host::plan::{PluginReport, PluginSettings, PluginState, PluginsSettings};

use super::circuits::{Circuit, Circuits};
use super::wanted::{self, Line};
use crate::wiring::plugins::PluginStatus;

/// Longest text of a plugin about itself, in bytes.
pub(super) const MAX_WORDS: usize = 300;

/// A plugin as an operator sees it: what became of it, under these settings.
pub(super) struct Subject<'a> {
    pub(super) report: &'a PluginReport,
    pub(super) settings: PluginSettings,
    /// Where it counted faults; none: nobody looked.
    pub(super) circuits: Option<Vec<Circuit>>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(report: &'a PluginReport, settings: &PluginsSettings) -> Self {
        Self { report, settings: report.id.as_ref().map(|id| settings.of(id)).unwrap_or_default(), circuits: None }
    }

    /// The same with what was kept of its circuits.
    pub(super) fn with_circuits(self, circuits: &Circuits) -> Self {
        Self { circuits: Some(circuits.of(self.report)), ..self }
    }

    fn open_circuits(&self) -> impl Iterator<Item = &Circuit> {
        self.circuits.iter().flatten().filter(|circuit| circuit.is_open())
    }

    /// Whether the operator relies on it and something that it guards is blocked, because it failed too often.
    pub(super) fn is_unhealthy(&self) -> bool {
        self.report.required && self.open_circuits().any(Circuit::blocks)
    }

    /// A sentence for each open circuit.
    pub(super) fn troubles(&self) -> Vec<String> {
        self.open_circuits().filter_map(Circuit::remark).collect()
    }

    pub(super) fn id(&self) -> String {
        self.report.id.as_ref().map_or_else(|| "?".to_owned(), ToString::to_string)
    }

    pub(super) fn version(&self) -> String {
        let version = self.report.manifest.as_ref().and_then(|manifest| manifest.version.as_deref());
        version.map_or_else(|| "-".to_owned(), |version| clean(version, MAX_WORDS))
    }

    pub(super) fn tools(&self) -> &[String] {
        self.report.manifest.as_ref().map_or(&[], |manifest| &manifest.tools)
    }

    pub(super) fn state(&self) -> &'static str {
        match self.report.state {
            PluginState::Loaded => "on",
            PluginState::Disabled(_) => "off",
            PluginState::Failed(_) => "failed",
        }
    }

    /// Why it is not on.
    pub(super) fn reason(&self) -> Option<&String> {
        match &self.report.state {
            PluginState::Loaded => None,
            PluginState::Disabled(why) | PluginState::Failed(why) => Some(why),
        }
    }

    /// Its handlers; of a plugin that does not load those that it would have.
    pub(super) fn handlers(&self) -> Vec<HandlerEntry> {
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
    pub(super) fn denied_by(&self, handler: &HandlerEntry) -> Option<&'static str> {
        wanted::closed_gate(self.report, &self.settings, handler.hook)
    }

    /// Fields that a handler gets; none: all.
    pub(super) fn fields(&self, handler: &HandlerEntry) -> Option<FieldSet> {
        let allowed = self.settings.allowed_fields().unwrap_or_default();
        FieldSet::narrowed(handler.options.fields, allowed.get(&handler.hook).copied())
    }

    /// How long one call of a handler may take.
    pub(super) fn budget(&self, handler: &HandlerEntry) -> Duration {
        budget::resolve(handler.hook, &self.settings.budgets, handler.options.timeout_ms, &Ceilings::default())
    }

    /// What the configuration would have to grant so that it gets all that it asks for.
    pub(super) fn wanted(&self) -> Vec<Line> {
        let hooks: Vec<HookId> = self.handlers().iter().map(|handler| handler.hook).collect();
        wanted::lines(self.report, &self.settings, &hooks)
    }

    /// A sentence for each gate that keeps handlers out of a plugin that loads.
    pub(super) fn denials(&self) -> Vec<String> {
        let id = self.id();
        let mut behind: Vec<(&str, Vec<&str>)> = Vec::new();
        for handler in &self.report.handlers {
            let Some(key) = self.denied_by(handler) else { continue };
            match behind.iter_mut().find(|(gate, _)| *gate == key) {
                Some((_, hooks)) if hooks.contains(&handler.hook.name()) => {}
                Some((_, hooks)) => hooks.push(handler.hook.name()),
                None => behind.push((key, vec![handler.hook.name()])),
            }
        }
        let sentence = |(key, hooks): (&str, Vec<&str>)| {
            format!("plugin `{id}` is not called at {}; to allow it set plugins.entries.{id}.hooks.{key}: true", hooks.join(", "))
        };
        behind.into_iter().map(sentence).collect()
    }

    /// A row of `creel plugins list`.
    pub(super) fn row(&self) -> [String; 7] {
        let report = self.report;
        let is_on = report.state == PluginState::Loaded;
        let all = report.handlers.len();
        let called = report.handlers.iter().filter(|handler| self.denied_by(handler).is_none()).count();
        let refused = if is_on && called == 0 && all > 0 { ", hooks refused" } else { "" };
        let required = if report.required { ", required" } else { "" };
        let trouble = match self.open_circuits().next() {
            Some(_) if self.is_unhealthy() => ", unhealthy",
            Some(_) => ", circuit open",
            None => "",
        };
        let hooks = if called == all { all.to_string() } else { format!("{called} of {all}") };
        [
            self.id(),
            self.version(),
            format!("{}{refused}{required}{trouble}", self.state()),
            if is_on { hooks } else { "-".to_owned() },
            if is_on { self.tools().len().to_string() } else { "-".to_owned() },
            report.origin.map_or_else(|| "-".to_owned(), |origin| origin.to_string()),
            report.place.as_ref().map_or_else(|| "-".to_owned(), |place| place.display().to_string()),
        ]
    }
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
