//! `reply_payload_sending` (plugin-hooks 5.10): each handler gets the newest payload; a cancel is sticky and terminal. Host trust
//! marks never reach a handler and are ignored in answers.

use domain::JsonText;
use domain::PluginId;
use domain::payload::{HOST_TRUST_KEYS, PayloadKind, ReplyPayload};

use crate::catalogue::ReplyPayloadSending;
use crate::point::{Fold, Who};

/// The payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Newest payload, without host trust marks; make one with [`Event::new`].
    pub payload: ReplyPayload,
    /// What it is part of.
    pub kind: PayloadKind,
    /// Id of the channel plugin.
    pub channel: Option<String>,
    /// State of the turn's use.
    pub usage_state: Option<JsonText>,
}

impl Event {
    /// Takes the host's trust marks off the payload.
    pub fn new(payload: ReplyPayload, kind: PayloadKind) -> Self {
        Self { payload: without_trust(payload), kind, channel: None, usage_state: None }
    }
}

/// The decision of one handler.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Whole new payload.
    pub payload: Option<ReplyPayload>,
    /// Nothing is sent.
    pub cancel: bool,
    /// Why, for the log.
    pub reason: Option<String>,
}

/// The merged decision.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Decision {
    /// The newest payload, if any handler changed it.
    pub payload: Option<ReplyPayload>,
    /// Who cancelled, if anybody.
    pub cancelled_by: Option<PluginId>,
    /// Last reason given.
    pub reason: Option<String>,
}

impl Decision {
    /// The payload to send: the newest one, with the trust marks of the original put back.
    pub fn apply(self, original: ReplyPayload) -> ReplyPayload {
        let Some(mut payload) = self.payload else { return original };
        for key in HOST_TRUST_KEYS {
            if let Some(mark) = original.extra.get(key) {
                payload.extra.insert(key.to_owned(), mark.clone());
            }
        }
        payload
    }
}

fn without_trust(mut payload: ReplyPayload) -> ReplyPayload {
    for key in HOST_TRUST_KEYS {
        payload.extra.shift_remove(key);
    }
    payload
}

impl Fold for ReplyPayloadSending {
    type Decision = Decision;

    fn fold(so_far: Decision, answer: Answer, who: Who<'_>) -> Decision {
        Decision {
            payload: answer.payload.map(without_trust).or(so_far.payload),
            cancelled_by: so_far.cancelled_by.or_else(|| answer.cancel.then(|| who.plugin.clone())),
            reason: answer.reason.or(so_far.reason),
        }
    }

    fn is_terminal(decision: &Decision) -> bool {
        decision.cancelled_by.is_some()
    }

    fn refresh(event: &Event, decision: &Decision) -> Option<Event> {
        decision.payload.clone().map(|payload| Event { payload, ..event.clone() })
    }

    fn describe(answer: &Answer) -> Option<String> {
        if answer.cancel {
            return Some("cancel the payload".to_owned());
        }
        let payload = answer.payload.as_ref()?;
        Some(format!("payload “{}”", super::excerpt(payload.text.as_deref().unwrap_or_default())))
    }
}
