//! One request to a model: its observers, its stream as events, its end as a message.

use domain::JsonText;
use domain::event::EventData;
use domain::message::{AgentMessage, AssistantMessage, ContentBlock, StopReason};
use domain::model::{
    CallFacts, ConnectionFailure, FailureClass, ModelEvent, ModelFailure, ModelRequest, ResolvedModel, assistant_texts,
};
use futures_util::StreamExt;
use hooks::catalogue::{LlmInput, LlmOutput, ModelCallEnded, ModelCallStarted};
use hooks::events::observed;
use tokio::time::Instant;

use crate::live_text::LiveText;
use crate::run::RunState;
use crate::wind_down::stoppable;

/// The end of a call: a message, and a failure if it is not complete.
pub(crate) struct ModelAnswer {
    pub(crate) message: AssistantMessage,
    pub(crate) failure: Option<ModelFailure>,
    facts: CallFacts,
}

/// What a call belongs to.
pub(crate) struct Asked<'a> {
    pub(crate) resolved: &'a ResolvedModel,
    /// The user's text of this turn, for observers.
    pub(crate) prompt: &'a str,
    /// Whether the prompt is the last message of the request.
    pub(crate) is_first: bool,
}

/// Asks the model.
pub(crate) async fn call(run: &RunState, asked: &Asked<'_>, request: ModelRequest) -> ModelAnswer {
    tell_start(run, asked, &request);
    let facts = Facts::of(asked, &request);
    let started = Instant::now();
    let mut heard = Heard::default();
    let answer = stoppable(run.cancel(), listen(run, asked, request, &facts, &mut heard)).await;
    let mut answer = answer.unwrap_or_else(|| heard.cut_off(&facts));
    if let Some(failure) = answer.failure.as_mut().filter(|_| run.cancel().is_cancelled()) {
        // Whatever the provider makes of it: the call failed because this side gave up.
        failure.class = FailureClass::Aborted;
    }
    let duration = u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX);
    tell_end(run, &facts, &answer, duration);
    answer
}

/// What was heard of an answer so far; it is there when the stream is left.
#[derive(Default)]
struct Heard {
    text: LiveText,
    thinking: LiveText,
}

impl Heard {
    /// The answer as far as it came, of a stream that did not end as a stream must.
    fn partial(&self, facts: &Facts, stop_reason: StopReason, failure: ModelFailure) -> ModelAnswer {
        let text = self.text.text();
        let message = AssistantMessage {
            content: if text.is_empty() { Vec::new() } else { vec![ContentBlock::text(text)] },
            api: facts.api.clone(),
            provider: facts.provider.clone(),
            model: facts.model.clone(),
            stop_reason,
            ..AssistantMessage::default()
        };
        ModelAnswer { message, failure: Some(failure), facts: CallFacts::default() }
    }

    /// The stream was left because it did not end after the run was asked to stop.
    fn cut_off(&self, facts: &Facts) -> ModelAnswer {
        let why = format!("the stream of provider `{}` did not end when it was asked to", facts.provider);
        let failure = ModelFailure::new(FailureClass::Aborted, why);
        let failure = ModelFailure { connection: Some(ConnectionFailure::Aborted), ..failure };
        self.partial(facts, StopReason::Aborted, failure)
    }

    /// The stream ended and its last event did not come.
    fn broken_off(&self, facts: &Facts) -> ModelAnswer {
        let why = format!("BUG: the stream of provider `{}` ended without its last event", facts.provider);
        self.partial(facts, StopReason::Error, ModelFailure::new(FailureClass::Unknown, why))
    }
}

async fn listen(run: &RunState, asked: &Asked<'_>, request: ModelRequest, facts: &Facts, heard: &mut Heard) -> ModelAnswer {
    let mut stream = asked.resolved.client.stream(request, run.cancel().clone()).await;
    while let Some(event) = stream.next().await {
        match event {
            ModelEvent::Start | ModelEvent::ToolCallDelta { .. } => {}
            ModelEvent::TextDelta { index, delta } => {
                if let Some(chunk) = heard.text.push(index, &delta) {
                    run.emit(EventData::Assistant(chunk));
                }
            }
            ModelEvent::ThinkingDelta { index, delta } => {
                if let Some(chunk) = heard.thinking.push_at_once(index, &delta) {
                    run.emit(EventData::Thinking(chunk));
                }
            }
            ModelEvent::Done { message, facts } => {
                if let Some(chunk) = heard.text.rest() {
                    run.emit(EventData::Assistant(chunk));
                }
                return ModelAnswer { message: *message, failure: None, facts };
            }
            ModelEvent::Failed { partial, failure } => {
                let facts = failure.facts.clone();
                return ModelAnswer { message: *partial, failure: Some(failure), facts };
            }
        }
    }
    heard.broken_off(facts)
}

