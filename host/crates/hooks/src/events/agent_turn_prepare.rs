//! `agent_turn_prepare` (plugin-hooks 5.1): texts join in execution order.

use domain::{JsonText, PluginId};

use super::Messages;
use crate::catalogue::AgentTurnPrepare;
use crate::join::join_into;
use crate::point::{Fold, Who};

/// The turn that is being prepared.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// User prompt of this turn.
    pub prompt: String,
    /// Prepared session messages, oldest first.
    pub messages: Messages,
    /// Texts that plugins had queued for this turn.
    pub queued_injections: Vec<QueuedInjection>,
}

/// One drained injection.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedInjection {
    /// Id from the queue.
    pub id: String,
    /// Plugin that queued it.
    pub plugin_id: PluginId,
    /// Its display name.
    pub plugin_name: Option<String>,
    /// When it was queued, milliseconds since 1970-01-01 UTC.
    pub created_at: u64,
    /// Where its text goes.
    pub placement: Placement,
    /// The text.
    pub text: String,
    /// The key that it was queued with.
    pub idempotency_key: Option<String>,
    /// Milliseconds that it was allowed to wait.
    pub ttl_ms: Option<u64>,
    /// The value that it was queued with.
    pub metadata: Option<JsonText>,
}

/// Where a queued text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Before the user prompt.
    Prepend,
    /// After the user prompt.
    Append,
}

/// Text for this turn; the merged answer has the same form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Goes before the user prompt.
    pub prepend_context: Option<String>,
    /// Goes after the user prompt.
    pub append_context: Option<String>,
}

impl Fold for AgentTurnPrepare {
    type Decision = Answer;

    fn fold(so_far: Answer, answer: Answer, _who: Who<'_>) -> Answer {
        Answer {
            prepend_context: join_into(so_far.prepend_context, answer.prepend_context.as_deref()),
            append_context: join_into(so_far.append_context, answer.append_context.as_deref()),
        }
    }

    fn describe(answer: &Answer) -> Option<String> {
        super::before_prompt_build::describe_parts(&[
            ("prependContext", answer.prepend_context.as_deref()),
            ("appendContext", answer.append_context.as_deref()),
        ])
    }
}
