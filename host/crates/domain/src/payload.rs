//! The unit of an outgoing reply. An open JSON object: unknown keys pass through untouched, host trust marks never leave the host
//! and are never taken from a guest (plugin-hooks 3, `ReplyPayload`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Keys that only the host may set; they are removed before a guest sees a payload and ignored in what it returns.
pub const HOST_TRUST_KEYS: [&str; 1] = ["trustedLocalMedia"];

/// One outgoing reply unit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplyPayload {
    /// Text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// One media address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_url: Option<String>,
    /// Media addresses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media_urls: Vec<String>,
    /// Whether it tells of an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Whether it holds reasoning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_reasoning: bool,
    /// All other keys.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What a payload is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PayloadKind {
    /// A tool summary.
    Tool,
    /// A part of a streamed answer.
    Block,
    /// The final answer.
    Final,
}

impl ReplyPayload {
    /// A payload of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// An error text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), is_error: true, ..Self::default() }
    }

    /// Whether anything could be shown (agent-loop 16.2.5).
    pub fn is_renderable(&self) -> bool {
        let has_text = self.text.as_deref().is_some_and(|text| !text.trim().is_empty());
        has_text || self.has_media() || ["presentation", "channelData"].iter().any(|key| self.extra.contains_key(*key))
    }

    /// Whether it carries media.
    pub fn has_media(&self) -> bool {
        self.media_url.is_some() || !self.media_urls.is_empty()
    }

    /// All media addresses.
    pub fn media(&self) -> impl Iterator<Item = &str> {
        self.media_url.iter().chain(&self.media_urls).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_keys_pass_through() {
        let value = json!({"text":"a","mediaUrls":["u"],"channelData":{"x":1},"future":true});
        let payload: ReplyPayload = serde_json::from_value(value.clone()).unwrap();
        assert_eq!(serde_json::to_value(&payload).unwrap(), value);
    }

    #[test]
    fn blank_text_alone_is_not_renderable() {
        assert!(!ReplyPayload::text(" \n").is_renderable());
        assert!(ReplyPayload { media_url: Some("u".into()), ..ReplyPayload::default() }.is_renderable());
    }
}
