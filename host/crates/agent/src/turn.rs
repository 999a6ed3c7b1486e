//! The inner loop (agent-loop 11.2): request, answer, tool batch, again; until the model comes to an end, fails, or is stopped. Each
//! request is built from the rows as they are stored.

use domain::ModelCallId;
use domain::cancel::CancelReason;
use domain::message::{AgentMessage, AssistantMessage, ContentBlock, StopReason, ToolCallBlock, Usage, text_of};
use domain::model::{FailureClass, ModelRequest, ResolvedModel};
use domain::tool::ToolSpec;
use hooks::events::before_agent_finalize;

use crate::append;
use crate::error::RunError;
use crate::finalize::{self, Revisions};
use crate::model_call::{self, Asked, ModelAnswer};
use crate::request_view::{self, TurnText};
use crate::run::RunState;
use crate::tool_batch;

/// Model calls in one run. Far above any sensible run: it stops a model that asks for tools for ever long before the run timer does.
pub const MAX_MODEL_CALLS: u32 = 500;

/// Kind of the note that asks for another pass.
pub const REVISE_NOTE: &str = "revise";
/// Kind of the note behind an answer that was interrupted (11.2.5).
pub const INTERRUPTED_NOTE: &str = "interrupted";

/// What the conversation with the model left.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    /// What the last call said to the user, perhaps half of it; none: it has not ended, wanted tools, or said nothing.
    pub(crate) answer: Option<AssistantMessage>,
    pub(crate) usage: Usage,
    pub(crate) last_call_usage: Usage,
    pub(crate) model_calls: u32,
    pub(crate) tool_calls: u32,
    pub(crate) failed_tool: Option<String>,
}

impl Conversation {
    fn begin_call(&mut self) {
        self.model_calls += 1;
        self.answer = None;
    }

    fn count_usage(&mut self, usage: Usage) {
        self.last_call_usage = usage;
        self.usage = self.usage.plus(usage);
    }
}

/// What every request of the run has in common.
pub(crate) struct TurnInput<'a> {
    pub(crate) resolved: &'a ResolvedModel,
    pub(crate) system: &'a str,
    pub(crate) turn: &'a TurnText,
    pub(crate) tools: &'a [ToolSpec],
    pub(crate) thinking: Option<&'a str>,
    pub(crate) prompt: &'a str,
}

/// Talks with the model until it is done. What was reached stands in `so_far` also when the result is an error.
pub(crate) async fn converse(run: &RunState, input: &TurnInput<'_>, so_far: &mut Conversation) -> Result<(), RunError> {
    let mut revisions = Revisions::default();
    loop {
        if so_far.model_calls >= MAX_MODEL_CALLS {
            return Err(RunError::TooManyTurns(MAX_MODEL_CALLS));
        }
        ensure_wanted(run)?;
        so_far.begin_call();
        let asked = Asked { resolved: input.resolved, prompt: input.prompt, is_first: so_far.model_calls == 1 };
        let answer = model_call::call(run, &asked, request(run, input)).await;
        let (message, calls) = take(answer, run, so_far).await?;
        if !calls.is_empty() {
            let batch = tool_batch::run_batch(run, &calls).await?;
            so_far.tool_calls += batch.calls;
            so_far.failed_tool = batch.failed_tool;
            ensure_wanted(run)?;
            if batch.terminate {
                so_far.answer = Some(message);
                return Ok(());
            }
            continue;
        }
        let event = || finalize_event(run, &message, revisions.is_active());
        let decision = finalize::ask(run, event).await;
        so_far.answer = Some(message);
        let Some(instruction) = revisions.next(decision.ok_or(RunError::Aborted)?) else { return Ok(()) };
        if append::append_note(run, REVISE_NOTE, instruction).await?.is_none() {
            // The note was refused, and a pass without it would ask the model to answer itself.
            return Ok(());
        }
    }
}

fn ensure_wanted(run: &RunState) -> Result<(), RunError> {
    if run.cancel().is_cancelled() { Err(RunError::Aborted) } else { Ok(()) }
}

fn request(run: &RunState, input: &TurnInput<'_>) -> ModelRequest {
    ModelRequest {
        call_id: ModelCallId::new(run.ports().ids.next_id()),
        model: input.resolved.model.clone(),
        system_prompt: (!input.system.is_empty()).then(|| input.system.to_owned()),
        messages: run.with_rows(|rows| request_view::build(rows, input.turn)),
        tools: input.tools.to_vec(),
        thinking: input.thinking.map(str::to_owned),
        bounds: run.bounds(),
    }
}

/// Stores the answer, also half of one, and gives the calls that may run.
async fn take(
    answer: ModelAnswer,
    run: &RunState,
    so_far: &mut Conversation,
) -> Result<(AssistantMessage, Vec<ToolCallBlock>), RunError> {
    let ModelAnswer { mut message, failure, .. } = answer;
    message.timestamp = run.ports().clock.now_ms();
    so_far.count_usage(message.usage);
    if let Some(failure) = &failure {
        message.error_message = Some(failure.message.clone());
        message.stop_reason = match failure.class {
            FailureClass::Aborted => StopReason::Aborted,
            _ => StopReason::Error,
        };
    }
    if message.stop_reason != StopReason::ToolUse {
        // Calls of a message that did not end for tools must not run, so they must not stand in the transcript either (T4).
        message.content.retain(|block| !matches!(block, ContentBlock::ToolCall(_)));
    }
    let row = append::append(run, AgentMessage::Assistant(message.clone())).await?;
    if row.is_some() && message.stop_reason == StopReason::Aborted {
        append::append_note(run, INTERRUPTED_NOTE, interrupted(run)).await?;
    }
    let Some(failure) = failure else {
        let calls = message.tool_calls().cloned().collect();
        return Ok((message, calls));
    };
    so_far.answer = Some(message).filter(|message| !message.content.is_empty());
    Err(match failure.class {
        FailureClass::Aborted => RunError::Aborted,
        _ => RunError::Provider(failure),
    })
}

/// Tells the model, in later turns, that the answer above is not complete.
fn interrupted(run: &RunState) -> String {
    let why = match run.cancel().reason() {
        Some(CancelReason::User) => "the user stopped it",
        Some(CancelReason::Timeout) => "its time was up",
        Some(CancelReason::Superseded) => "a newer message took its place",
        Some(CancelReason::Shutdown) | None => "the host stopped it",
    };
    format!("[The turn above was interrupted: {why}. It may be incomplete.]")
}

fn finalize_event(run: &RunState, message: &AssistantMessage, stop_hook_active: bool) -> before_agent_finalize::Event {
    let text = text_of(&message.content);
    before_agent_finalize::Event {
        stop_hook_active,
        turn_id: None,
        provider: Some(message.provider.clone()).filter(|provider| !provider.is_empty()),
        model: Some(message.model.clone()).filter(|model| !model.is_empty()),
        cwd: Some(run.settings().workspace_dir.clone()),
        transcript_path: None,
        last_assistant_message: (!text.is_empty()).then_some(text),
        messages: Some(run.with_rows(|rows| request_view::history(rows).iter().map(|message| message.to_json()).collect())),
    }
}
