//! Partial results of a running tool.

use super::backend;
use crate::tool::ToolResult;

/// Shows this instead of what was shown before. Works during `execute_tool`; elsewhere it does nothing. Never blocks; when updates
/// come faster than the host shows them, the newest counts.
pub fn update(partial: &ToolResult) {
    backend::show_progress(partial);
}
