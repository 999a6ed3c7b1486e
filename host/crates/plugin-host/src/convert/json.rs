//! Open JSON in answers: parsed, and of the shape that the field asks for. JSON `null` in an optional field is absence
//! (plugin-hooks 1.6). Messages are rendered here too.

use domain::JsonText;
use domain::json::{InvalidJson, kind_of, parse_object};
use domain::message::{AgentMessage, ToolResultMessage};
use domain::payload::ReplyPayload;
use hooks::{Fault, FaultKind};
use serde::Serialize;
use serde_json::{Map, Value};

use super::Arena;

/// A fault that names a field of the answer.
pub(super) fn malformed(field: &str, problem: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Malformed, format!("{field}: {problem}"))
}

/// Whether a text is JSON `null`.
pub(super) fn is_null(text: &str) -> bool {
    text.trim() == "null"
}

/// Reads an optional field; JSON `null` counts as absent.
pub(super) fn optional<T>(
    field: &str,
    text: Option<String>,
    read: impl FnOnce(&str, &str) -> Result<T, Fault>,
) -> Result<Option<T>, Fault> {
    match text {
        Some(text) if !is_null(&text) => read(field, &text).map(Some),
        _ => Ok(None),
    }
}

/// A JSON object.
pub(super) fn object(field: &str, text: &str) -> Result<Map<String, Value>, Fault> {
    parse_object(text).map_err(|error| malformed(field, error))
}

/// A JSON object, kept as text.
pub(super) fn object_text(field: &str, text: &str) -> Result<JsonText, Fault> {
    object(field, text)?;
    any_text(field, text)
}

/// Any JSON value, kept as text.
pub(super) fn any_text(field: &str, text: &str) -> Result<JsonText, Fault> {
    JsonText::parse(text).map_err(|error| malformed(field, error))
}

/// Any JSON value.
pub(super) fn value(field: &str, text: &str) -> Result<Value, Fault> {
    serde_json::from_str(text).map_err(|error| malformed(field, InvalidJson::Syntax(error.to_string())))
}

/// A message of a transcript.
pub(super) fn message(field: &str, text: &str) -> Result<AgentMessage, Fault> {
    AgentMessage::from_value(value(field, text)?).map_err(|error| malformed(field, error))
}

/// A reply payload.
pub(super) fn payload(field: &str, text: &str) -> Result<ReplyPayload, Fault> {
    let object = object(field, text)?;
    serde_json::from_value(Value::Object(object)).map_err(|error| malformed(field, format!("not a reply payload: {error}")))
}

/// A JSON Schema in object form.
pub(super) fn schema(field: &str, text: &str) -> Result<Value, Fault> {
    match value(field, text)? {
        schema @ Value::Object(_) => Ok(schema),
        other => Err(malformed(field, format!("expected a JSON Schema object, found {}", kind_of(&other)))),
    }
}

/// A message with its role in front, without a copy of the message.
#[derive(Serialize)]
struct Row<'a, M> {
    role: &'static str,
    #[serde(flatten)]
    message: &'a M,
}

/// Renders a message as plugins see it.
pub(super) fn render_message<'a>(arena: &'a Arena, message: &AgentMessage) -> &'a str {
    match message {
        AgentMessage::User(message) => arena.render(&Row { role: "user", message }),
        AgentMessage::Assistant(message) => arena.render(&Row { role: "assistant", message }),
        AgentMessage::ToolResult(message) => render_tool_result(arena, message),
        AgentMessage::Custom(map) => arena.render(map),
    }
}

/// Renders a tool result as plugins see it.
pub(super) fn render_tool_result<'a>(arena: &'a Arena, message: &ToolResultMessage) -> &'a str {
    arena.render(&Row { role: "toolResult", message })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use domain::message::ContentBlock;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fault_names_the_field_and_both_shapes() {
        let fault = object("params", "[1]").unwrap_err();
        assert_eq!(fault.to_string(), "malformed answer: params: expected a JSON object, found an array");
        assert!(object("params", "{").unwrap_err().text().starts_with("params: not valid JSON: EOF"));
        assert!(message("message", r#"{"content":[]}"#).unwrap_err().text().contains("needs a `role`"));
        assert!(payload("reply", r#"{"text":7}"#).unwrap_err().text().starts_with("reply: not a reply payload: invalid type"));
    }

    #[test]
    fn null_is_absence() {
        assert_eq!(optional("params", Some(" null\n".into()), object), Ok(None));
        assert_eq!(optional("params", None, object), Ok(None));
        assert!(optional("params", Some("nul".into()), object).is_err());
    }

    #[test]
    fn a_rendered_message_is_the_stored_one() {
        let arena = Arena::new();
        for value in [
            json!({"role":"user","content":[{"type":"text","text":"hi","mark":1}],"timestamp":5,"who":"me"}),
            json!({"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{}}],"usage":{},
                "stopReason":"toolUse","timestamp":6}),
            json!({"role":"toolResult","toolCallId":"c","toolName":"read","content":[],"isError":true,"timestamp":7,"x":{"y":null}}),
            json!({"role":"note","anything":[1]}),
        ] {
            let message = AgentMessage::from_value(value).unwrap();
            assert_eq!(render_message(&arena, &message), message.to_json().as_str());
        }
        let AgentMessage::User(user) = AgentMessage::user("a", 1) else { unreachable!() };
        assert_eq!(user.content, [ContentBlock::text("a")]);
    }
}
