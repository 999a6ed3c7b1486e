//! What the script model asks of every request, whatever the script says: what a real provider would refuse, and what must not leave
//! the host.

use domain::message::AgentMessage;
use domain::model::ModelRequest;

use crate::pairing::{PairingFault, check_pairing};
use crate::tool_names::{ToolNameFault, check_tool_names};

/// What is wrong with a request. `index` counts messages from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RequestFault {
    /// Calls and results do not belong together.
    #[error(transparent)]
    Pairing(#[from] PairingFault),
    /// A tool that cannot be offered.
    #[error(transparent)]
    ToolName(#[from] ToolNameFault),
    /// Details are for user interfaces and hooks (sessions 8.10).
    #[error("message {index} is a tool result with `details`, which no model may see")]
    Details {
        /// The result.
        index: usize,
    },
}

/// Checks a request.
///
/// # Errors
/// The first fault.
pub(super) fn check_request(request: &ModelRequest) -> Result<(), RequestFault> {
    check_pairing(&request.messages)?;
    check_tool_names(&request.tools)?;
    let has_details = |message: &AgentMessage| matches!(message, AgentMessage::ToolResult(result) if result.details.is_some());
    match request.messages.iter().position(has_details) {
        Some(index) => Err(RequestFault::Details { index }),
        None => Ok(()),
    }
}
