//! What a plugin asks for, in a form that can be kept and compared: an update that asks for more than the operator accepted is stopped
//! until the operator accepts it. Asking is not getting: what a plugin gets is granted in the configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use plugin_host::inspect::Inspection;
use plugin_host::manifest::{HandlerEntry, Lifetime, Manifest};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A bound that a right asks for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bound {
    /// At most this much.
    Number(u64),
    /// Only these.
    Names(BTreeSet<String>),
}

/// Bounds of one right, by their names.
pub type Bounds = BTreeMap<String, Bound>;

/// Everything that a plugin asks for: rights such as `capability kv`, `hook before_tool_call` or `tool convert`, with their bounds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Asks(pub BTreeMap<String, Bounds>);

/// A right, or a wider bound, that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Widening {
    /// The right.
    pub right: String,
    /// In which way it is wider; none: it is new.
    pub bound: Option<String>,
}

impl fmt::Display for Widening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bound {
            None => write!(f, "{}", self.right),
            Some(bound) => write!(f, "{}: {bound}", self.right),
        }
    }
}

impl Asks {
    /// What a plugin asks for, by its manifest and by what its component imports and exports. `text` is the text of the manifest: it
    /// holds what a newer host may read in it too.
    pub fn of(manifest: &Manifest, text: &[u8], inspection: &Inspection) -> Self {
        let mut asks = Self::default();
        let text: Value = serde_json::from_slice(text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text)).unwrap_or_default();
        for (key, value) in text["capabilities"].as_object().into_iter().flatten() {
            if !matches!(value, Value::Bool(false) | Value::Null) {
                asks.add("capability", key).extend(bounds(value));
            }
        }
        for capability in inspection.capabilities() {
            asks.add("capability", capability.key());
        }
        asks.hooks(manifest, &text["hooks"], inspection);
        for (sort, names) in [("tool", &manifest.tools), ("skills", &manifest.skills), ("kind", &manifest.kinds)] {
            for name in names {
                asks.add(sort, name);
            }
        }
        if manifest.lifetime == Lifetime::Shared {
            asks.add("lifetime", "shared");
        }
        asks
    }

    fn add(&mut self, sort: &str, name: &str) -> &mut Bounds {
        let name: String = name.chars().filter(|character| !character.is_control()).take(200).collect();
        self.0.entry(format!("{sort} {name}")).or_default()
    }

    fn hooks(&mut self, manifest: &Manifest, text: &Value, inspection: &Inspection) {
        for hook in inspection.hooks() {
            let named: Vec<&HandlerEntry> = manifest.handlers.iter().filter(|entry| entry.hook == hook).collect();
            let bounds = self.add("hook", hook.name());
            // One handler without a matcher sees every tool.
            let matchers: Option<Vec<&Vec<String>>> = named.iter().map(|entry| entry.options.matcher.as_ref()).collect();
            if let Some(matchers) = matchers.filter(|matchers| !matchers.is_empty()) {
                let tools = matchers.into_iter().flatten().cloned().collect();
                bounds.insert("tools".to_owned(), Bound::Names(tools));
            }
            if let Some(fields) = fields(text, hook.name()) {
                bounds.insert("fields".to_owned(), fields);
            }
            if hook.row().gate.needs_conversation() {
                self.add("access", "to the conversation");
            }
        }
    }

    /// What these ask for beyond what was accepted.
    pub fn beyond(&self, accepted: &Self) -> Vec<Widening> {
        let mut wider = Vec::new();
        for (right, bounds) in &self.0 {
            match accepted.0.get(right) {
                None => wider.push(Widening { right: right.clone(), bound: None }),
                Some(old) => {
                    let told = wider_bounds(right, old, bounds).into_iter();
                    wider.extend(told.map(|bound| Widening { right: right.clone(), bound: Some(bound) }));
                }
            }
        }
        wider
    }
}

