//! Questions about the final set of tools of a turn.
//!
//! They work in the second phase of `before_prompt_build` (manifest: `requiresToolAuthority`), where the event has a fingerprint;
//! elsewhere the answer is [`HostError::Unavailable`].

use super::backend;
use crate::error::HostError;

/// Whether the turn may call this tool.
///
/// # Errors
/// There is no authority here, or it is stale.
pub fn allows(tool: &str) -> Result<bool, HostError> {
    backend::tool_allowed(tool)
}

/// Names of all tools that the turn may call.
///
/// # Errors
/// There is no authority here, or it is stale; `NotFound`: this harness can answer [`allows`] only.
pub fn tools() -> Result<Vec<String>, HostError> {
    backend::allowed_tools()
}

/// Whether the answers above still hold.
#[must_use]
pub fn is_active() -> bool {
    backend::authority_is_active()
}
