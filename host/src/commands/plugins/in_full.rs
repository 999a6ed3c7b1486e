//! Everything that is known of a plugin, for people: `creel plugins inspect`. Runs nothing of it.

use std::time::Duration;

use hooks::fault::one_line as clean;
use plugin_host::inspect::{Import, Inspection, Need};
use plugin_host::limits::{LimitRow, Limits, Unit};
use plugin_host::manifest::HandlerEntry;

use super::describe::{MAX_WORDS, Subject};
use super::{granted, wanted};
use crate::terminal::{Output, bytes};

/// Lines with a name before each.
struct Lines(Vec<String>);

impl Lines {
    fn say(&mut self, name: &str, text: impl AsRef<str>) {
        self.0.push(format!("  {name:<12} {}", text.as_ref()));
    }
}

impl Subject<'_> {
    /// Everything that is known, without running anything of the plugin.
    pub(super) fn in_full(&self, output: &Output) -> String {
        let mut lines = Lines(vec![output.style().bold().apply_to(self.heading()).to_string()]);
        self.say_what(&mut lines);
        self.say_component(&mut lines);
        self.say_rights(&mut lines);
        self.say_limits(&mut lines);
        self.report.diagnostics.iter().for_each(|text| lines.say("note", text));
        self.troubles().iter().for_each(|text| lines.say("note", text));
        self.say_wanted(&mut lines);
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
        lines.say("state", self.reason().map_or_else(|| self.state().to_owned(), |why| format!("{}: {why}", self.state())));
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
        let options = &handler.options;
        let names = |names: &Option<Vec<String>>| names.as_ref().map(|names| clean(&names.join(" "), MAX_WORDS));
        let mut remarks = vec![format!("priority {}", options.priority)];
        if !handler.handler_name.is_empty() {
            remarks.push(format!("handler {}", clean(&handler.handler_name, MAX_WORDS)));
        }
        remarks.extend(names(&options.matcher).map(|tools| format!("matcher {tools}")));
        remarks.extend(names(&options.eligible_triggers).map(|triggers| format!("eligibleTriggers {triggers}")));
        if options.requires_tool_authority {
            remarks.push("requiresToolAuthority".to_owned());
        }
        remarks.extend(options.timeout_ms.map(|limit| format!("timeoutMs {limit}")));
        remarks.push(format!("at most {}", time(self.budget(handler))));
        remarks.push(self.fields(handler).map_or_else(|| "all fields".to_owned(), |fields| format!("fields {fields}")));
        if let Some(key) = self.denied_by(handler) {
            remarks.push(format!("not called without hooks.{key}"));
        }
        format!("{} ({})", handler.hook, remarks.join(", "))
    }

    fn say_rights(&self, lines: &mut Lines) {
        let Some(resolution) = &self.report.resolution else { return };
        for capability in &resolution.denied {
            lines.say("not granted", capability.key());
        }
        for (kind, what) in granted::lines(&resolution.grants) {
            lines.say("granted", if what.is_empty() { kind.to_owned() } else { format!("{kind}: {what}") });
        }
    }

    /// What the host enforces, and who said so where it is not the host's own number.
    fn say_limits(&self, lines: &mut Lines) {
        let Some(manifest) = &self.report.manifest else { return };
        let host = Limits::default();
        let of_manifest = Limits::resolve(&manifest.limits, &Default::default());
        let enforced = Limits::resolve(&manifest.limits, &self.settings.limits);
        for (((row, number), (_, host)), (_, asked)) in enforced.rows().zip(host.rows()).zip(of_manifest.rows()) {
            let source = match number {
                number if number != asked => format!(", set by plugins.entries.{}.limits", self.id()),
                number if number != host => ", asked for by the manifest".to_owned(),
                _ => String::new(),
            };
            lines.say("limit", format!("{} {}{source}", row.key, amount(row, number)));
        }
    }

    /// The entry that would give it everything.
    fn say_wanted(&self, lines: &mut Lines) {
        let wanted = self.wanted();
        if !wanted.is_empty() {
            lines.say("to grant", "all that it asks for, add below plugins.entries:");
            lines.0.push(wanted::entry(&self.id(), &wanted, "    "));
        }
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

fn amount(row: &LimitRow, number: u64) -> String {
    match row.unit {
        Unit::Bytes => bytes(number),
        Unit::Count => number.to_string(),
        Unit::Milliseconds => time(Duration::from_millis(number)),
    }
}

/// A time in whole seconds if it is one.
fn time(time: Duration) -> String {
    if time.subsec_millis() == 0 { format!("{} s", time.as_secs()) } else { format!("{} ms", time.as_millis()) }
}
