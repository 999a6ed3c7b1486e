//! A model that plays turns in order and looks at each request: a request that no provider would take is a fault of the loop, and the
//! chat that owns the model fails the test.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use domain::CallId;
use domain::cancel::{Cancel, CancelReason};
use domain::message::{AgentMessage, AssistantMessage, ContentBlock, StopReason, ThinkingBlock, Usage};
use domain::model::{
    CallFacts, FailureClass, ModelClient, ModelEvent, ModelFailure, ModelRef, ModelRegistry, ModelRequest, ResolvedModel,
    UnknownModel,
};
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use serde_json::Value;

use super::Stop;

/// One answer of the model.
pub(crate) struct Turn {
    pieces: VecDeque<Piece>,
    end: Option<End>,
    usage: Usage,
    /// Whether it goes on after it was asked to stop.
    stubborn: bool,
}

enum Piece {
    Text(usize, String),
    Thinking(String),
    Call(ContentBlock),
    Pause(Duration),
    Stop(Stop, CancelReason),
    Hang,
}

enum End {
    Done(StopReason),
    Failed(ModelFailure),
    Panic,
    Missing,
}

/// Says one text.
pub(crate) fn says(text: &str) -> Turn {
    says_in(&[text])
}

/// Says one text in pieces.
pub(crate) fn says_in(pieces: &[&str]) -> Turn {
    Turn::new(pieces.iter().map(|piece| Piece::Text(0, (*piece).to_owned())).collect(), End::Done(StopReason::Stop))
}

/// Ends at once.
pub(crate) fn says_nothing() -> Turn {
    Turn::new(VecDeque::new(), End::Done(StopReason::Stop))
}

/// Wants tools.
pub(crate) fn calls<const N: usize>(wanted: [(&str, &str, Value); N]) -> Turn {
    let call =
        |(id, name, arguments): (&str, &str, Value)| Piece::Call(ContentBlock::tool_call(CallId::new(id), name, arguments));
    Turn::new(wanted.map(call).into(), End::Done(StopReason::ToolUse))
}

/// The provider fails.
pub(crate) fn fails(class: FailureClass, message: &str) -> Turn {
    Turn::new(VecDeque::new(), End::Failed(ModelFailure::new(class, message)))
}

/// The adapter panics.
pub(crate) fn panics() -> Turn {
    Turn::new(VecDeque::new(), End::Panic)
}

impl Turn {
    fn new(pieces: VecDeque<Piece>, end: End) -> Self {
        Self { pieces, end: Some(end), usage: Usage::default(), stubborn: false }
    }

    /// Before everything else, in a content block of its own.
    pub(crate) fn after_saying(mut self, text: &str) -> Self {
        for piece in &mut self.pieces {
            if let Piece::Text(block, _) = piece {
                *block += 1;
            }
        }
        self.pieces.push_front(Piece::Text(0, text.to_owned()));
        self
    }

    pub(crate) fn thinking(mut self, text: &str) -> Self {
        self.pieces.push_back(Piece::Thinking(text.to_owned()));
        self
    }

    pub(crate) fn usage(mut self, input: u32, output: u32) -> Self {
        self.usage = Usage { input: Some(input), output: Some(output), ..Usage::default() };
        self
    }

    pub(crate) fn with_reason(mut self, reason: StopReason) -> Self {
        self.end = Some(End::Done(reason));
        self
    }

    pub(crate) fn pausing(mut self, pause: Duration) -> Self {
        self.pieces.push_back(Piece::Pause(pause));
        self
    }

    /// Somebody stops the run here.
    pub(crate) fn stopped(mut self, stop: &Stop, reason: CancelReason) -> Self {
        self.pieces.push_back(Piece::Stop(stop.clone(), reason));
        self
    }

    /// Nothing comes any more.
    pub(crate) fn hanging(mut self) -> Self {
        self.pieces.push_back(Piece::Hang);
        self
    }

    /// Does not care about a request to stop.
    pub(crate) fn stubborn(mut self) -> Self {
        self.stubborn = true;
        self
    }

    /// The provider fails after what came so far.
    pub(crate) fn then_fails(mut self, class: FailureClass, message: &str) -> Self {
        self.end = Some(End::Failed(ModelFailure::new(class, message)));
        self
    }

    /// The stream ends without its last event.
    pub(crate) fn broken_off(mut self) -> Self {
        self.end = Some(End::Missing);
        self
    }

    fn play(self, model: ModelRef, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        let message = AssistantMessage { provider: model.provider, model: model.model, usage: self.usage, ..Default::default() };
        let player = Player { turn: self, message, blocks: 0, cancel };
        stream::unfold(player, |mut player| async move {
            let event = player.next().await?;
            Some((event, player))
        })
        .boxed()
    }
}

struct Player {
    turn: Turn,
    message: AssistantMessage,
    blocks: usize,
    cancel: Cancel,
}

impl Player {
    async fn next(&mut self) -> Option<ModelEvent> {
        self.turn.end.as_ref()?;
        loop {
            if self.cancel.is_cancelled() && !self.turn.stubborn {
                let aborted = ModelFailure::new(FailureClass::Aborted, "the call was aborted");
                return Some(self.failed(aborted));
            }
            match self.turn.pieces.pop_front() {
                Some(piece) => {
                    if let Some(event) = self.piece(piece).await {
                        return Some(event);
                    }
                }
                None => return self.end(),
            }
        }
    }

