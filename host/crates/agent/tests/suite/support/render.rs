//! Messages, rows and events as lines of a log.

use domain::event::{EventData, Lifecycle, RunEvent, ToolEvent};
use domain::message::{AgentMessage, StopReason};
use domain::session::{TranscriptEvent, TranscriptRow};
use serde_json::Value;

/// A message: who says what.
pub(crate) fn line(message: &AgentMessage) -> String {
    let text = message.text();
    match message {
        AgentMessage::User(_) => format!("user: {text}"),
        AgentMessage::Assistant(assistant) => {
            let mut line = match assistant.stop_reason {
                StopReason::Aborted => "assistant (aborted):".to_owned(),
                StopReason::Error => "assistant (error):".to_owned(),
                _ => "assistant:".to_owned(),
            };
            if !text.is_empty() {
                line.push_str(&format!(" {text}"));
            }
            for call in assistant.tool_calls() {
                line.push_str(&format!(" [{} {} {}]", call.id, call.name, call.arguments));
            }
            line
        }
        AgentMessage::ToolResult(result) if result.is_error => format!("error {}: {text}", result.tool_call_id),
        AgentMessage::ToolResult(result) => format!("result {}: {text}", result.tool_call_id),
        AgentMessage::Custom(map) => format!("custom: {}", Value::Object(map.clone())),
    }
}

/// A row; none: the header.
pub(crate) fn row_line(row: &TranscriptRow) -> Option<String> {
    match &row.event {
        TranscriptEvent::Session { .. } => None,
        TranscriptEvent::Message { message } => Some(line(message)),
        TranscriptEvent::CustomMessage { custom_type, content, .. } => Some(format!("note {custom_type}: {content}")),
        other => Some(format!("{other:?}")),
    }
}

/// An event, without its envelope.
pub(crate) fn event_line(event: &RunEvent) -> String {
    match &event.data {
        EventData::Lifecycle(Lifecycle::Start { .. }) => "start".to_owned(),
        EventData::Lifecycle(Lifecycle::End { aborted, stop_reason, .. }) => match (aborted, stop_reason) {
            (false, None) => "end".to_owned(),
            (aborted, reason) => format!("end aborted={aborted} {}", reason.as_deref().unwrap_or("-")),
        },
        EventData::Lifecycle(Lifecycle::Error { error, .. }) => format!("error: {error}"),
        EventData::Assistant(chunk) => format!("text +{:?} = {:?}", chunk.delta, chunk.text),
        EventData::Thinking(chunk) => format!("thinking +{:?} = {:?}", chunk.delta, chunk.text),
        EventData::Tool(ToolEvent::Start { name, tool_call_id, .. }) => format!("{name} {tool_call_id} start"),
        EventData::Tool(ToolEvent::Update { name, tool_call_id, partial_result }) => {
            format!("{name} {tool_call_id} update {}", text_in(partial_result))
        }
        EventData::Tool(ToolEvent::Result { name, tool_call_id, is_error, result }) => {
            let word = if *is_error { "error" } else { "result" };
            format!("{name} {tool_call_id} {word} {}", text_in(result))
        }
    }
}

fn text_in(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
