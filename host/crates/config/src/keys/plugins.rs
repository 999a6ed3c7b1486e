//! `plugins`: which plugins run, what they are granted and how they are limited (plugin-hooks 9).
//!
//! Names of hooks and of their fields are any text here. The host compares them with its catalogue of hooks, which this crate does not
//! know.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::plugin_circuit::{HookTimeout, PluginCircuit, PluginHooks};
use super::plugin_grants::Capabilities;
use super::plugin_install::PluginInstall;
use super::plugin_limits::{PluginEngine, PluginLimits};
use super::quantity::{Milliseconds, Quantity};
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
    /// What an installation must bring so that it may happen.
    pub install: PluginInstall,
    /// Which plugin fills a place that only one can have.
    pub slots: PluginSlots,
    /// How plugins are run, for all of them.
    pub engine: PluginEngine,
    /// How their hooks are called, for all of them.
    pub hooks: PluginHooks,
    /// What becomes of plugins that fail again and again.
    pub circuit: PluginCircuit,
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
            install: PluginInstall::default(),
            slots: PluginSlots::default(),
            engine: PluginEngine::default(),
            hooks: PluginHooks::default(),
            circuit: PluginCircuit::default(),
            entries: BTreeMap::new(),
        }
    }
}

/// `plugins.load`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PluginLoad {
    /// Files and directories. A relative path starts at the directory of this file.
    #[schemars(inner(length(min = 1)))]
    pub paths: Vec<String>,
    /// Whether a process that runs for long loads plugins again when their files, or this one, change. `creel plugins reload` does it
    /// at any time.
    pub watch: bool,
    /// How long nothing must change before that, in milliseconds or as text such as "1s".
    #[schemars(extend("default" = 300))]
    pub watch_debounce_ms: Option<Quantity<Milliseconds, 10, 60_000>>,
}

impl Default for PluginLoad {
    fn default() -> Self {
        Self { paths: Vec::new(), watch: true, watch_debounce_ms: None }
    }
}

impl PluginLoad {
    /// `watchDebounceMs`, or the default.
    pub fn watch_debounce(&self) -> Duration {
        Duration::from_millis(self.watch_debounce_ms.map_or(300, Quantity::get))
    }
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
    /// The host does not serve without this plugin: if it does not load, nothing runs. If it loads and is unhealthy, because it failed
    /// too often in a row, what it guards is blocked, and a placeholder is stored instead of what it should have checked.
    pub required: bool,
    /// What becomes of it when it fails again and again, where it differs from `plugins.circuit`.
    pub circuit: PluginCircuit,
    /// What the hooks of the plugin may see and how long they may take.
    pub hooks: HookSettings,
}

/// `plugins.entries.<id>.hooks`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HookSettings {
    /// Time of one call of any hook, in milliseconds or as text such as "5s". It wins over the manifest.
    pub timeout_ms: Option<HookTimeout>,
    /// Times by hook name, for example `before_tool_call`. They win over `timeoutMs`.
    pub timeouts: BTreeMap<String, HookTimeout>,
    /// Fields of events that the plugin may see, by hook name, for example `{ before_tool_call: ["toolName"] }`; docs/hooks.md has them.
    /// The others are empty. It narrows what the manifest asks for and never adds to it.
    pub fields: BTreeMap<String, Vec<String>>,
    /// Whether hooks that see the conversation are registered. Absent: for bundled plugins only.
    pub allow_conversation_access: Option<bool>,
    /// Whether the plugin may change the prompt.
    #[schemars(extend("default" = true))]
    pub allow_prompt_injection: Option<bool>,
}