/// What observers of the end need to know of the request.
struct Facts {
    call_id: domain::ModelCallId,
    provider: String,
    model: String,
    api: String,
    transport: String,
    prompt: String,
    thinking: Option<String>,
}

impl Facts {
    fn of(asked: &Asked<'_>, request: &ModelRequest) -> Self {
        Self {
            call_id: request.call_id.clone(),
            provider: request.model.provider.clone(),
            model: request.model.model.clone(),
            api: asked.resolved.client.api().to_owned(),
            transport: asked.resolved.client.transport().to_owned(),
            prompt: asked.prompt.to_owned(),
            thinking: request.thinking.clone(),
        }
    }
}

fn tell_start(run: &RunState, asked: &Asked<'_>, request: &ModelRequest) {
    run.observe::<LlmInput>(run.agent_context(), || observed::LlmInput {
        provider: request.model.provider.clone(),
        model: request.model.model.clone(),
        system_prompt: request.system_prompt.clone(),
        prompt: asked.prompt.to_owned(),
        history_messages: history(asked, request).iter().map(AgentMessage::to_json).collect(),
        images_count: new_images(&request.messages),
        tools: Some(
            request
                .tools
                .iter()
                .map(|tool| {
                    JsonText::from_value(&serde_json::json!({
                        "name": tool.name, "description": tool.description, "parameters": tool.parameters,
                    }))
                })
                .collect(),
        ),
    });
    run.observe::<ModelCallStarted>(run.agent_context(), || observed::ModelCallStarted {
        call_id: request.call_id.clone(),
        provider: request.model.provider.clone(),
        model: request.model.model.clone(),
        api: Some(asked.resolved.client.api().to_owned()),
        transport: Some(asked.resolved.client.transport().to_owned()),
    });
}

/// The messages of a request that are not its prompt. In later calls of a run the prompt stands among them.
fn history<'a>(asked: &Asked<'_>, request: &'a ModelRequest) -> &'a [AgentMessage] {
    match request.messages.split_last() {
        Some((_, before)) if asked.is_first => before,
        _ => &request.messages,
    }
}

/// Pictures that the model has not answered yet.
fn new_images(messages: &[AgentMessage]) -> u32 {
    let new = messages.iter().rev().take_while(|message| !matches!(message, AgentMessage::Assistant(_)));
    let images = new.flat_map(AgentMessage::content).filter(|block| matches!(block, ContentBlock::Image(_)));
    u32::try_from(images.count()).unwrap_or(u32::MAX)
}

fn tell_end(run: &RunState, facts: &Facts, answer: &ModelAnswer, duration_ms: u32) {
    let failure = answer.failure.as_ref();
    run.observe::<ModelCallEnded>(run.agent_context(), || observed::ModelCallEnded {
        call_id: facts.call_id.clone(),
        provider: facts.provider.clone(),
        model: facts.model.clone(),
        api: Some(facts.api.clone()),
        transport: Some(facts.transport.clone()),
        duration_ms,
        completed: failure.is_none(),
        error_category: failure.map(|failure| failure.class.as_str().to_owned()),
        failure_kind: failure.and_then(|failure| failure.connection),
        request_payload_bytes: answer.facts.request_payload_bytes,
        response_stream_bytes: answer.facts.response_stream_bytes,
        time_to_first_byte_ms: answer.facts.time_to_first_byte_ms,
        upstream_request_id_hash: answer.facts.upstream_request_id_hash.clone(),
    });
    run.observe::<LlmOutput>(run.agent_context(), || observed::LlmOutput {
        provider: facts.provider.clone(),
        model: facts.model.clone(),
        assistant_texts: assistant_texts(&answer.message),
        resolved_ref: Some(format!("{}/{}", facts.provider, facts.model)),
        harness_id: None,
        prompt: Some(facts.prompt.clone()),
        last_assistant: Some(AgentMessage::Assistant(answer.message.clone()).to_json()),
        usage: Some(answer.message.usage),
        reasoning_effort: facts.thinking.clone(),
        fast_mode: None,
    });
}