/// The fields of the event that all handlers of a hook together see; none: one of them sees all.
fn fields(entries: &Value, hook: &str) -> Option<Bound> {
    let own: Vec<&Value> = entries.as_array()?.iter().filter(|entry| entry["hook"] == hook).collect();
    let lists: Option<Vec<&Vec<Value>>> = own.iter().map(|entry| entry["fields"].as_array()).collect();
    lists.filter(|lists| !lists.is_empty()).map(|lists| names(lists.into_iter().flatten()))
}

/// The bounds that a value under `capabilities` names: the keys of an object, or a list of names.
fn bounds(value: &Value) -> Bounds {
    let bound = |value: &Value| match value {
        Value::Number(number) => number.as_u64().map_or_else(|| names(std::iter::once(value)), Bound::Number),
        Value::Array(items) => names(items.iter()),
        other => names(std::iter::once(other)),
    };
    if let Value::Array(items) = value {
        return Bounds::from([("names".to_owned(), names(items.iter()))]);
    }
    value.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), bound(value))).collect()
}

fn names<'a>(values: impl Iterator<Item = &'a Value>) -> Bound {
    Bound::Names(values.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect())
}

/// In which ways new bounds are wider than old ones.
fn wider_bounds(right: &str, old: &Bounds, new: &Bounds) -> Vec<String> {
    let mut wider = Vec::new();
    for (key, bound) in old {
        if !new.contains_key(key) {
            wider.push(format!("no longer bounded by {key} {}", shown(bound)));
        }
    }
    for (key, bound) in new {
        match (old.get(key), bound) {
            (Some(Bound::Number(before)), Bound::Number(now)) if now > before => wider.push(format!("{key} {before} → {now}")),
            (Some(Bound::Number(_)), Bound::Number(_)) => {}
            // A size that is named now and was not before is at most what the host gives anyway.
            (None, Bound::Number(_)) => {}
            (Some(Bound::Names(before)), Bound::Names(now)) => wider.extend(more(key, before, now)),
            // Nor is a hook that sees fewer tools or fields than all of them a wider one.
            (None, Bound::Names(_)) if right.starts_with("hook ") => {}
            (None, Bound::Names(now)) => wider.extend(more(key, &BTreeSet::new(), now)),
            (Some(other), bound) => wider.push(format!("{key} {} → {}", shown(other), shown(bound))),
        }
    }
    wider
}

fn more(key: &str, before: &BTreeSet<String>, now: &BTreeSet<String>) -> Option<String> {
    let added: BTreeSet<String> = now.difference(before).cloned().collect();
    (!added.is_empty()).then(|| format!("{key} + {}", shown(&Bound::Names(added))))
}

