//! `message_sending` (plugin-hooks 4.13): every handler gets the original text, the last rewrite counts, a cancel is sticky and
//! terminal.

use domain::{JsonText, PluginId};

use super::ChannelRef;
use crate::catalogue::MessageSending;
use crate::point::{Fold, Who};

/// The text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Event {
    /// Where it goes, as the channel addresses it.
    pub to: String,
    /// The text.
    pub content: String,
    /// Message that it answers.
    pub reply_to_id: Option<ChannelRef>,
    /// Thread inside the conversation.
    pub thread_id: Option<ChannelRef>,
    /// At least channel, account and media addresses.
    pub metadata: Option<JsonText>,
}

/// The decision of one handler.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// New text; empty is a value.
    pub content: Option<String>,
    /// Nothing is sent.
    pub cancel: bool,
    /// Why.
    pub cancel_reason: Option<String>,
    /// Kept with the suppressed delivery.
    pub metadata: Option<JsonText>,
}

/// The merged decision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// Last rewrite.
    pub content: Option<String>,
    /// Who cancelled, if anybody.
    pub cancelled_by: Option<PluginId>,
    /// Last reason given.
    pub cancel_reason: Option<String>,
    /// Last metadata given.
    pub metadata: Option<JsonText>,
}

impl Fold for MessageSending {
    type Decision = Decision;

    fn fold(so_far: Decision, answer: Answer, who: Who<'_>) -> Decision {
        Decision {
            content: answer.content.or(so_far.content),
            cancelled_by: so_far.cancelled_by.or_else(|| answer.cancel.then(|| who.plugin.clone())),
            cancel_reason: answer.cancel_reason.or(so_far.cancel_reason),
            metadata: answer.metadata.or(so_far.metadata),
        }
    }

    fn is_terminal(decision: &Decision) -> bool {
        decision.cancelled_by.is_some()
    }

    fn describe(answer: &Answer) -> Option<String> {
        if answer.cancel {
            return Some(format!("cancel “{}”", super::excerpt(answer.cancel_reason.as_deref().unwrap_or_default())));
        }
        answer.content.as_deref().map(|text| format!("rewrite to “{}”", super::excerpt(text)))
    }
}
