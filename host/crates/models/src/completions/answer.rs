//! One answer out of its chunks: events while it comes, the message at its end.

use domain::CallId;
use domain::message::{StopReason, ToolCallBlock};
use domain::model::{CallFacts, FailureClass, ModelEvent, ModelFailure};
use serde_json::{Map, Value};

use super::calls::{CallFault, Calls};
use super::chunk::{CallDelta, Choice, Chunk, Delta, usage_of};
use crate::call_ids::CallIds;
use crate::classify::Refusal;
use crate::draft::Draft;
use crate::http::Blame;

/// An answer under way.
#[derive(Debug)]
pub(super) struct Answer {
    draft: Draft,
    calls: Calls,
    ids: CallIds,
    finish: Option<String>,
    stop_with_tool_calls: bool,
    blame: Blame,
}

impl Answer {
    /// An empty answer. `ids` are those that the history has used.
    pub(super) fn new(draft: Draft, ids: CallIds, stop_with_tool_calls: bool, blame: Blame) -> Self {
        Self { draft, calls: Calls::default(), ids, finish: None, stop_with_tool_calls, blame }
    }

    /// Whether the server has said how the answer ends. What follows is usage, and may be missing.
    pub(super) fn is_complete(&self) -> bool {
        self.finish.is_some()
    }

    /// Takes the data of one event.
    ///
    /// # Errors
    /// When the data is no chunk, or tells of an error.
    pub(super) fn take(&mut self, data: &str) -> Result<Vec<ModelEvent>, ModelFailure> {
        let value: Value = serde_json::from_str(data).map_err(|_| self.unreadable("an event that is not JSON", data))?;
        let chunk: Chunk = serde_json::from_value(value).map_err(|error| {
            self.unreadable(&format!("an event of an unknown form ({})", self.blame.quote(&error.to_string())), data)
        })?;
        if let Some(error) = &chunk.error {
            return Err(self.blame.reported(&Refusal::of_value(error)));
        }
        if let Some(usage) = &chunk.usage {
            self.draft.set_usage(usage_of(usage));
        }
        match chunk.choices.iter().find(|choice| choice.index == 0) {
            Some(choice) => self.choice(choice),
            None => Ok(Vec::new()),
        }
    }

    fn choice(&mut self, choice: &Choice) -> Result<Vec<ModelEvent>, ModelFailure> {
        let mut events = Vec::new();
        if let Some(usage) = &choice.usage {
            self.draft.set_usage(usage_of(usage));
        }
        if let Some(delta) = &choice.delta {
            self.delta(delta, &mut events)?;
        }
        // A whole message behind deltas only repeats them.
        if let Some(message) = choice.message.as_ref().filter(|_| self.draft.is_empty()) {
            self.delta(message, &mut events)?;
        }
        if let Some(reason) = choice.finish_reason.as_ref().filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason.clone());
        }
        Ok(events)
    }

    fn delta(&mut self, delta: &Delta, events: &mut Vec<ModelEvent>) -> Result<(), ModelFailure> {
        let thinking = delta.thinking();
        if !thinking.is_empty() {
            events.push(self.draft.thinking(thinking.to_owned()));
        }
        let text = delta.text();
        if !text.is_empty() {
            events.push(self.draft.text(text));
        }
        let siblings = delta.tool_calls.len();
        for (position, piece) in delta.tool_calls.iter().enumerate() {
            events.push(self.call(piece, position, siblings)?);
        }
        Ok(())
    }

    fn call(&mut self, piece: &CallDelta, position: usize, siblings: usize) -> Result<ModelEvent, ModelFailure> {
        let placed = self.calls.add(piece, position, siblings).map_err(|fault| misformed(&self.blame, &fault))?;
        if placed.is_new {
            let empty = ToolCallBlock { id: CallId::new(""), name: String::new(), arguments: Value::Null, extra: Map::new() };
            placed.call.block = self.draft.call(empty);
        }
        let (index, name) = (placed.call.block, placed.call.name().to_owned());
        Ok(ModelEvent::ToolCallDelta { index, name, delta: piece.function.arguments() })
    }

    /// Ends the answer: done, or failed if its end is an error or a tool call cannot be used.
    pub(super) fn end(mut self, facts: CallFacts) -> ModelEvent {
        let finished = self.stop_reason().and_then(|stop| {
            if stop == StopReason::ToolUse {
                let calls = std::mem::take(&mut self.calls).finish(&mut self.ids);
                let calls = calls.map_err(|fault| misformed(&self.blame, &fault))?;
                calls.into_iter().for_each(|(block, call)| self.draft.replace_call(block, call));
            }
            if stop == StopReason::Stop && !self.calls.is_empty() {
                tracing::warn!(
                    "{}: the answer ended with `stop` although it has tool calls; they are dropped",
                    self.blame.provider()
                );
            }
            Ok(stop)
        });
        match finished {
            Ok(stop) => ModelEvent::Done { message: self.draft.finish(stop), facts },
            Err(failure) => self.fail(ModelFailure { facts, ..failure }),
        }
    }

    /// The table of finish reasons (runtime 12.2).
    fn stop_reason(&self) -> Result<StopReason, ModelFailure> {
        let has_calls = !self.calls.is_empty();
        match self.finish.as_deref().unwrap_or_default() {
            "stop" | "end" if has_calls && self.stop_with_tool_calls => Ok(StopReason::ToolUse),
            "stop" | "end" => Ok(StopReason::Stop),
            "length" => Ok(StopReason::Length),
            "tool_calls" | "function_call" if has_calls => Ok(StopReason::ToolUse),
            "tool_calls" | "function_call" => Ok(StopReason::Stop),
            "content_filter" => Err(self.blame.failure(FailureClass::Unknown, "stopped the answer by its content filter")),
            other => {
                let what = format_args!("ended the answer with `{}`", self.blame.quote(other));
                Err(self.blame.failure(FailureClass::Unknown, what))
            }
        }
    }

    /// Gives up; what was said so far is kept.
    pub(super) fn fail(self, failure: ModelFailure) -> ModelEvent {
        self.draft.fail(failure)
    }

    fn unreadable(&self, what: &str, data: &str) -> ModelFailure {
        self.blame.failure(FailureClass::Unknown, format_args!("sent {what}: {}", self.blame.quote(data)))
    }
}

fn misformed(blame: &Blame, fault: &CallFault) -> ModelFailure {
    blame.failure(FailureClass::Unknown, blame.quote(&fault.to_string()))
}
