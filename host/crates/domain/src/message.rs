//! Messages of a transcript, as they are stored and as plugins see them: JSON objects with known keys, where unknown keys pass
//! through untouched (plugin-hooks 3, agent-loop 11.1). This file knows no provider's wire form.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::ids::CallId;
use crate::json::{JsonText, kind_of};

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentMessage {
    /// From a person, or on behalf of one.
    User(UserMessage),
    /// From the model, or in its name.
    Assistant(AssistantMessage),
    /// The result of one tool call.
    ToolResult(ToolResultMessage),
    /// Any other role. Kept; what a model sees of it is the provider adapter's decision.
    Custom(Map<String, Value>),
}

/// A user message.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    /// What was said. Plain text in stored form counts as one text block.
    #[serde(deserialize_with = "text_or_blocks")]
    pub content: Vec<ContentBlock>,
    /// Milliseconds since 1970-01-01 UTC.
    #[serde(default)]
    pub timestamp: u64,
    /// Unknown keys.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An assistant message.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    /// Text, reasoning and tool calls in the order in which the model gave them.
    #[serde(deserialize_with = "text_or_blocks")]
    pub content: Vec<ContentBlock>,
    /// Wire protocol that it came through, for example `openai-completions`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api: String,
    /// Provider id.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// Model id that was asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Tokens, as the provider reported them.
    #[serde(default)]
    pub usage: Usage,
    /// Why the message ended.
    #[serde(default)]
    pub stop_reason: StopReason,
    /// What went wrong, for `error` and `aborted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// Milliseconds since 1970-01-01 UTC.
    #[serde(default)]
    pub timestamp: u64,
    /// Unknown keys.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    /// Id of the call.
    pub tool_call_id: CallId,
    /// Canonical id of the tool.
    #[serde(default)]
    pub tool_name: String,
    /// What the model sees.
    #[serde(deserialize_with = "text_or_blocks")]
    pub content: Vec<ContentBlock>,
    /// For user interfaces and hooks; never shown to a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether the call failed or was refused.
    #[serde(default)]
    pub is_error: bool,
    /// Milliseconds since 1970-01-01 UTC.
    #[serde(default)]
    pub timestamp: u64,
    /// Unknown keys.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// One piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ContentBlock {
    /// Text.
    Text(TextBlock),
    /// The model's reasoning.
    Thinking(ThinkingBlock),
    /// A picture.
    Image(ImageBlock),
    /// A request to call a tool.
    ToolCall(ToolCallBlock),
    /// Any other block; kept as it is.
    #[serde(untagged)]
    Other(Value),
}

/// Text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// Unknown keys.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Reasoning.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThinkingBlock {
    /// The reasoning text.
    pub thinking: String,
    /// Unknown keys, signatures among them.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageBlock {
    /// Base64 of the file.
    pub data: String,
    /// Media type, for example `image/png`.
    pub mime_type: String,
    /// Unknown keys.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A request to call a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCallBlock {
    /// Id of the call.
    pub id: CallId,
    /// Tool name as the model wrote it.
    pub name: String,
    /// Arguments. Anything but an object is refused when the call is prepared.
    #[serde(default)]
    pub arguments: Value,
    /// Unknown keys.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Why an assistant message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// Natural end.
    #[default]
    Stop,
    /// Output limit reached.
    Length,
    /// It wants tools to run.
    ToolUse,
    /// The provider failed.
    Error,
    /// This side gave up.
    Aborted,
}

/// Tokens of one or several model calls, as reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Input tokens without cached ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<u32>,
    /// Output tokens, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<u32>,
    /// Input tokens that the provider's cache served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<u32>,
    /// Input tokens written to the provider's cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<u32>,
    /// Sum of all.
    #[serde(rename = "totalTokens", skip_serializing_if = "Option::is_none")]
    pub total: Option<u32>,
}

impl Usage {
    /// Adds another call's tokens; what nobody reported stays unknown.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        fn add(a: Option<u32>, b: Option<u32>) -> Option<u32> {
            match (a, b) {
                (None, None) => None,
                (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
            }
        }
        Self {
            input: add(self.input, other.input),
            output: add(self.output, other.output),
            cache_read: add(self.cache_read, other.cache_read),
            cache_write: add(self.cache_write, other.cache_write),
            total: add(self.total, other.total),
        }
    }
}

/// Why a value is no message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMessage {
    /// Not a JSON object.
    #[error("a message must be a JSON object, found {0}")]
    NotAnObject(&'static str),
    /// No role.
    #[error("a message needs a `role` that is a non-empty text")]
    NoRole,
    /// A key of a known role is missing or has the wrong type.
    #[error("the `{role}` message is malformed: {reason}")]
    Malformed {
        /// The role.
        role: String,
        /// What is wrong, in the parser's words.
        reason: String,
    },
}

impl AgentMessage {
    /// A user message of one text.
    pub fn user(text: impl Into<String>, timestamp: u64) -> Self {
        Self::User(UserMessage { content: vec![ContentBlock::text(text)], timestamp, extra: Map::new() })
    }

