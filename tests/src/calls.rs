//! What a scripted plugin recorded of its calls in its key-value store.

use domain::PluginId;
use domain::ports::PluginKv;
use serde::Deserialize;
use serde_json::Value;

/// One call, as the guest saw it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Call {
    /// Name of the hook.
    pub hook: String,
    /// Name of the handler; empty: it has none.
    pub handler: String,
    /// The event, fields of the contract in camelCase. Fields of type `json` are text.
    pub event: Value,
    /// The context, likewise.
    pub context: Value,
}

impl Call {
    /// A field of the event that holds JSON text.
    pub fn json(&self, field: &str) -> Value {
        let text = self.event[field].as_str().unwrap_or_else(|| panic!("`{field}` holds no JSON text in {self:?}"));
        serde_json::from_str(text).unwrap_or_else(|error| panic!("`{field}`: {error}"))
    }

    /// A field of the event that holds a list of JSON texts.
    pub fn json_list(&self, field: &str) -> Vec<Value> {
        let texts = self.event[field].as_array().unwrap_or_else(|| panic!("`{field}` is no list in {self:?}"));
        texts.iter().map(|text| serde_json::from_str(text.as_str().unwrap()).unwrap()).collect()
    }
}

/// All calls that a plugin recorded, oldest first.
pub(crate) async fn recorded(kv: &dyn PluginKv, plugin: &str) -> Vec<Call> {
    const PAGE: u32 = 1000;
    let plugin = PluginId::new(plugin);
    let mut calls = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let page = kv.list_keys(&plugin, "calls/", cursor.as_deref(), PAGE).await.unwrap();
        for key in &page.keys {
            let value = kv.get(&plugin, key).await.unwrap().expect("a listed key has a value");
            calls.push(serde_json::from_slice(&value).expect("the guest writes calls"));
        }
        if page.cursor.is_none() {
            return calls;
        }
        cursor = page.cursor;
    }
}
