//! Answers of the hooks through which messages pass: on their way into a transcript and on their way out.

use super::decision;
use crate::bindings::{before_message_write, message_sending, reply_payload_sending, tool_result_persist};
use crate::document::{Message, Payload};
use crate::json_text;
use serde_json::Value;

decision! {
    /// What becomes of a tool result that is about to be written.
    PersistDecision, tool_result_persist, tool_result_persist::Answer { message: String::new() }
}

impl PersistDecision {
    /// Write this message instead; its role and `toolCallId` must be the old ones.
    pub fn replace(message: &Message) -> Self {
        Self::pass().with(|answer| answer.message = message.to_json())
    }
}

decision! {
    /// What becomes of a message that is about to be written.
    WriteDecision, before_message_write, before_message_write::Answer {
        block: false,
        message: None,
    }
}

impl WriteDecision {
    /// Write this message instead; its role and `toolCallId` must be the old ones.
    pub fn replace(message: &Message) -> Self {
        Self::pass().with(|answer| answer.message = Some(message.to_json()))
    }

    /// Do not write it. A tool that ran is not undone.
    pub fn block() -> Self {
        Self::pass().with(|answer| answer.block = true)
    }
}

decision! {
    /// What becomes of a reply payload.
    PayloadDecision, reply_payload_sending, reply_payload_sending::Answer {
        payload: None,
        cancel: false,
        reason: None,
    }
}

impl PayloadDecision {
    /// Send this payload instead.
    pub fn replace(payload: &Payload) -> Self {
        Self::pass().with(|answer| answer.payload = Some(payload.to_json()))
    }

    /// Send nothing; the reason is for the log.
    pub fn cancel(reason: impl Into<String>) -> Self {
        Self::pass().with(|answer| {
            answer.cancel = true;
            answer.reason = Some(reason.into());
        })
    }
}

decision! {
    /// What becomes of an outgoing text.
    ///
    /// ```
    /// use creel_plugin::{SendDecision, json};
    ///
    /// let rewritten = SendDecision::rewrite("our product");
    /// let kept_back = SendDecision::cancel("names a customer").metadata(&json!({ "rule": "customers" }));
    /// # let _ = (rewritten, kept_back);
    /// ```
    SendDecision, message_sending, message_sending::Answer {
        content: None,
        cancel: false,
        cancel_reason: None,
        metadata: None,
    }
}

impl SendDecision {
    /// Send this text instead. Empty is a value.
    pub fn rewrite(content: impl Into<String>) -> Self {
        Self::pass().with(|answer| answer.content = Some(content.into()))
    }

    /// Send nothing; the reason is kept with the suppressed delivery.
    pub fn cancel(reason: impl Into<String>) -> Self {
        Self::pass().with(|answer| {
            answer.cancel = true;
            answer.cancel_reason = Some(reason.into());
        })
    }

    /// A JSON value to keep with the suppressed delivery. Without a cancel it says nothing.
    pub fn metadata(mut self, value: &Value) -> Self {
        if let Some(answer) = self.0.as_mut().filter(|answer| answer.cancel) {
            answer.metadata = Some(json_text::write(value));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::{Message, PayloadDecision, PersistDecision, SendDecision, WriteDecision};
    use crate::document::Payload;
    use serde_json::json;

    #[test]
    fn a_replaced_message_is_written_as_it_is() {
        let message = Message::parse(r#"{"role":"toolResult","x":1}"#).unwrap();
        let persisted = PersistDecision::replace(&message);
        assert_eq!(persisted.answer().unwrap().message, r#"{"role":"toolResult","x":1}"#);
        let written = WriteDecision::replace(&message);
        let answer = written.answer().unwrap();
        assert_eq!(answer.message.as_deref(), Some(r#"{"role":"toolResult","x":1}"#));
        assert!(!answer.block);
        assert!(WriteDecision::block().answer().unwrap().block);
    }

    #[test]
    fn metadata_goes_with_a_cancel_only() {
        let value = json!({ "rule": 1 });
        assert_eq!(SendDecision::rewrite("x").metadata(&value), SendDecision::rewrite("x"));
        let cancelled = SendDecision::cancel("r").metadata(&value);
        let answer = cancelled.answer().unwrap();
        assert!(answer.cancel);
        assert_eq!(answer.cancel_reason.as_deref(), Some("r"));
        assert_eq!(answer.metadata.as_deref(), Some(r#"{"rule":1}"#));
    }

    #[test]
    fn a_payload_is_replaced_or_cancelled() {
        let replaced = PayloadDecision::replace(&Payload::text("a"));
        assert_eq!(replaced.answer().unwrap().payload.as_deref(), Some(r#"{"text":"a"}"#));
        let cancelled = PayloadDecision::cancel("r");
        assert!(cancelled.answer().unwrap().cancel);
        assert_eq!(cancelled.answer().unwrap().reason.as_deref(), Some("r"));
    }
}
