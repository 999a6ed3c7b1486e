//! Everything that is known of a plugin, for programs: `--json` of the plugin commands.

use plugin_host::limits::Limits;
use plugin_host::manifest::HandlerEntry;
use serde_json::{Map, Value, json};

use super::circuits::Circuit;
use super::describe::Subject;
use super::wanted;

impl Subject<'_> {
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
            "unhealthy": self.circuits.as_ref().map(|_| self.is_unhealthy()),
            "state": self.state(),
            "reason": self.reason(),
            "hooks": self.handlers().iter().map(|handler| self.handler(handler)).collect::<Vec<_>>(),
            "circuits": self.circuits.as_ref().map(|circuits| circuits.iter().map(Circuit::as_json).collect::<Vec<_>>()),
            "tools": self.tools(),
            "imports": inspection.map(|inspection| inspection.imports.iter().map(|import| json!({
                "interface": import.name, "grant": import.need.capability().map(|capability| capability.key()),
            })).collect::<Vec<_>>()),
            "notGranted": report.resolution.as_ref().map(|it| it.denied.iter().map(|capability| capability.key()).collect::<Vec<_>>()),
            "toGrant": wanted::as_json(&self.id(), &self.wanted()),
            "limits": manifest.map(|manifest| limits(&Limits::resolve(&manifest.limits, &self.settings.limits))),
            "sha256": report.component.as_ref().map(|component| component.digest()),
            "bytes": inspection.map(|inspection| inspection.bytes),
            "diagnostics": report.diagnostics.iter().cloned().chain(self.denials()).collect::<Vec<_>>(),
        })
    }

    fn handler(&self, handler: &HandlerEntry) -> Value {
        let options = &handler.options;
        json!({
            "hook": handler.hook.name(),
            "handler": handler.handler_name,
            "priority": options.priority,
            "matcher": options.matcher,
            "eligibleTriggers": options.eligible_triggers,
            "requiresToolAuthority": options.requires_tool_authority,
            "timeoutMs": options.timeout_ms,
            "budgetMs": u64::try_from(self.budget(handler).as_millis()).unwrap_or(u64::MAX),
            "fields": self.fields(handler).map(|fields| fields.names()),
            "deniedBy": self.denied_by(handler),
        })
    }
}

/// The limits that the host enforces, by their keys.
fn limits(limits: &Limits) -> Map<String, Value> {
    limits.rows().map(|(row, number)| (row.key.to_owned(), Value::from(number))).collect()
}
