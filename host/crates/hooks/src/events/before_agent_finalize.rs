//! `before_agent_finalize` (plugin-hooks 5.4): all handlers run; `finalize` beats `revise`, `revise` beats `continue`.

use super::Messages;
use crate::catalogue::BeforeAgentFinalize;
use crate::join::join_into;
use crate::point::{Fold, Who};

/// The answer that is about to be accepted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    /// Whether this pass was itself asked for by this hook.
    pub stop_hook_active: bool,
    /// Id of the turn.
    pub turn_id: Option<String>,
    /// Provider that answered.
    pub provider: Option<String>,
    /// Model that answered.
    pub model: Option<String>,
    /// Working directory of the run; a name.
    pub cwd: Option<String>,
    /// Transcript of the run; a name.
    pub transcript_path: Option<String>,
    /// Text of the answer.
    pub last_assistant_message: Option<String>,
    /// Messages of the run, oldest first.
    pub messages: Option<Messages>,
}

/// What one handler wants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// None: no objection.
    pub action: Option<Action>,
    /// Why; given to the model on `revise`.
    pub reason: Option<String>,
    /// The pass that is asked for.
    pub retry: Option<Retry>,
}

/// A wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// No objection.
    Continue,
    /// One more pass.
    Revise,
    /// Accept now.
    Finalize,
}

/// One more pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// What the model should do.
    pub instruction: String,
    /// Key that its attempts are counted under; none: its instruction.
    pub idempotency_key: Option<String>,
    /// How often in one run; none: once.
    pub max_attempts: Option<u32>,
}

/// The merged wish.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// Whether a handler wants the answer accepted now; later answers are then ignored.
    pub finalized: bool,
    /// Whether a handler wants one more pass.
    pub revise: bool,
    /// Joined reasons of those who want it.
    pub reason: Option<String>,
    /// Passes asked for, in order; the first one whose budget is not spent is used.
    pub retries: Vec<Retry>,
}

impl Decision {
    /// Whether one more pass is wanted.
    pub fn wants_revision(&self) -> bool {
        self.revise && !self.finalized
    }
}

impl Fold for BeforeAgentFinalize {
    type Decision = Decision;

    fn fold(so_far: Decision, answer: Answer, _who: Who<'_>) -> Decision {
        match answer.action {
            _ if so_far.finalized => so_far,
            None | Some(Action::Continue) => so_far,
            Some(Action::Finalize) => {
                Decision { finalized: true, revise: false, reason: answer.reason.filter(|r| !r.is_empty()), retries: Vec::new() }
            }
            Some(Action::Revise) => {
                let mut retries = so_far.retries;
                retries.extend(answer.retry.filter(|retry| !retry.instruction.trim().is_empty()));
                Decision { finalized: false, revise: true, reason: join_into(so_far.reason, answer.reason.as_deref()), retries }
            }
        }
    }

    fn describe(answer: &Answer) -> Option<String> {
        match answer.action? {
            Action::Continue => None,
            Action::Finalize => Some("finalize".to_owned()),
            Action::Revise => Some(format!("revise “{}”", super::excerpt(answer.reason.as_deref().unwrap_or_default()))),
        }
    }
}
