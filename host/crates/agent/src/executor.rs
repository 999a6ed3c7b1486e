//! The one way to a tool (agent-loop 14.2, plugin-hooks 4.9). Every call, whatever its origin, is prepared here (look-up, arguments,
//! `before_tool_call`, approval, environment) and run here; nothing else calls [`Tool::execute`].

mod end;
mod gate;

pub use end::{DENIED_BY_APPROVAL, DENIED_BY_HOOK};
pub use gate::DEFAULT_BLOCK_REASON;

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::event::{EventData, ToolEvent};
use domain::message::{ContentBlock, ToolCallBlock, ToolResultMessage};
use domain::tool::{Invocation, Progress, Tool, ToolFailure, ToolOutcome, ToolResult, ToolSpec};
use domain::{CallId, JsonText};
use hooks::catalogue::AfterToolCall;
use hooks::events::observed;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::run::RunState;
use crate::wind_down::{Panic, caught, stoppable_after};
use end::End;

/// A call that is checked and allowed.
pub(crate) struct Ready {
    call_id: CallId,
    tool: Arc<dyn Tool>,
    params: Map<String, Value>,
    env: BTreeMap<String, String>,
}

/// The end of a call.
pub(crate) struct Ended {
    /// The result as it goes into the transcript, before its hooks.
    pub(crate) message: ToolResultMessage,
    /// How it ended.
    pub(crate) outcome: ToolOutcome,
    /// Whether the turn should end after this batch.
    pub(crate) terminate: bool,
    /// Whether the host made the result up, because the call never got one.
    pub(crate) is_synthetic: bool,
}

/// A prepared call: allowed, or over already.
pub(crate) enum Prepared {
    /// It may run.
    Ready(Ready),
    /// It may not; this is its result.
    Ended(Ended),
}

/// Prepares one call of the model. After a request to stop no call starts any more: it only gets its result.
pub(crate) async fn prepare(run: &RunState, call: &ToolCallBlock) -> Prepared {
    if run.cancel().is_cancelled() {
        return Prepared::Ended(ended(run, call, End::aborted()));
    }
    run.emit(EventData::Tool(ToolEvent::Start {
        name: call.name.clone(),
        tool_call_id: call.id.clone(),
        args: run.ports().tool_support.emitted(&call.arguments),
    }));
    let refused = match caught(check(run, call)).await {
        Ok(Ok(ready)) => return Prepared::Ready(ready),
        Ok(Err(end)) => end,
        Err(panic) => {
            log_panic(run, &call.name, &panic);
            End::failed(format!("the tool `{}` was not run: the host failed while it prepared the call", call.name))
        }
    };
    Prepared::Ended(finish(run, call, refused))
}

/// Runs a prepared call.
pub(crate) async fn execute(run: &RunState, ready: Ready) -> Ended {
    let started = Instant::now();
    let progress = Updates { run, name: ready.tool.spec().name.clone(), call_id: ready.call_id.clone() };
    let scope = run.tool_scope();
    let work = ready.tool.execute(Invocation {
        call_id: &ready.call_id,
        params: &ready.params,
        scope: &scope,
        env: &ready.env,
        cancel: run.cancel(),
        progress: &progress,
        run: run.run_scope(),
        chain: &run.scope().chain,
    });
    let spec = ready.tool.spec();
    let result = match stoppable_after(ready.tool.stop_grace(), run.cancel(), caught(work)).await {
        Some(Ok(result)) => result,
        Some(Err(panic)) => {
            log_panic(run, &spec.name, &panic);
            let text = format!("the tool `{}` failed inside the host; whether it did anything is not known", spec.name);
            Err(ToolFailure::Failed(text))
        }
        None => Err(ToolFailure::Aborted),
    };
    let duration_ms = u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX);
    let end = match result.and_then(|result| checked_details(run, spec, result)) {
        Ok(result) => End::done(result),
        Err(failure) => End::failure(&failure),
    };
    let call =
        ToolCallBlock { id: ready.call_id, name: spec.name.clone(), arguments: Value::Object(ready.params), extra: Map::new() };
    finish(run, &call, end.after(duration_ms))
}

/// A panic is a fault of the host: the model hears that the call failed, operators hear why, and the run goes on.
fn log_panic(run: &RunState, tool: &str, panic: &Panic) {
    tracing::error!(run = %run.run_id(), tool, "BUG: the host panicked in a tool call: {}", panic.0);
}

async fn check(run: &RunState, call: &ToolCallBlock) -> Result<Ready, End> {
    let Some(tool) = run.tool(&call.name) else {
        let known = run.tool_names().join(", ");
        return Err(End::failed(format!("there is no tool `{}`; the tools are: {known}", call.name)));
    };
    let (support, spec) = (&run.ports().tool_support, tool.spec());
    support.check_output_schema(spec).map_err(End::failed)?;
    let params = support.check_arguments(spec, &call.arguments).map_err(End::argument_error)?;
    let params = gate::admit(run, spec, call, params).await?;
    let env = gate::exec_env(run, &spec.name).await?;
    Ok(Ready { call_id: call.id.clone(), params, env, tool })
}

fn checked_details(run: &RunState, spec: &ToolSpec, result: ToolResult) -> Result<ToolResult, ToolFailure> {
    run.ports().tool_support.check_details(spec, result.details.as_ref()).map_err(ToolFailure::Failed)?;
    Ok(result)
}

/// Tells the end of a call that had a start: the event, and `after_tool_call`, for blocked calls too (plugin-hooks 4.8).
fn finish(run: &RunState, call: &ToolCallBlock, end: End) -> Ended {
    let (outcome, error, duration_ms) = (end.outcome, end.error.clone(), end.duration_ms);
    let ended = ended(run, call, end);
    let value = json!({ "content": ended.message.content, "details": ended.message.details });
    run.emit(EventData::Tool(ToolEvent::Result {
        name: call.name.clone(),
        tool_call_id: call.id.clone(),
        is_error: ended.message.is_error,
        result: run.ports().tool_support.emitted(&value),
    }));
    run.observe::<AfterToolCall>(run.tool_context(), || observed::AfterToolCall {
        tool_name: call.name.clone(),
        params: if call.arguments.is_object() { JsonText::from_value(&call.arguments) } else { JsonText::empty_object() },
        tool_call_id: call.id.clone(),
        tool_kind: None,
        tool_input_kind: None,
        outcome,
        result: Some(JsonText::from_value(&value)),
        error,
        duration_ms,
    });
    ended
}

fn ended(run: &RunState, call: &ToolCallBlock, end: End) -> Ended {
    let is_error = end.outcome != ToolOutcome::Ok;
    let message = ToolResultMessage {
        tool_call_id: call.id.clone(),
        tool_name: call.name.clone(),
        content: end.result.content,
        details: end.result.details,
        is_error,
        timestamp: run.ports().clock.now_ms(),
        extra: Map::new(),
    };
    Ended { message, outcome: end.outcome, terminate: end.result.terminate && !is_error, is_synthetic: end.is_synthetic }
}

/// Turns partial results into events, sanitised. A tool holds it no longer than its call, so no update comes after the result (12.4.3).
struct Updates<'a> {
    run: &'a RunState,
    name: String,
    call_id: CallId,
}

impl Progress for Updates<'_> {
    fn update(&self, partial: &ToolResult) {
        let content: &[ContentBlock] = &partial.content;
        let value = json!({ "content": content });
        self.run.emit(EventData::Tool(ToolEvent::Update {
            name: self.name.clone(),
            tool_call_id: self.call_id.clone(),
            partial_result: self.run.ports().tool_support.emitted(&value),
        }));
    }
}
