//! `plugins`: which plugins run, what they are granted and how they are limited (plugin-hooks 9).
//!
//! Hook names in `hooks.timeouts` are any text here. The host compares them with its catalogue of hooks, which this crate does not
//! know.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Bytes, Milliseconds, Quantity};
use super::secret::OpenObject;

/// `plugins`.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Plugins {
    /// Master switch. `false`: plugins are not even looked for.
    pub enabled: bool,
    /// If there are any ids here, only these plugins run.
    pub allow: Vec<String>,
    /// These plugins never run, whatever else is said.
    pub deny: Vec<String>,
    /// Where plugins are looked for, besides the standard places.
    pub load: PluginLoad,
    /// Which plugin fills a place that only one can have.
    pub slots: PluginSlots,
    /// Settings by plugin id.
    pub entries: BTreeMap<String, PluginEntry>,
}

impl Default for Plugins {
    fn default() -> Self {
        Self {
            enabled: true,
            allow: Vec::new(),
            deny: Vec::new(),
            load: PluginLoad::default(),
            slots: PluginSlots::default(),
            entries: BTreeMap::new(),
        }
    }
}

/// `plugins.load`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PluginLoad {
    /// Files and directories. A relative path starts at the directory of this file.
    #[schemars(inner(length(min = 1)))]
    pub paths: Vec<String>,
}

/// `plugins.slots`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PluginSlots {
    /// Id of the plugin that keeps memory. `none`: no plugin.
    #[schemars(length(min = 1), extend("default" = "memory-core"))]
    pub memory: Option<String>,
    /// Id of the plugin that assembles the context. `legacy`: the host itself.
    #[schemars(length(min = 1), extend("default" = "legacy"))]
    pub context_engine: Option<String>,
}

/// `plugins.entries.<id>`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PluginEntry {
    /// `true` selects the plugin, `false` switches it off. Absent: the other rules decide.
    pub enabled: Option<bool>,
    /// Settings for the plugin itself, checked against the schema in its manifest.
    pub config: OpenObject,
    /// What the plugin may import. Its manifest only asks; nothing is granted that is not here.
    pub capabilities: Capabilities,
    /// Limits, where they differ from those of the host.
    pub limits: PluginLimits,
    /// The host does not serve without this plugin: if it cannot load or is unhealthy, nothing runs unguarded.
    pub required: bool,
    /// What the hooks of the plugin may see and how long they may take.
    pub hooks: HookSettings,
}

/// `plugins.entries.<id>.capabilities`. Absent: not granted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Capabilities {
    /// A key-value store of its own that outlives sessions and restarts.
    pub kv: Option<Grant<KvGrant>>,
    /// Small values in the session that a call belongs to.
    pub session_extension: Option<Grant<SessionExtensionGrant>>,
}

/// `true`, `false`, or an object that grants with limits.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum Grant<T> {
    /// Granted with the host's limits, or not granted.
    Switch(bool),
    /// Granted with these limits.
    Limited(T),
}

impl<T: Default + Clone> Grant<T> {
    /// The limits of a capability that is granted. `None`: it is not.
    pub fn granted(grant: Option<&Self>) -> Option<T> {
        match grant {
            None | Some(Self::Switch(false)) => None,
            Some(Self::Switch(true)) => Some(T::default()),
            Some(Self::Limited(limits)) => Some(limits.clone()),
        }
    }
}

/// Limits of the key-value store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct KvGrant {
    /// Keys and values together, in bytes or as text such as "20mb". Absent: the host's limit.
    pub max_bytes: Option<Quantity<Bytes, 1, { 1 << 30 }>>,
}

/// Limits of the session extension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SessionExtensionGrant {
    /// One value, in bytes or as text such as "4kb". Absent: the host's limit.
    pub max_bytes: Option<Quantity<Bytes, 1, { 1 << 20 }>>,
}

/// `plugins.entries.<id>.limits`. Absent: the host's limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PluginLimits {
    /// Memory of one instance, all its linear memories together, in bytes or as text such as "64mb".
    pub memory_bytes: Option<Quantity<Bytes, { 64 << 10 }, { 4 << 30 }>>,
    /// Instances that may exist at the same time.
    #[schemars(range(min = 1, max = 1_000))]
    pub max_instances: Option<u32>,
    /// Log text of one call, in bytes or as text such as "64kb". What is above is dropped and counted. 0: none.
    pub log_bytes_per_call: Option<Quantity<Bytes, 0, { 16 << 20 }>>,
    /// Answer of one call, in bytes or as text such as "1mb". A larger one counts as malformed.
    pub output_bytes: Option<Quantity<Bytes, 1, { 64 << 20 }>>,
}

/// A hook timeout that an operator may set (plugin-hooks 1.7).
pub type HookTimeout = Quantity<Milliseconds, 1, 600_000>;

/// `plugins.entries.<id>.hooks`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HookSettings {
    /// Time of one call of any hook, in milliseconds or as text such as "5s". It wins over the manifest.
    pub timeout_ms: Option<HookTimeout>,
    /// Times by hook name, for example `before_tool_call`. They win over `timeoutMs`.
    pub timeouts: BTreeMap<String, HookTimeout>,
    /// Whether hooks that see the conversation are registered. Absent: for bundled plugins only.
    pub allow_conversation_access: Option<bool>,
    /// Whether the plugin may change the prompt.
    #[schemars(extend("default" = true))]
    pub allow_prompt_injection: Option<bool>,
}
