//! `plugins.circuit`, `plugins.hooks` and their like for one plugin: what becomes of plugins that fail again and again, and how long whole
//! dispatches may take. The numbers that count where nothing is said are those of the hooks, which this crate does not know; a test of the
//! binary compares them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Milliseconds, Quantity};

/// A time of a hook that an operator may set (plugin-hooks 1.7).
pub type HookTimeout = Quantity<Milliseconds, 1, 600_000>;

/// `plugins.circuit` and `plugins.entries.<id>.circuit`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PluginCircuit {
    /// Faults in a row at one hook after which the plugin is not called there for a while: its handler is left out where a failure is
    /// skipped, and blocks where a failure blocks.
    #[schemars(range(min = 1, max = 10_000), extend("default" = 5))]
    pub failures: Option<u32>,
    /// How long that is at first, in milliseconds or as text such as "30s". It doubles, up to ten minutes, each time that the plugin is
    /// tried in vain.
    #[schemars(extend("default" = 60_000))]
    pub cooldown_ms: Option<Quantity<Milliseconds, 1, 600_000>>,
}

/// `plugins.hooks`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PluginHooks {
    /// Time of all handlers of one dispatch together, in milliseconds or as text such as "5s". Each has its own time or what is left,
    /// whichever is less. Absent: only handlers have times.
    pub dispatch_budget_ms: Option<HookTimeout>,
    /// The same by hook name, for example `before_tool_call`. They win over `dispatchBudgetMs`.
    pub dispatch_budgets: BTreeMap<String, HookTimeout>,
}
