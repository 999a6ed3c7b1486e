//! `before_agent_run` (plugin-hooks 5.3): the last gate before the model. The first block ends it; a fault blocks too.

use domain::{JsonText, PluginId};

use super::Messages;
use crate::catalogue::BeforeAgentRun;
use crate::fault::{Fault, FaultKind};
use crate::point::{Fold, Who};

/// The request that is about to go to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// User prompt as built.
    pub prompt: String,
    /// Messages as built, oldest first.
    pub messages: Messages,
    /// System prompt as built.
    pub system_prompt: Option<String>,
    /// Whether the sender owns this host.
    pub sender_is_owner: Option<bool>,
}

/// The decision of one handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Go on.
    Pass,
    /// Do not call the model.
    Block(Block),
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Why, for the operator; sensitive, shown nowhere.
    pub reason: String,
    /// Stands in the transcript instead of the user's text; none: the host's text.
    pub message: Option<String>,
    /// A short word for statistics.
    pub category: Option<String>,
    /// A JSON object.
    pub metadata: Option<JsonText>,
}

/// The merged decision: who blocked, if anybody.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// The block.
    pub blocked: Option<(PluginId, Block)>,
}

impl Fold for BeforeAgentRun {
    type Decision = Decision;

    fn check(_event: &Event, answer: &Answer) -> Result<(), Fault> {
        let Answer::Block(block) = answer else { return Ok(()) };
        let blank = |text: &Option<String>| text.as_deref().is_some_and(|text| text.trim().is_empty());
        let broken = if block.reason.trim().is_empty() {
            "block.reason is blank"
        } else if blank(&block.message) {
            "block.message is blank"
        } else if blank(&block.category) {
            "block.category is blank"
        } else {
            return Ok(());
        };
        Err(Fault::new(FaultKind::Malformed, broken))
    }

    fn fold(so_far: Decision, answer: Answer, who: Who<'_>) -> Decision {
        match answer {
            Answer::Pass => so_far,
            Answer::Block(block) => Decision { blocked: so_far.blocked.or_else(|| Some((who.plugin.clone(), block))) },
        }
    }

    fn is_terminal(decision: &Decision) -> bool {
        decision.blocked.is_some()
    }

    fn describe(answer: &Answer) -> Option<String> {
        match answer {
            Answer::Pass => None,
            // The reason is sensitive and is shown nowhere, so traces do not have it either.
            Answer::Block(_) => Some("block the run".to_owned()),
        }
    }
}
