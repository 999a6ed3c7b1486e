//! `before_message_write` (plugin-hooks 5.9): each handler gets the newest message; the first block ends it and drops the row.

use domain::PluginId;
use domain::message::AgentMessage;

use crate::catalogue::BeforeMessageWrite;
use crate::fault::{Fault, FaultKind};
use crate::point::{Fold, Who};

/// The row that is about to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Newest form of the message.
    pub message: AgentMessage,
}

/// The decision of one handler.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The row is not written.
    pub block: bool,
    /// Whole new message; not looked at with `block`.
    pub message: Option<AgentMessage>,
}

/// The merged decision.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// Who dropped the row, if anybody.
    pub blocked_by: Option<PluginId>,
    /// The newest message, if any handler changed it.
    pub message: Option<AgentMessage>,
}

impl Fold for BeforeMessageWrite {
    type Decision = Decision;

    fn check(event: &Event, answer: &Answer) -> Result<(), Fault> {
        let Some(new) = answer.message.as_ref().filter(|_| !answer.block) else { return Ok(()) };
        if new.role() != event.message.role() {
            let text = format!("the answer changes the role from `{}` to `{}`", event.message.role(), new.role());
            return Err(Fault::new(FaultKind::Malformed, text));
        }
        match (&event.message, new) {
            (AgentMessage::ToolResult(old), AgentMessage::ToolResult(new)) if old.tool_call_id != new.tool_call_id => {
                Err(Fault::new(FaultKind::Malformed, "the answer changes `toolCallId`, which must stay"))
            }
            _ => Ok(()),
        }
    }

    fn fold(so_far: Decision, answer: Answer, who: Who<'_>) -> Decision {
        if answer.block {
            return Decision { blocked_by: Some(who.plugin.clone()), ..so_far };
        }
        Decision { message: answer.message.or(so_far.message), ..so_far }
    }

    fn is_terminal(decision: &Decision) -> bool {
        decision.blocked_by.is_some()
    }

    fn refresh(_event: &Event, decision: &Decision) -> Option<Event> {
        decision.message.clone().map(|message| Event { message })
    }

    fn describe(answer: &Answer) -> Option<String> {
        if answer.block {
            return Some("drop the row".to_owned());
        }
        answer.message.is_some().then(|| "rewrite the row".to_owned())
    }
}
