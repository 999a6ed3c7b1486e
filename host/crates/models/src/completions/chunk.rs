//! The chunks of a Chat Completions stream as servers send them (runtime 12.2). Unknown fields are ignored, absent and null ones are
//! the same.

use domain::message::Usage;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// One chunk, or a whole answer of a server that does not stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
    #[serde(deserialize_with = "null_is_default")]
    pub(super) choices: Vec<Choice>,
    pub(super) usage: Option<Value>,
    pub(super) error: Option<Value>,
}

/// One choice. Only the first is asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    #[serde(deserialize_with = "null_is_default")]
    pub(super) index: u64,
    pub(super) delta: Option<Delta>,
    pub(super) message: Option<Delta>,
    pub(super) finish_reason: Option<String>,
    pub(super) usage: Option<Value>,
}

/// New pieces, or a whole message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta {
    pub(super) content: Option<Content>,
    pub(super) refusal: Option<String>,
    pub(super) reasoning_content: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) reasoning_text: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) tool_calls: Vec<CallDelta>,
}

/// Text, or a list of parts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<Value>),
}

/// A piece of a tool call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallDelta {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) function: FunctionDelta,
}

/// Name and arguments, or pieces of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionDelta {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Value>,
}

impl Delta {
    /// Text, refusals included.
    pub(super) fn text(&self) -> String {
        let content = match &self.content {
            Some(Content::Text(text)) => text.clone(),
            Some(Content::Parts(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
            None => String::new(),
        };
        content + self.refusal.as_deref().unwrap_or_default()
    }

    /// Reasoning. Servers that fill several fields say the same in each.
    pub(super) fn thinking(&self) -> &str {
        let fields = [&self.reasoning_content, &self.reasoning, &self.reasoning_text];
        fields.into_iter().flatten().map(String::as_str).find(|text| !text.is_empty()).unwrap_or_default()
    }
}

impl FunctionDelta {
    /// The arguments' text. Some servers send the object itself, whole.
    pub(super) fn arguments(&self) -> String {
        match &self.arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
        }
    }
}

/// Tokens of a `usage` object: input without cached ones (runtime 12.1.9). What is not there stays unknown.
pub(super) fn usage_of(usage: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().map(|count| u32::try_from(count).unwrap_or(u32::MAX));
    let field = |name: &str| usage.get(name).and_then(count);
    let detail = |name: &str| usage.get("prompt_tokens_details").and_then(|details| details.get(name)).and_then(count);
    let cache_read = detail("cached_tokens");
    let cache_write = detail("cache_write_tokens");
    let cached = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
    Usage {
        input: field("prompt_tokens").map(|prompt| prompt.saturating_sub(cached)),
        output: field("completion_tokens"),
        cache_read,
        cache_write,
        total: field("total_tokens"),
    }
}

fn null_is_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::json;

    use super::*;

    #[test]
    fn nulls_and_unknown_fields_are_nothing() {
        let chunk: Chunk = serde_json::from_value(json!({
            "id": "x", "usage": null, "error": null,
            "choices": [{"index": null, "logprobs": null, "finish_reason": null,
                "delta": {"role": "assistant", "content": null, "tool_calls": null, "audio": {}}}]
        }))
        .unwrap();
        let delta = chunk.choices[0].delta.as_ref().unwrap();
        assert_eq!((delta.text().as_str(), delta.thinking(), delta.tool_calls.len()), ("", "", 0));
        assert!(serde_json::from_value::<Chunk>(json!({"choices": null})).unwrap().choices.is_empty());
    }

    #[test]
    fn text_comes_from_every_field_that_holds_it() {
        let delta: Delta = serde_json::from_value(
            json!({"content": [{"type": "text", "text": "a"}, {"x": 1}], "refusal": "no", "reasoning": "",
                "reasoning_text": "hm"}),
        )
        .unwrap();
        assert_eq!((delta.text().as_str(), delta.thinking()), ("ano", "hm"));
    }

    #[test]
    fn cached_tokens_are_not_input() {
        let usage = usage_of(&json!({"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107,
            "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
            "completion_tokens_details": {"reasoning_tokens": 5}}));
        let expected = Usage { input: Some(30), output: Some(7), cache_read: Some(60), cache_write: Some(10), total: Some(107) };
        assert_eq!(usage, expected);
        assert_eq!(usage_of(&json!({})), Usage::default());
        assert_eq!(usage_of(&json!({"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 5}})).input, Some(0));
        assert_eq!(usage_of(&json!({"completion_tokens": u64::MAX})).output, Some(u32::MAX));
    }
}
