//! A plugin of a test: a component, a manifest made of the handlers that the test wants, and what the operator says about it.

use std::path::{Path, PathBuf};
use std::{fs, mem};

use serde_json::{Map, Value, json};

use crate::Guest;

/// A plugin.
#[derive(Debug, Clone)]
pub struct Plugin {
    id: String,
    guest: Guest,
    manifest: Value,
    operator: Value,
}

/// One handler of the scripted guest: an entry of the manifest, and what it does.
#[derive(Debug, Clone)]
pub struct Handler {
    hook: String,
    entry: Map<String, Value>,
    plan: Option<Value>,
}

/// A handler of a hook. Without more it has no opinion.
pub fn on(hook: &str) -> Handler {
    let Value::Object(entry) = json!({ "hook": hook }) else { unreachable!("an object") };
    Handler { hook: hook.to_owned(), entry, plan: None }
}

/// A tool of the scripted guest that returns a text.
pub fn tool(name: &str, says: &str) -> Value {
    json!({ "name": name, "does": { "answer": { "text": says } } })
}

impl Handler {
    /// An option of the manifest entry, for example `priority` or `matcher`.
    #[must_use]
    pub fn with(mut self, option: &str, value: impl Into<Value>) -> Self {
        self.entry.insert(option.to_owned(), value.into());
        self
    }

    /// Its priority.
    #[must_use]
    pub fn priority(self, priority: f64) -> Self {
        self.with("priority", priority)
    }

    /// Its name. A second handler of a hook in one plugin needs one.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.with("handler", name)
    }

    /// What it does: an action of the scripted guest.
    #[must_use]
    pub fn does(mut self, action: Value) -> Self {
        self.plan = Some(action);
        self
    }

    /// What it does in its first call, in its second one, and so on; the last action is repeated.
    #[must_use]
    pub fn does_in_turn<const N: usize>(self, actions: [Value; N]) -> Self {
        self.does(Value::Array(actions.into()))
    }

    /// It answers this, in the words of the hook's answer.
    #[must_use]
    pub fn answers(self, answer: Value) -> Self {
        self.does(json!({ "answer": answer }))
    }

    /// It traps.
    #[must_use]
    pub fn traps(self) -> Self {
        self.does(json!({ "trap": true }))
    }

    fn name(&self) -> &str {
        self.entry.get("handler").and_then(Value::as_str).unwrap_or_default()
    }
}

impl Plugin {
    /// A component with a minimal manifest and an operator who says nothing.
    pub fn new(id: &str, guest: Guest) -> Self {
        let manifest = json!({
            "id": id,
            "component": format!("{id}.wasm"),
            "configSchema": { "type": "object" },
            "hooks": [],
            "activation": { "onStartup": true },
        });
        Self { id: id.to_owned(), guest, manifest, operator: json!({}) }
    }

    /// The scripted guest with the grants that it needs, and conversation access.
    pub fn scripted(id: &str, guest: Guest) -> Self {
        Self::new(id, guest).manifest(json!({ "capabilities": { "kv": true } })).operator(json!({
            "capabilities": { "kv": true },
            "hooks": { "allowConversationAccess": true },
            "config": { "handlers": {}, "record": [], "tools": [] },
        }))
    }

    /// Id of the plugin.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Adds a handler of the scripted guest.
    #[must_use]
    pub fn handler(mut self, handler: Handler) -> Self {
        let Handler { hook, entry, plan } = handler.clone();
        if let Some(plan) = plan {
            let earlier = self.config("handlers")[&hook][handler.name()].take();
            assert!(earlier.is_null(), "plugin {} has two handlers for {hook} of one name: name them", self.id);
            self.config("handlers")[&hook][handler.name()] = plan;
        }
        let entries = self.manifest["hooks"].as_array_mut().expect("a list of entries");
        entries.push(Value::Object(entry));
        self
    }

    /// Adds an entry to the manifest as it stands.
    #[must_use]
    pub fn entry(mut self, entry: Value) -> Self {
        self.manifest["hooks"].as_array_mut().expect("a list of entries").push(entry);
        self
    }

    /// The scripted guest records its calls of these hooks.
    #[must_use]
    pub fn recording(mut self, hooks: &[&str]) -> Self {
        self.config("record").as_array_mut().expect("a list").extend(hooks.iter().map(|hook| json!(hook)));
        self
    }

    /// The scripted guest offers a tool.
    #[must_use]
    pub fn tool(mut self, tool: Value) -> Self {
        let name = tool["name"].clone();
        let mut declared = self.manifest["contracts"]["tools"].take();
        match &mut declared {
            Value::Array(names) => names.push(name),
            _ => declared = json!([name]),
        }
        self.manifest["contracts"]["tools"] = declared;
        self.config("tools").as_array_mut().expect("a list").push(tool);
        self
    }

    /// Changes the manifest: keys are replaced, objects merged.
    #[must_use]
    pub fn manifest(mut self, change: Value) -> Self {
        merge(&mut self.manifest, change);
        self
    }

    /// Changes what the operator says about the plugin: keys are replaced, objects merged.
    #[must_use]
    pub fn operator(mut self, change: Value) -> Self {
        merge(&mut self.operator, change);
        self
    }

    /// The operator's entry.
    pub(crate) fn operator_entry(&self) -> &Value {
        &self.operator
    }

    /// Writes the plugin's folder and gives its path.
    pub(crate) fn write(&self, plugins: &Path) -> PathBuf {
        let folder = plugins.join(&self.id);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("creel.plugin.json"), self.manifest.to_string()).unwrap();
        fs::copy(self.guest.path(), folder.join(format!("{}.wasm", self.id))).unwrap();
        folder
    }

    fn config(&mut self, key: &str) -> &mut Value {
        &mut self.operator["config"][key]
    }
}

/// Lays `change` over `base`: objects key by key, everything else as a whole; null removes a key.
pub(crate) fn merge(base: &mut Value, change: Value) {
    match (base, change) {
        (Value::Object(base), Value::Object(change)) => {
            for (key, value) in change {
                if value.is_null() {
                    base.shift_remove(&key);
                } else {
                    merge(base.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (base, change) => drop(mem::replace(base, change)),
    }
}