    /// Reads a JSON value.
    ///
    /// # Errors
    /// When the value is no object, has no role, or breaks the form of a known role.
    pub fn from_value(value: Value) -> Result<Self, InvalidMessage> {
        let Value::Object(mut map) = value else { return Err(InvalidMessage::NotAnObject(kind_of(&value))) };
        let role = match map.get("role").and_then(Value::as_str) {
            Some(role) if !role.is_empty() => role.to_owned(),
            _ => return Err(InvalidMessage::NoRole),
        };
        if !matches!(role.as_str(), "user" | "assistant" | "toolResult") {
            return Ok(Self::Custom(map));
        }
        map.shift_remove("role");
        let value = Value::Object(map);
        let message = match role.as_str() {
            "user" => serde_json::from_value(value).map(Self::User),
            "assistant" => serde_json::from_value(value).map(Self::Assistant),
            _ => serde_json::from_value(value).map(Self::ToolResult),
        };
        message.map_err(|error| InvalidMessage::Malformed { role, reason: error.to_string() })
    }

    /// Renders the message with `role` first.
    pub fn to_value(&self) -> Value {
        let (role, body) = match self {
            Self::User(message) => ("user", serde_json::to_value(message)),
            Self::Assistant(message) => ("assistant", serde_json::to_value(message)),
            Self::ToolResult(message) => ("toolResult", serde_json::to_value(message)),
            Self::Custom(map) => return Value::Object(map.clone()),
        };
        let mut out = Map::new();
        out.insert("role".to_owned(), Value::from(role));
        if let Ok(Value::Object(body)) = body {
            out.extend(body);
        }
        Value::Object(out)
    }

    /// Renders the message as text.
    pub fn to_json(&self) -> JsonText {
        JsonText::from_value(&self.to_value())
    }

    /// The role.
    pub fn role(&self) -> &str {
        match self {
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::ToolResult(_) => "toolResult",
            Self::Custom(map) => map.get("role").and_then(Value::as_str).unwrap_or_default(),
        }
    }

    /// The blocks. A custom message has none.
    pub fn content(&self) -> &[ContentBlock] {
        match self {
            Self::User(message) => &message.content,
            Self::Assistant(message) => &message.content,
            Self::ToolResult(message) => &message.content,
            Self::Custom(_) => &[],
        }
    }

    /// All text blocks, joined by line feeds.
    pub fn text(&self) -> String {
        text_of(self.content())
    }
}

/// All text blocks, joined by line feeds.
pub fn text_of(blocks: &[ContentBlock]) -> String {
    let texts: Vec<&str> = blocks.iter().filter_map(ContentBlock::as_text).collect();
    texts.join("\n")
}

impl AssistantMessage {
    /// The tool calls, in the model's order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCallBlock> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextBlock { text: text.into(), extra: Map::new() })
    }

    /// A picture.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageBlock { data: data.into(), mime_type: mime_type.into(), extra: Map::new() })
    }

    /// A tool call.
    pub fn tool_call(id: CallId, name: impl Into<String>, arguments: Value) -> Self {
        Self::ToolCall(ToolCallBlock { id, name: name.into(), arguments, extra: Map::new() })
    }

    /// The text of a text block.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(block) => Some(&block.text),
            _ => None,
        }
    }
}

impl Serialize for AgentMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for AgentMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_value(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

fn text_or_blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ContentBlock>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(vec![ContentBlock::text(text)]),
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items.into_iter().map(|item| serde_json::from_value(item).map_err(D::Error::custom)).collect(),
        other => Err(D::Error::custom(format!("`content` must be text or a list of blocks, found {}", kind_of(&other)))),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_keys_and_blocks_survive_a_round_trip() {
        for value in [
            json!({"role":"user","content":[{"type":"text","text":"hi","mark":1},{"type":"audio","x":2}],"timestamp":5,"who":"me"}),
            json!({"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},
                {"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a"},"thoughtSignature":"t"}],
                "usage":{"input":3},"stopReason":"toolUse","timestamp":6,"responseId":"r"}),
            json!({"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"image","data":"QQ==","mimeType":"image/png"}],
                "details":{"k":1},"isError":false,"timestamp":7}),
            json!({"role":"custom.note","anything":[1,2]}),
        ] {
            assert_eq!(AgentMessage::from_value(value.clone()).unwrap().to_value(), value);
        }
    }

    #[test]
    fn plain_text_counts_as_one_block() {
        let message = AgentMessage::from_value(json!({"role":"user","content":"hello"})).unwrap();
        assert_eq!(message.text(), "hello");
    }

    #[test]
    fn malformed_messages_are_refused_with_a_reason() {
        for bad in [
            json!([]),
            json!({"content":"x"}),
            json!({"role":""}),
            json!({"role":"toolResult","content":[]}),
            json!({"role":"assistant","content":7}),
        ] {
            assert!(AgentMessage::from_value(bad.clone()).is_err(), "{bad}");
        }
    }

    #[test]
    fn unreported_usage_stays_unknown() {
        let sum =
            Usage { input: Some(1), ..Usage::default() }.plus(Usage { input: Some(2), output: Some(3), ..Usage::default() });
        assert_eq!(sum, Usage { input: Some(3), output: Some(3), ..Usage::default() });
    }
}
