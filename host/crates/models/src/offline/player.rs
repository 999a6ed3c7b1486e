//! Plays an answer that is known beforehand as a stream. Pauses go through tokio's time, so that tests can pause it.

use std::collections::VecDeque;
use std::time::Duration;

use domain::cancel::Cancel;
use domain::message::{StopReason, ToolCallBlock, Usage};
use domain::model::{CallFacts, ConnectionFailure, FailureClass, ModelEvent, ModelFailure};
use futures_util::stream::{self, BoxStream, StreamExt};

use crate::draft::Draft;

/// One step of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    /// A piece of text.
    Text(String),
    /// A piece of reasoning.
    Thinking(String),
    /// A tool call.
    Call(ToolCallBlock),
    /// Nothing, for a while.
    Pause(Duration),
}

/// How an answer ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    /// Well.
    Done(StopReason, Usage),
    /// With a failure.
    Failed(ModelFailure),
}

/// An answer under way.
pub(super) struct Player {
    draft: Option<Draft>,
    steps: VecDeque<Step>,
    ending: Ending,
    started: bool,
    cancel: Cancel,
}

impl Player {
    /// An answer that has not begun.
    pub(super) fn new(draft: Draft, steps: impl IntoIterator<Item = Step>, ending: Ending, cancel: Cancel) -> Self {
        Self { draft: Some(draft), steps: steps.into_iter().collect(), ending, started: false, cancel }
    }

    /// The events.
    pub(super) fn into_stream(self) -> BoxStream<'static, ModelEvent> {
        stream::unfold(self, Self::next).boxed()
    }

    async fn next(mut self) -> Option<(ModelEvent, Self)> {
        let mut draft = self.draft.take()?;
        loop {
            if self.cancel.is_cancelled() {
                return Some((draft.fail(aborted()), self));
            }
            if !std::mem::replace(&mut self.started, true) {
                self.draft = Some(draft);
                return Some((ModelEvent::Start, self));
            }
            let event = match self.steps.pop_front() {
                Some(Step::Text(text)) => draft.text(text),
                Some(Step::Thinking(text)) => draft.thinking(text),
                Some(Step::Call(call)) => {
                    let (name, delta) = (call.name.clone(), call.arguments.to_string());
                    ModelEvent::ToolCallDelta { index: draft.call(call), name, delta }
                }
                Some(Step::Pause(pause)) => {
                    tokio::select! {
                        () = self.cancel.cancelled() => {}
                        () = tokio::time::sleep(pause) => {}
                    }
                    continue;
                }
                None => return Some((end(draft, self.ending.clone()), self)),
            };
            self.draft = Some(draft);
            return Some((event, self));
        }
    }
}

fn end(mut draft: Draft, ending: Ending) -> ModelEvent {
    match ending {
        Ending::Done(stop, usage) => {
            draft.set_usage(usage);
            ModelEvent::Done { message: draft.finish(stop), facts: CallFacts::default() }
        }
        Ending::Failed(failure) => draft.fail(failure),
    }
}

fn aborted() -> ModelFailure {
    let failure = ModelFailure::new(FailureClass::Aborted, "the call to provider `offline` was aborted");
    ModelFailure { connection: Some(ConnectionFailure::Aborted), ..failure }
}
