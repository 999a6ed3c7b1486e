//! `before_agent_reply` (plugin-hooks 4.4): the first handler that claims answers or silences the turn.

use domain::payload::ReplyPayload;

use crate::catalogue::BeforeAgentReply;
use crate::context::AgentContext;
use crate::point::Claim;
use crate::registry::HandlerOptions;

/// The turn that is about to be answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    /// Prompt of the run without inline directives.
    pub cleaned_body: String,
    /// Session whose event queue feeds this heartbeat.
    pub heartbeat_event_queue_session_key: Option<String>,
}

/// A claim, or none.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Whether this handler answers the turn.
    pub handled: bool,
    /// The reply; none: the turn stays silent.
    pub reply: Option<ReplyPayload>,
    /// Why, for the log only.
    pub reason: Option<String>,
}

impl Claim for BeforeAgentReply {
    fn selects(_event: &Event, context: &AgentContext, options: &HandlerOptions) -> bool {
        match (&options.eligible_triggers, &context.trigger) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(eligible), Some(trigger)) => eligible.iter().any(|name| name == trigger.as_str()),
        }
    }

    fn claims(answer: &Answer) -> bool {
        answer.handled
    }

    fn describe(answer: &Answer) -> String {
        match answer.reply.as_ref().and_then(|reply| reply.text.as_deref()) {
            Some(text) => format!("reply “{}”", super::excerpt(text)),
            None if answer.reply.is_some() => "reply".to_owned(),
            None => "silence".to_owned(),
        }
    }
}
