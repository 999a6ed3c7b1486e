//! An answer in the making. Every client builds its message here, so that the rules for what survives an end (runtime 12.1.6) exist
//! once.

use domain::message::{AssistantMessage, ContentBlock, StopReason, TextBlock, ThinkingBlock, ToolCallBlock, Usage};
use domain::model::{FailureClass, ModelEvent, ModelFailure, ModelRef};

/// An unfinished assistant message.
#[derive(Debug)]
pub(crate) struct Draft {
    message: AssistantMessage,
}

impl Draft {
    /// An empty answer of a model.
    pub(crate) fn new(api: &str, model: &ModelRef, timestamp: u64) -> Self {
        let message = AssistantMessage {
            api: api.to_owned(),
            provider: model.provider.clone(),
            model: model.model.clone(),
            timestamp,
            ..AssistantMessage::default()
        };
        Self { message }
    }

    /// Whether nothing was said yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.message.content.is_empty()
    }

    /// Adds text, to the last block if that is text.
    pub(crate) fn text(&mut self, delta: String) -> ModelEvent {
        match self.message.content.last_mut() {
            Some(ContentBlock::Text(block)) => block.text.push_str(&delta),
            _ => {
                self.message.content.push(ContentBlock::Text(TextBlock { text: delta.clone(), ..TextBlock::default() }));
            }
        }
        ModelEvent::TextDelta { index: self.last_index(), delta }
    }

    /// Adds reasoning, to the last block if that is reasoning.
    pub(crate) fn thinking(&mut self, delta: String) -> ModelEvent {
        match self.message.content.last_mut() {
            Some(ContentBlock::Thinking(block)) => block.thinking.push_str(&delta),
            _ => {
                let block = ThinkingBlock { thinking: delta.clone(), ..ThinkingBlock::default() };
                self.message.content.push(ContentBlock::Thinking(block));
            }
        }
        ModelEvent::ThinkingDelta { index: self.last_index(), delta }
    }

    /// Adds a tool call and answers its block's index.
    pub(crate) fn call(&mut self, call: ToolCallBlock) -> usize {
        self.message.content.push(ContentBlock::ToolCall(call));
        self.last_index()
    }

    /// Replaces the tool call of a block.
    pub(crate) fn replace_call(&mut self, index: usize, call: ToolCallBlock) {
        if let Some(block) = self.message.content.get_mut(index) {
            *block = ContentBlock::ToolCall(call);
        }
    }

    /// Sets the tokens.
    pub(crate) fn set_usage(&mut self, usage: Usage) {
        self.message.usage = usage;
    }

    /// Ends the answer. Tool calls stay only if it wants tools to run.
    pub(crate) fn finish(mut self, stop: StopReason) -> Box<AssistantMessage> {
        self.message.stop_reason = stop;
        if stop != StopReason::ToolUse {
            self.message.content.retain(|block| !matches!(block, ContentBlock::ToolCall(_)));
        }
        Box::new(self.message)
    }

    /// Ends the answer with a failure. Text and reasoning stay, tool calls go.
    pub(crate) fn fail(mut self, failure: ModelFailure) -> ModelEvent {
        let stop = match failure.class {
            FailureClass::Aborted => StopReason::Aborted,
            _ => StopReason::Error,
        };
        self.message.error_message = Some(failure.message.clone());
        ModelEvent::Failed { partial: self.finish(stop), failure }
    }

    fn last_index(&self) -> usize {
        self.message.content.len().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use domain::CallId;
    use serde_json::{Map, json};

    use super::*;

    fn draft() -> Draft {
        let mut draft = Draft::new("api", &ModelRef::new("p", "m"), 5);
        draft.thinking("hm".to_owned());
        draft.text("a".to_owned());
        draft.text("b".to_owned());
        let call = ToolCallBlock { id: CallId::new("c"), name: "read".to_owned(), arguments: json!({}), extra: Map::new() };
        assert_eq!(draft.call(call), 2);
        assert_eq!(draft.text("c".to_owned()), ModelEvent::TextDelta { index: 3, delta: "c".to_owned() });
        draft
    }

    #[test]
    fn deltas_of_one_kind_share_a_block() {
        let message = draft().finish(StopReason::ToolUse);
        assert_eq!(message.content.len(), 4);
        assert_eq!(domain::model::assistant_texts(&message), ["ab", "c"]);
    }

    #[test]
    fn only_an_answer_that_wants_tools_keeps_its_calls() {
        assert_eq!(draft().finish(StopReason::ToolUse).tool_calls().count(), 1);
        for stop in [StopReason::Stop, StopReason::Length] {
            assert_eq!(draft().finish(stop).tool_calls().count(), 0);
        }
        for (class, stop) in [(FailureClass::Aborted, StopReason::Aborted), (FailureClass::Timeout, StopReason::Error)] {
            let event = draft().fail(ModelFailure::new(class, "why"));
            let ModelEvent::Failed { partial, .. } = event else { unreachable!("a failed draft is a failure") };
            assert_eq!((partial.stop_reason, partial.tool_calls().count()), (stop, 0));
            assert_eq!(partial.error_message.as_deref(), Some("why"));
        }
    }
}
