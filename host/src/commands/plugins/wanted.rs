//! What an operator would have to write into the configuration so that a plugin gets all that it asks for: grants of capabilities, and
//! access of its hooks. Only words; nothing is granted here.

use std::collections::BTreeSet;

use config::KeyPath;
use hooks::HookId;
use hooks::access::Admission;
use plugin_host::grant::{self, Capability, Resolution};
use plugin_host::plan::{PluginReport, PluginSettings};
use serde_json::{Map, Value, json};

/// One value of the configuration.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    /// Keys below `plugins.entries.<id>`, from the outside.
    keys: [&'static str; 2],
    /// The value. None: only the operator knows it.
    value: Option<Value>,
}

impl Line {
    /// Keys below `plugins.entries.<id>`, from the outside.
    pub(super) fn keys(&self) -> [&'static str; 2] {
        self.keys
    }

    /// The value. None: only the operator knows it.
    pub(super) fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }
}

/// What a plugin asks for and imports, held against what the operator grants. None: its component could not be read.
pub(super) fn resolve(report: &PluginReport, settings: &PluginSettings) -> Option<Resolution> {
    let (manifest, component) = (report.manifest.as_ref()?, report.component.as_ref()?);
    Some(grant::resolve(&manifest.capabilities, &component.inspection.capabilities(), &settings.grants))
}

/// The key of `plugins.entries.<id>.hooks` that would let a handler in; none: it is in.
pub(super) fn closed_gate(report: &PluginReport, settings: &PluginSettings, hook: HookId) -> Option<&'static str> {
    match settings.access(report.origin?).admit(hook) {
        Admission::Denied(key) => Some(key),
        Admission::Granted | Admission::PromptStripped => None,
    }
}

/// Whether a hook is let in by the gate of this key, whether it is open or closed.
pub(super) fn is_behind(report: &PluginReport, settings: &PluginSettings, hook: HookId, key: &str) -> bool {
    let shut = PluginSettings { allow_conversation: Some(false), allow_prompt_injection: Some(false), ..settings.clone() };
    gates(report, &shut, hook).contains(&key)
}

/// Everything that is missing: capabilities that this host offers, then gates of these hooks.
pub(super) fn lines(report: &PluginReport, settings: &PluginSettings, hooks: &[HookId]) -> Vec<Line> {
    let (Some(manifest), Some(resolution)) = (&report.manifest, resolve(report, settings)) else { return Vec::new() };
    let capabilities = resolution.denied.iter().filter(|capability| capability.offered());
    let gates: BTreeSet<&str> = hooks.iter().flat_map(|hook| gates(report, settings, *hook)).collect();
    let grant = |capability: &Capability| Line {
        keys: ["capabilities", capability.key()],
        value: manifest.capabilities.grant_value(*capability),
    };
    let open = |key| Line { keys: ["hooks", key], value: Some(Value::Bool(true)) };
    capabilities.map(grant).chain(gates.into_iter().map(open)).collect()
}

/// All gates of a hook that are closed. One stands behind the other, so the second shows only when the first is open.
fn gates(report: &PluginReport, settings: &PluginSettings, hook: HookId) -> Vec<&'static str> {
    let mut settings = settings.clone();
    let mut closed = Vec::new();
    while let Some(key) = closed_gate(report, &settings, hook) {
        match key {
            "allowConversationAccess" if settings.allow_conversation != Some(true) => settings.allow_conversation = Some(true),
            "allowPromptInjection" if settings.allow_prompt_injection != Some(true) => {
                settings.allow_prompt_injection = Some(true)
            }
            _ => break,
        }
        closed.push(key);
    }
    closed
}

/// Lines as JSON: key path and value of each; `null` where only the operator knows the value.
pub(super) fn as_json(id: &str, lines: &[Line]) -> Value {
    let key = |line: &Line| line.keys.iter().fold(KeyPath::of("plugins.entries").key(id), |path, key| path.key(*key)).to_string();
    lines.iter().map(|line| json!({ "key": key(line), "value": line.value })).collect()
}

/// The entry of a plugin with these lines and nothing else, as JSON5 that can be pasted below `plugins.entries`. Each line of it begins
/// with `indent`.
pub(super) fn entry(id: &str, lines: &[Line], indent: &str) -> String {
    let mut parts: Map<String, Value> = Map::new();
    let mut open = String::new();
    for Line { keys: [part, key], value } in lines {
        let Some(value) = value else {
            open.push_str(&format!("{indent}  // {part}.{key}: yours to write; docs/configuration.md has its form\n"));
            continue;
        };
        if let Some(part) = parts.entry(*part).or_insert_with(|| json!({})).as_object_mut() {
            part.insert((*key).to_owned(), value.clone());
        }
    }
    let parts: String = parts.iter().map(|(part, keys)| format!("{indent}  {part}: {},\n", json5(keys))).collect();
    format!("{indent}{}: {{\n{parts}{open}{indent}}},", Value::from(id))
}

/// A small value on one line.
pub(super) fn json5(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{}: {}", name(key), json5(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(json5).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// A key, in quotes where it is no plain name.
fn name(key: &str) -> String {
    let is_plain =
        key.starts_with(|c: char| c.is_ascii_alphabetic()) && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain { key.to_owned() } else { Value::from(key).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_ready_to_paste() {
        let lines = [
            Line { keys: ["capabilities", "kv"], value: Some(json!({ "maxBytes": 65_536 })) },
            Line { keys: ["capabilities", "http"], value: Some(json!({ "a-b": ["x"] })) },
            Line { keys: ["capabilities", "secrets"], value: None },
            Line { keys: ["hooks", "allowConversationAccess"], value: Some(json!(true)) },
        ];
        let expected = [
            "  \"a/b\": {",
            "    capabilities: { kv: { maxBytes: 65536 }, http: { \"a-b\": [\"x\"] } },",
            "    hooks: { allowConversationAccess: true },",
            "    // capabilities.secrets: yours to write; docs/configuration.md has its form",
            "  },",
        ]
        .join("\n");
        assert_eq!(entry("a/b", &lines, "  "), expected);
        let keys = as_json("a/b", &lines);
        assert_eq!(keys[2]["value"], Value::Null);
        assert_eq!(keys[0], json!({ "key": "plugins.entries[\"a/b\"].capabilities.kv", "value": { "maxBytes": 65_536 } }));
    }
}
