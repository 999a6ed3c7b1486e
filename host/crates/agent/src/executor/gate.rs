//! What plugins and people say about a call before it runs (plugin-hooks 4.9, 5.11): `before_tool_call`, the approval that it may ask
//! for, and the variables for a command.

use std::collections::BTreeMap;

use domain::JsonText;
use domain::message::ToolCallBlock;
use domain::tool::ToolSpec;
use hooks::HookId;
use hooks::catalogue::{BeforeToolCall, ResolveExecEnv};
use hooks::events::{before_tool_call, resolve_exec_env};
use serde_json::{Map, Value};

use super::end::End;
use crate::approval::{self, Resolution};
use crate::ports::ArgumentCheck;
use crate::run::RunState;

/// Text of a blocked result when the plugin gives none.
pub const DEFAULT_BLOCK_REASON: &str = "This tool call was blocked by a plugin.";

/// Asks the plugins, then the person whom they want to be asked; gives the parameters that result (4.9.3, 4.9.4).
pub(super) async fn admit(
    run: &RunState,
    spec: &ToolSpec,
    call: &ToolCallBlock,
    params: Map<String, Value>,
) -> Result<Map<String, Value>, End> {
    if !run.hooks().has(HookId::BeforeToolCall) {
        return Ok(params);
    }
    let decision = ask_plugins(run, spec, call, &params).await?;
    if let Some(plugin) = &decision.blocked_by {
        return Err(End::blocked(decision.block_reason.as_deref().unwrap_or(DEFAULT_BLOCK_REASON), plugin));
    }
    if let Some(asked) = decision.approval {
        let plugin = asked.plugin.clone();
        if let Resolution::Refused(refusal) = approval::ask(run, asked, &spec.name, &call.id).await {
            return Err(End::not_approved(&refusal, &plugin));
        }
    }
    let Some(overrides) = decision.params else { return Ok(params) };
    rewrite(run, spec, params, overrides)
        .map_err(|problem| End::argument_error(format!("a plugin rewrote the parameters so that they no longer fit: {problem}")))
}

async fn ask_plugins(
    run: &RunState,
    spec: &ToolSpec,
    call: &ToolCallBlock,
    params: &Map<String, Value>,
) -> Result<before_tool_call::Decision, End> {
    let event = before_tool_call::Event {
        tool_name: spec.name.clone(),
        params: JsonText::from_value(params),
        tool_call_id: call.id.clone(),
        tool_kind: None,
        tool_input_kind: None,
        derived_paths: run.ports().tool_support.derived_paths(&spec.name, params),
        vetoed: None,
    };
    let context = run.tool_context();
    let asking = run.hooks().decide::<BeforeToolCall>(&event, &context, run.scope());
    match run.unless_stopped(asking).await {
        None => Err(End::aborted()),
        Some(Ok(dispatched)) => Ok(dispatched.decision),
        Some(Err(failed)) => Err(End::blocked(&format!("{DEFAULT_BLOCK_REASON} ({failed})"), &failed.plugin)),
    }
}

/// The override's keys on top of the parameters, checked again: a plugin may not hand a tool what a model may not.
fn rewrite(run: &RunState, spec: &ToolSpec, mut params: Map<String, Value>, overrides: Map<String, Value>) -> ArgumentCheck {
    params.extend(overrides);
    run.ports().tool_support.check_arguments(spec, &Value::Object(params))
}

/// Variables that plugins add to a command; the host's filter has the last word (5.11, 5.12).
pub(super) async fn exec_env(run: &RunState, tool: &str) -> Result<BTreeMap<String, String>, End> {
    if tool != "exec" || !run.hooks().has(HookId::ResolveExecEnv) {
        return Ok(BTreeMap::new());
    }
    let event = resolve_exec_env::Event { tool_name: tool.to_owned(), host: resolve_exec_env::ExecHost::Gateway };
    let context = run.agent_context();
    let asking = run.hooks().decide::<ResolveExecEnv>(&event, &context, run.scope());
    let decided = run.unless_stopped(asking).await.ok_or_else(End::aborted)?;
    let wanted = decided.map(|dispatched| dispatched.decision).unwrap_or_default();
    let (kept, dropped) = run.ports().tool_support.filter_env(wanted);
    for reason in dropped {
        tracing::warn!("a variable that a plugin wanted to add to a command was dropped: {reason}");
    }
    Ok(kept)
}