fn shown(bound: &Bound) -> String {
    match bound {
        Bound::Number(number) => number.to_string(),
        Bound::Names(names) => names.iter().cloned().collect::<Vec<_>>().join(", "),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use plugin_host::inspect::inspect;
    use serde_json::json;

    use super::*;

    const EXPORTS: &[&str] = &["before-tool-call"];

    fn asks(manifest: Value, exports: &[&str]) -> Asks {
        let mut text = json!({ "id": "p", "configSchema": {} });
        for (key, value) in manifest.as_object().unwrap() {
            text[key] = value.clone();
        }
        let text = text.to_string();
        let exports: String =
            exports.iter().map(|name| format!(r#"(export "creel:plugin/{name}@0.1.0" (instance $i))"#)).collect();
        let component = wat::parse_str(format!("(component (instance $i) {exports})")).unwrap();
        let manifest = Manifest::parse(text.as_bytes(), "p").unwrap();
        Asks::of(&manifest, text.as_bytes(), &inspect(&component).unwrap())
    }

    fn told(old: Value, old_exports: &[&str], new: Value, new_exports: &[&str]) -> Vec<String> {
        asks(new, new_exports).beyond(&asks(old, old_exports)).iter().map(ToString::to_string).collect()
    }

    fn by_manifest(old: Value, new: Value) -> Vec<String> {
        told(old, EXPORTS, new, EXPORTS)
    }

    #[test]
    fn the_same_and_less_is_no_widening() {
        let much = json!({ "capabilities": { "kv": { "maxBytes": 9 }, "http": { "hosts": ["a", "b"] } }, "contracts": { "tools": ["t"] } });
        let less = json!({ "capabilities": { "http": { "hosts": ["a"] } } });
        assert_eq!(by_manifest(much.clone(), much.clone()), [""; 0]);
        assert_eq!(by_manifest(much, less), [""; 0]);
    }

    #[test]
    fn every_kind_of_more_is_told() {
        let of = |capabilities: Value| json!({ "capabilities": capabilities });
        let hook = |matcher: Value| json!({ "hooks": [{ "hook": "before_tool_call", "matcher": matcher }] });
        for (old, new, expected) in [
            (of(json!({})), of(json!({ "kv": true })), "capability kv"),
            (of(json!({ "kv": false })), of(json!({ "kv": true })), "capability kv"),
            (of(json!({ "kv": { "maxBytes": 1 } })), of(json!({ "kv": { "maxBytes": 2 } })), "capability kv: maxBytes 1 → 2"),
            (of(json!({ "kv": { "maxBytes": 1 } })), of(json!({ "kv": true })), "capability kv: no longer bounded by maxBytes 1"),
            (
                of(json!({ "http": { "hosts": ["a"] } })),
                of(json!({ "http": { "hosts": ["a", "b"] } })),
                "capability http: hosts + b",
            ),
            (
                of(json!({ "http": { "hosts": ["a"] } })),
                of(json!({ "http": true })),
                "capability http: no longer bounded by hosts a",
            ),
            (
                of(json!({ "http": { "hosts": ["a"] } })),
                of(json!({ "http": { "hosts": ["a"], "methods": ["POST"] } })),
                "capability http: methods + POST",
            ),
            (
                of(json!({ "fs": { "access": "read" } })),
                of(json!({ "fs": { "access": "write" } })),
                "capability fs: access + write",
            ),
            (
                of(json!({ "toolsInvoke": ["read"] })),
                of(json!({ "toolsInvoke": ["read", "exec"] })),
                "capability toolsInvoke: names + exec",
            ),
            (of(json!({})), of(json!({ "futureThing": true })), "capability futureThing"),
            (hook(json!(["exec"])), hook(json!(["exec", "read"])), "hook before_tool_call: tools + read"),
            (hook(json!(["exec"])), hook(Value::Null), "hook before_tool_call: no longer bounded by tools exec"),
            (
                json!({ "hooks": [{ "hook": "before_tool_call", "fields": ["toolName"] }] }),
                json!({ "hooks": [{ "hook": "before_tool_call", "fields": ["toolName", "params"] }] }),
                "hook before_tool_call: fields + params",
            ),
            (
                json!({ "hooks": [{ "hook": "before_tool_call", "fields": ["toolName"] }] }),
                json!({ "hooks": [{ "hook": "before_tool_call" }] }),
                "hook before_tool_call: no longer bounded by fields toolName",
            ),
            (json!({}), json!({ "contracts": { "tools": ["t"] } }), "tool t"),
            (json!({}), json!({ "skills": ["s"] }), "skills s"),
            (json!({}), json!({ "kind": "memory" }), "kind memory"),
            (json!({}), json!({ "instanceLifetime": "shared" }), "lifetime shared"),
        ] {
            assert_eq!(by_manifest(old, new), [expected]);
        }
        assert_eq!(by_manifest(hook(Value::Null), hook(json!(["exec"]))), [""; 0]);
    }

    #[test]
    fn a_new_hook_and_the_conversation_are_told() {
        let wider = told(json!({}), EXPORTS, json!({}), &["before-tool-call", "llm-input"]);
        assert_eq!(wider, ["access to the conversation", "hook llm_input"]);
    }

    #[test]
    fn what_is_kept_is_what_is_compared() {
        let asked = asks(json!({ "capabilities": { "kv": { "maxBytes": 5 }, "http": { "hosts": ["a"] } } }), EXPORTS);
        let text = serde_json::to_string(&asked).unwrap();
        assert_eq!(serde_json::from_str::<Asks>(&text).unwrap(), asked);
    }
}
