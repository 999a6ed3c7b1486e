//! What a test can ask of this plugin: `plugins.entries.<id>.config`.
//!
//! ```json
//! {
//!   "handlers": { "before_tool_call": { "": { "answer": { "block": true } } } },
//!   "record": ["agent_end"],
//!   "tools": [{ "name": "roll", "does": { "answer": { "text": "4" } } }]
//! }
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// All of it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Settings {
    /// By hook name, then by handler name (empty: an entry without one): what the handler does. Absent: no opinion.
    pub(crate) handlers: BTreeMap<String, BTreeMap<String, Plan>>,
    /// Hooks whose calls are recorded in the key-value store.
    pub(crate) record: Vec<String>,
    /// Tools that the plugin offers.
    pub(crate) tools: Vec<ToolPlan>,
}

/// What a handler does.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Plan {
    /// The same in every call.
    Always(Box<Action>),
    /// One after another, counted over all runs; the last one is repeated.
    PerCall(Vec<Action>),
}

/// One conduct: effects first, in the order of the fields, then the end of the call.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Action {
    /// Writes so many lines to standard output and as many records to the log.
    pub(crate) print: u64,
    /// Takes and touches so many bytes of memory.
    pub(crate) alloc: u64,
    /// Computes for so many milliseconds of the clock.
    pub(crate) spin_ms: u64,
    /// Waits for so many milliseconds of the clock.
    pub(crate) sleep_ms: u64,
    /// Computes for ever.
    #[serde(rename = "loop")]
    pub(crate) loops: bool,
    /// Calls itself for ever.
    pub(crate) recurse: bool,
    /// Hits an unreachable instruction.
    pub(crate) trap: bool,
    /// Reports this as its error.
    pub(crate) error: Option<String>,
    /// Answers this, in the words of the contract (camelCase). A text in a field that holds JSON is sent as it stands.
    pub(crate) answer: Option<Value>,
    /// Adds this to the end of the text that the event holds (message, payload or content) and answers with the result.
    pub(crate) append: Option<String>,
    /// Replaces the first text by the second one in every text that the event holds, and answers with the result.
    pub(crate) replace: Option<(String, String)>,
}

/// One tool.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ToolPlan {
    /// Its name.
    pub(crate) name: String,
    /// JSON Schema of its parameters. Absent: an object with any keys.
    #[serde(default)]
    pub(crate) parameters: Option<Value>,
    /// JSON Schema of its details.
    #[serde(default)]
    pub(crate) output_schema: Option<Value>,
    /// Whether it is hidden until the operator allows it.
    #[serde(default)]
    pub(crate) optional: bool,
    /// What a call does. Its `answer` has `text`, `details` and `terminate`.
    #[serde(default)]
    pub(crate) does: Action,
}
