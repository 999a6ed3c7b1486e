//! `tool_result_persist` (plugin-hooks 4.11): each handler gets the message that the one before returned. Cannot block.

use domain::CallId;
use domain::message::{AgentMessage, ToolResultMessage};

use crate::catalogue::ToolResultPersist;
use crate::fault::{Fault, FaultKind};
use crate::point::{Fold, Who};

/// The row that is about to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Newest form of the message.
    pub message: ToolResultMessage,
    /// Canonical id of the tool.
    pub tool_name: String,
    /// Id of the call.
    pub tool_call_id: CallId,
    /// Whether the host made the result up.
    pub is_synthetic: bool,
}

/// The rewritten row.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Whole new message.
    pub message: AgentMessage,
}

/// The newest message, if any handler changed it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// The message.
    pub message: Option<ToolResultMessage>,
}

impl Fold for ToolResultPersist {
    type Decision = Decision;

    fn check(event: &Event, answer: &Answer) -> Result<(), Fault> {
        match &answer.message {
            AgentMessage::ToolResult(message) if message.tool_call_id == event.tool_call_id => Ok(()),
            AgentMessage::ToolResult(_) => {
                Err(Fault::new(FaultKind::Malformed, "the answer changes `toolCallId`, which must stay"))
            }
            other => Err(Fault::new(
                FaultKind::Malformed,
                format!("the answer has the role `{}`, which must stay `toolResult`", other.role()),
            )),
        }
    }

    fn fold(so_far: Decision, answer: Answer, _who: Who<'_>) -> Decision {
        match answer.message {
            AgentMessage::ToolResult(message) => Decision { message: Some(message) },
            _ => so_far,
        }
    }

    fn refresh(event: &Event, decision: &Decision) -> Option<Event> {
        decision.message.clone().map(|message| Event { message, ..event.clone() })
    }

    fn describe(_answer: &Answer) -> Option<String> {
        Some("rewrite the stored result".to_owned())
    }
}
