//! The one way into a transcript (plugin-hooks 4.11, 5.9; sessions 5.4). The order is fixed: cap and mask, `tool_result_persist` for
//! tool results, `before_message_write`, cap and mask again, store. The store has no other caller that appends.
//!
//! The hooks here guard what is kept, so a request to stop does not cut them short: a redactor that was stopped half way would leave the
//! raw text in the row.

use domain::message::{AgentMessage, ToolResultMessage};
use domain::session::{AppendRow, StoreError, TranscriptEvent, TranscriptRow};
use hooks::Dispatched;
use hooks::catalogue::{BeforeMessageWrite, ToolResultPersist};
use hooks::events::{before_message_write, tool_result_persist};
use serde_json::{Map, Value, json};

use crate::run::RunState;
use crate::withhold::{withheld, withheld_result};

/// Id of a stored row; none: a `before_message_write` handler refused it and nothing is stored.
pub(crate) type Appended = Result<Option<String>, StoreError>;

/// Appends a message. Results of tools go through [`append_result`].
pub(crate) async fn append(run: &RunState, message: AgentMessage) -> Appended {
    let Some(message) = before_write(run, message).await else { return Ok(None) };
    let row = store(run, TranscriptEvent::Message { message: cap(run, message) }).await?;
    Ok(Some(row.id))
}

/// Appends the result of a tool call. `is_synthetic`: the host made it up, because the call never got one.
pub(crate) async fn append_result(run: &RunState, result: ToolResultMessage, is_synthetic: bool) -> Appended {
    let result = run.ports().tool_support.cap_result(result, run.context_window());
    let result = persist_result(run, result, is_synthetic).await;
    append(run, AgentMessage::ToolResult(result)).await
}

/// Appends a host's note that the model reads and that is nobody's message. Its guards see it as a message of the role `custom`.
pub(crate) async fn append_note(run: &RunState, custom_type: &str, content: String) -> Appended {
    let message = json!({
        "role": "custom", "customType": custom_type, "content": content, "display": false, "timestamp": run.ports().clock.now_ms(),
    });
    let message = match message {
        Value::Object(map) => AgentMessage::Custom(map),
        _ => AgentMessage::Custom(Map::new()),
    };
    let Some(message) = before_write(run, message).await else { return Ok(None) };
    let written = match &message {
        AgentMessage::Custom(map) => map.get("content").and_then(Value::as_str),
        _ => None,
    };
    let content = written.map(str::to_owned).unwrap_or(content);
    let row = store(run, TranscriptEvent::CustomMessage { custom_type: custom_type.to_owned(), content, display: false }).await?;
    Ok(Some(row.id))
}

fn cap(run: &RunState, message: AgentMessage) -> AgentMessage {
    match message {
        AgentMessage::ToolResult(result) => {
            AgentMessage::ToolResult(run.ports().tool_support.cap_result(result, run.context_window()))
        }
        other => other,
    }
}

async fn persist_result(run: &RunState, message: ToolResultMessage, is_synthetic: bool) -> ToolResultMessage {
    if !run.hooks().has(hooks::HookId::ToolResultPersist) {
        return message;
    }
    let event = tool_result_persist::Event {
        tool_name: message.tool_name.clone(),
        tool_call_id: message.tool_call_id.clone(),
        is_synthetic,
        message,
    };
    let decided = run.hooks().decide::<ToolResultPersist>(&event, &run.transcript_context(), run.guard_scope()).await;
    let Ok(dispatched) = decided else { return event.message };
    if let Some(plugin) = failed_required(&dispatched) {
        return withheld_result(event.message, plugin);
    }
    dispatched.decision.message.unwrap_or(event.message)
}

async fn before_write(run: &RunState, message: AgentMessage) -> Option<AgentMessage> {
    if !run.hooks().has(hooks::HookId::BeforeMessageWrite) {
        return Some(message);
    }
    let event = before_message_write::Event { message };
    let decided = run.hooks().decide::<BeforeMessageWrite>(&event, &run.transcript_context(), run.guard_scope()).await;
    let Ok(dispatched) = decided else { return Some(event.message) };
    let failed = failed_required(&dispatched).cloned();
    match (dispatched.decision.blocked_by, failed) {
        (Some(plugin), _) => {
            tracing::debug!(%plugin, role = event.message.role(), "a row was refused by a plugin");
            None
        }
        (None, Some(plugin)) => Some(withheld(event.message, &plugin)),
        (None, None) => Some(dispatched.decision.message.unwrap_or(event.message)),
    }
}

fn failed_required<D>(dispatched: &Dispatched<D>) -> Option<&domain::PluginId> {
    dispatched.failed_required().map(|skipped| &skipped.plugin)
}

async fn store(run: &RunState, event: TranscriptEvent) -> Result<TranscriptRow, StoreError> {
    let ports = run.ports();
    let row = ports
        .store
        .append(AppendRow {
            key: run.session_key().clone(),
            session_id: run.session_id().clone(),
            run_id: run.run_id().clone(),
            event_id: ports.ids.next_id(),
            event,
            now: ports.clock.now_ms(),
            idempotency_key: None,
        })
        .await?;
    run.push_row(row.clone());
    Ok(row)
}
