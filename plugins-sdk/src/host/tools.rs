//! Calls of tools; asks for the grant `toolsInvoke`, by name.
//!
//! A call goes through the host's one executor: policies, hooks and approvals apply, except this plugin's own handlers in the same
//! chain. It works inside a run; elsewhere the answer is [`HostError::Unavailable`].
//!
//! ```
//! use creel_plugin::testing::Host;
//! use creel_plugin::{Result, ToolResult, json, tools};
//!
//! fn first_line(path: &str) -> Result<String> {
//!     let read = tools::invoke("read", &json!({ "path": path }))?;
//!     Ok(read.text().lines().next().unwrap_or_default().to_owned())
//! }
//! # fn main() -> Result<()> {
//! let host = Host::new().tool("read", ToolResult::text("one\ntwo"));
//! assert_eq!(host.run(|| first_line("notes.md"))?, "one");
//! assert_eq!(host.invoked(), [("read".to_owned(), json!({ "path": "notes.md" }))]);
//! # Ok(())
//! # }
//! ```

use super::backend;
use crate::error::HostError;
use crate::json_text;
use crate::tool::{ContentBlock, ToolOutcome, ToolResult};
use serde::Serialize;

/// A tool call that was decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Invoked {
    /// Id that the host gave the call.
    pub tool_call_id: String,
    /// How it ended.
    pub outcome: ToolOutcome,
    /// Its result; for a call that failed or was blocked, the text that a model would have seen.
    pub result: ToolResult,
}

impl Invoked {
    /// The texts of the result, one below the other.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.result.content.iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.as_str()),
            ContentBlock::Image(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Granted tools that the current session can call. Empty: none.
#[must_use]
pub fn names() -> Vec<String> {
    backend::tool_names()
}

/// Calls a tool and waits for it. `params` becomes a JSON object.
///
/// # Errors
/// The call was never decided: not granted, no such tool in this session, or plugin calls are nested too deep.
pub fn invoke(name: &str, params: &impl Serialize) -> Result<Invoked, HostError> {
    backend::invoke_tool(name, &json_text::write_stored(name, params)?)
}
