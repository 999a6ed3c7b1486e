//! Open JSON objects that hooks rewrite: transcript messages and reply payloads.
//!
//! Both belong to the host and to other plugins as well, so every key that is not touched stays, in its place.

use crate::error::{Error, Result};
use serde_json::{Map, Value};

/// What both kinds of object can do.
macro_rules! open_object {
    ($name:ident, $what:literal) => {
        impl $name {
            /// Reads JSON text.
            ///
            /// # Errors
            /// The text is not a JSON object.
            pub fn parse(text: &str) -> Result<Self> {
                match crate::json_text::read($what, text)? {
                    Value::Object(keys) => Ok(Self(keys)),
                    _ => Err(Error::msg(concat!($what, ": expected a JSON object"))),
                }
            }

            /// The value of a key.
            #[must_use]
            pub fn get(&self, key: &str) -> Option<&Value> {
                self.0.get(key)
            }

            /// Sets a key; one that exists keeps its place.
            pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) {
                self.0.insert(key.into(), value.into());
            }

            /// Removes a key and returns its value.
            pub fn remove(&mut self, key: &str) -> Option<Value> {
                self.0.shift_remove(key)
            }

            /// Offers every text in the object, however deep, to `rewrite`, with the key that it stands under (texts in a list: the
            /// list's key). `Some` replaces it. Returns how many were replaced.
            ///
            /// Keys that give the object its identity or meaning to the host (`role`, `type`, ids, …) come along too: leave them.
            pub fn rewrite_texts(&mut self, mut rewrite: impl FnMut(&str, &str) -> Option<String>) -> usize {
                self.0.iter_mut().map(|(key, value)| rewrite_value(key, value, &mut rewrite)).sum()
            }

            /// The object as JSON text.
            #[must_use]
            pub fn to_json(&self) -> String {
                // Writing a map of values cannot fail: its keys are texts.
                serde_json::to_string(&self.0).unwrap_or_default()
            }

            fn text_of(&self, key: &str) -> Option<&str> {
                self.0.get(key).and_then(Value::as_str)
            }
        }

        impl From<Map<String, Value>> for $name {
            fn from(keys: Map<String, Value>) -> Self {
                Self(keys)
            }
        }
    };
}

/// One message of a transcript (`AgentMessage`).
///
/// ```
/// use creel_plugin::Message;
///
/// let mut message = Message::parse(
///     r#"{"role":"toolResult","toolCallId":"c1","content":[{"type":"text","text":"pin 1234"}],"x":1}"#,
/// )?;
/// assert_eq!(message.role(), "toolResult");
/// message.rewrite_texts(|key, text| (key == "text").then(|| text.replace("1234", "****")));
/// assert_eq!(message.text(), "pin ****");
/// assert!(message.to_json().ends_with(r#""x":1}"#));
/// # Ok::<(), creel_plugin::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Message(Map<String, Value>);

open_object!(Message, "message");

impl Message {
    /// `user`, `assistant`, `toolResult`, or another role; empty if there is none.
    #[must_use]
    pub fn role(&self) -> &str {
        self.text_of("role").unwrap_or_default()
    }

    /// Id of the call that a tool result belongs to.
    #[must_use]
    pub fn tool_call_id(&self) -> Option<&str> {
        self.text_of("toolCallId")
    }

    /// Tool that a tool result comes from.
    #[must_use]
    pub fn tool_name(&self) -> Option<&str> {
        self.text_of("toolName")
    }

    /// The text of the content: of a plain text itself, of blocks those of type `text`, one per line.
    #[must_use]
    pub fn text(&self) -> String {
        match self.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(blocks)) => {
                let texts: Vec<_> = blocks.iter().filter_map(block_text).collect();
                texts.join("\n")
            }
            _ => String::new(),
        }
    }
}

/// One outgoing reply (`ReplyPayload`).
///
/// ```
/// use creel_plugin::Payload;
///
/// let payload = Payload::text("done");
/// assert_eq!(payload.to_json(), r#"{"text":"done"}"#);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Payload(Map<String, Value>);

open_object!(Payload, "payload");

impl Payload {
    /// A payload that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        let mut payload = Self(Map::new());
        payload.set("text", text.into());
        payload
    }

    /// Its text. None: it has none.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        self.text_of("text")
    }
}

fn block_text(block: &Value) -> Option<&str> {
    let is_text = block.get("type").and_then(Value::as_str) == Some("text");
    block.get("text").and_then(Value::as_str).filter(|_| is_text)
}

fn rewrite_value(key: &str, value: &mut Value, rewrite: &mut impl FnMut(&str, &str) -> Option<String>) -> usize {
    match value {
        Value::String(text) => match rewrite(key, text) {
            Some(new) => {
                *text = new;
                1
            }
            None => 0,
        },
        Value::Array(items) => items.iter_mut().map(|item| rewrite_value(key, item, rewrite)).sum(),
        Value::Object(keys) => keys.iter_mut().map(|(key, value)| rewrite_value(key, value, rewrite)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::{Message, Payload};

    #[test]
    fn text_joins_text_blocks_only() {
        let message = Message::parse(
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","data":"x"},{"type":"text","text":"b"}]}"#,
        )
        .unwrap();
        assert_eq!(message.text(), "a\nb");
        let message = Message::parse(r#"{"role":"user","content":"plain"}"#).unwrap();
        assert_eq!(message.text(), "plain");
    }

    #[test]
    fn rewriting_reaches_every_depth_and_keeps_the_rest() {
        let text = r#"{"z":1,"content":[{"text":"s","n":null}],"details":{"lines":["s","t"]},"a":true}"#;
        let mut message = Message::parse(text).unwrap();
        let mut keys = Vec::new();
        let count = message.rewrite_texts(|key, text| {
            keys.push(key.to_owned());
            (text == "s").then(|| "*".to_owned())
        });
        assert_eq!(count, 2);
        assert_eq!(keys, ["text", "lines", "lines"]);
        assert_eq!(message.to_json(), r#"{"z":1,"content":[{"text":"*","n":null}],"details":{"lines":["*","t"]},"a":true}"#);
    }

    #[test]
    fn setting_a_key_keeps_its_place() {
        let mut payload = Payload::parse(r#"{"text":"a","replyToId":"m1"}"#).unwrap();
        payload.set("text", "b");
        assert_eq!(payload.to_json(), r#"{"text":"b","replyToId":"m1"}"#);
        assert_eq!(payload.remove("text").unwrap(), "b");
        assert_eq!(payload.as_text(), None);
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        let error = Message::parse("[]").unwrap_err();
        assert_eq!(error.to_string(), "message: expected a JSON object");
        assert!(Payload::parse("{").unwrap_err().to_string().starts_with("payload: "));
    }
}