    async fn piece(&mut self, piece: Piece) -> Option<ModelEvent> {
        match piece {
            Piece::Text(index, delta) => {
                match self.message.content.last_mut() {
                    Some(ContentBlock::Text(block)) if index + 1 == self.blocks => block.text.push_str(&delta),
                    _ => {
                        self.message.content.push(ContentBlock::text(delta.clone()));
                        self.blocks = index + 1;
                    }
                }
                Some(ModelEvent::TextDelta { index, delta })
            }
            Piece::Thinking(delta) => {
                let block = ThinkingBlock { thinking: delta.clone(), ..ThinkingBlock::default() };
                self.message.content.push(ContentBlock::Thinking(block));
                Some(ModelEvent::ThinkingDelta { index: self.message.content.len() - 1, delta })
            }
            Piece::Call(block) => {
                self.message.content.push(block);
                None
            }
            Piece::Pause(pause) => {
                self.unless_cancelled(tokio::time::sleep(pause)).await;
                None
            }
            Piece::Stop(stop, reason) => {
                stop.now(reason);
                None
            }
            Piece::Hang => {
                self.unless_cancelled(std::future::pending()).await;
                None
            }
        }
    }

    async fn unless_cancelled(&self, work: impl Future<Output = ()>) {
        if self.turn.stubborn {
            return work.await;
        }
        tokio::select! {
            () = work => {}
            () = self.cancel.cancelled() => {}
        }
    }

    fn end(&mut self) -> Option<ModelEvent> {
        match self.turn.end.take()? {
            End::Done(reason) => {
                self.message.stop_reason = reason;
                Some(ModelEvent::Done { message: Box::new(self.message.clone()), facts: CallFacts::default() })
            }
            End::Failed(failure) => Some(self.failed(failure)),
            End::Panic => panic!("the provider adapter has a fault"),
            End::Missing => None,
        }
    }

    fn failed(&mut self, failure: ModelFailure) -> ModelEvent {
        self.turn.end = None;
        ModelEvent::Failed { partial: Box::new(self.message.clone()), failure }
    }
}

/// The model and what it was asked.
#[derive(Default)]
pub(crate) struct ScriptedModel {
    turns: Mutex<VecDeque<Turn>>,
    requests: Mutex<Vec<ModelRequest>>,
    faults: Mutex<Vec<String>>,
}

impl ScriptedModel {
    pub(crate) fn push(&self, turn: Turn) {
        self.turns.lock().unwrap().push_back(turn);
    }

    /// Forgets what was not played.
    pub(crate) fn forget(&self) {
        self.turns.lock().unwrap().clear();
    }

    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// What was wrong with the requests.
    pub(crate) fn faults(&self) -> Vec<String> {
        self.faults.lock().unwrap().clone()
    }

    fn fault(&self, text: String) {
        self.faults.lock().unwrap().push(text);
    }
}

#[async_trait]
impl ModelClient for ScriptedModel {
    fn api(&self) -> &str {
        "stub-api"
    }

    fn transport(&self) -> &str {
        "stub-transport"
    }

    async fn stream(&self, request: ModelRequest, cancel: Cancel) -> BoxStream<'static, ModelEvent> {
        if let Err(fault) = check(&request.messages) {
            self.fault(fault);
        }
        if cancel.is_cancelled() {
            self.fault("the model was asked after the run was asked to stop".to_owned());
        }
        let model = request.model.clone();
        self.requests.lock().unwrap().push(request);
        let turn = self.turns.lock().unwrap().pop_front();
        turn.unwrap_or_else(|| {
            self.fault("the model was asked once more than the script says".to_owned());
            says("(the script is over)")
        })
        .play(model, cancel)
    }
}

/// Each call has its result directly behind its message, in order; each result has its call; no id repeats; no details; something is left
/// to answer.
fn check(messages: &[AgentMessage]) -> Result<(), String> {
    let mut waiting: VecDeque<CallId> = VecDeque::new();
    let mut known: HashSet<CallId> = HashSet::new();
    for message in messages {
        match message {
            AgentMessage::ToolResult(result) => {
                if waiting.pop_front().as_ref() != Some(&result.tool_call_id) {
                    return Err(format!("a result out of place: {}", result.tool_call_id));
                }
                if result.details.is_some() {
                    return Err(format!("details reach the model: {}", result.tool_call_id));
                }
            }
            other => {
                if let Some(id) = waiting.front() {
                    return Err(format!("no result for {id}"));
                }
                let AgentMessage::Assistant(assistant) = other else { continue };
                for call in assistant.tool_calls() {
                    if !known.insert(call.id.clone()) {
                        return Err(format!("two calls have the id {}", call.id));
                    }
                    waiting.push_back(call.id.clone());
                }
            }
        }
    }
    match (waiting.front(), messages.last()) {
        (Some(id), _) => Err(format!("no result for {id}")),
        (None, Some(AgentMessage::User(_) | AgentMessage::ToolResult(_))) => Ok(()),
        (None, _) => Err("nothing is left to answer".to_owned()),
    }
}

/// Knows the providers `stub` and `other`.
pub(crate) struct Models(pub(crate) Arc<ScriptedModel>);

impl ModelRegistry for Models {
    fn resolve(&self, model: &ModelRef) -> Result<ResolvedModel, UnknownModel> {
        if !matches!(model.provider.as_str(), "stub" | "other") {
            return Err(UnknownModel(format!("there is no provider `{}`", model.provider)));
        }
        let client = Arc::clone(&self.0) as _;
        Ok(ResolvedModel { model: model.clone(), client, context_window: Some(100_000), reads_images: true })
    }
}
