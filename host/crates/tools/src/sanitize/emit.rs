//! Copies for events and logs (agent-loop 14.4.1 to 14.4.5): bounded text, no pictures, no secrets. They are never stored as a result
//! and never reach a model.

use std::sync::LazyLock;

use domain::message::ContentBlock;
use domain::tool::ToolResult;
use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use super::secrets::{MASK, free_name, is_secret_name, mask_secrets};
use crate::image::decoded_len;
use crate::text::{CUT_MARK, head, shorten};

/// Most characters of one emitted copy; the mark counts on top.
pub const EMITTED_MAX_CHARS: usize = 8000;
/// Most characters of an error text in events.
pub const ERROR_LINE_MAX_CHARS: usize = 400;
/// How deep values are followed; nothing that was parsed from JSON is deeper.
const MAX_DEPTH: usize = 128;

/// A copy of a value, for example of arguments. All texts in it share one limit.
pub fn emitted_value(value: &Value) -> Value {
    Emission::new().value(value, false, MAX_DEPTH)
}

/// A copy of a result: content, then details, under one limit.
pub fn emitted_result(result: &ToolResult) -> Value {
    let mut emission = Emission::new();
    let mut out = Map::new();
    let content: Vec<Value> = result.content.iter().map_while(|block| emission.block(block)).collect();
    out.insert("content".to_owned(), Value::Array(content));
    if let Some(details) = &result.details {
        out.insert("details".to_owned(), emission.value(details, false, MAX_DEPTH));
    }
    if result.terminate {
        out.insert("terminate".to_owned(), Value::Bool(true));
    }
    Value::Object(out)
}

/// A copy of a text.
pub fn emitted_text(text: &str) -> String {
    shorten(&without_pictures(&mask_secrets(text)), EMITTED_MAX_CHARS)
}

/// The error text of events and audit: first line, bounded, without secrets (14.4.5).
pub fn error_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    head(&mask_secrets(line), ERROR_LINE_MAX_CHARS).0.to_owned()
}

/// What one copy may still hold. Every node costs something, so the copy is bounded in number as well as in length.
struct Emission {
    left: usize,
    marked: bool,
}

impl Emission {
    fn new() -> Self {
        Self { left: EMITTED_MAX_CHARS, marked: false }
    }

    fn text(&mut self, text: &str) -> String {
        let clean = without_pictures(&mask_secrets(text));
        let (kept, cut) = head(&clean, self.left);
        self.left -= kept.chars().count();
        if cut { format!("{kept}{}", self.mark()) } else { kept.to_owned() }
    }

    /// The mark, once.
    fn mark(&mut self) -> &'static str {
        if std::mem::replace(&mut self.marked, true) { "" } else { CUT_MARK }
    }

    fn spend(&mut self, cost: usize) {
        self.left = self.left.saturating_sub(cost);
    }

    fn value(&mut self, value: &Value, secret: bool, depth: usize) -> Value {
        self.spend(1);
        let Some(deeper) = depth.checked_sub(1) else { return Value::from(MASK) };
        match value {
            Value::String(text) if secret && !text.is_empty() => Value::from(MASK),
            Value::Number(_) if secret => Value::from(MASK),
            Value::String(text) => Value::from(self.text(text)),
            Value::Array(items) => self.items(items, secret, deeper),
            Value::Object(map) => omitted_picture(map).unwrap_or_else(|| self.members(map, secret, deeper)),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    fn items(&mut self, items: &[Value], secret: bool, depth: usize) -> Value {
        let mut out = Vec::new();
        for item in items {
            if self.left == 0 {
                out.push(Value::from(self.mark()));
                break;
            }
            out.push(self.value(item, secret, depth));
        }
        Value::Array(out)
    }

    fn members(&mut self, map: &Map<String, Value>, secret: bool, depth: usize) -> Value {
        let mut out = Map::new();
        for (name, member) in map {
            if self.left == 0 {
                out.insert("…".to_owned(), Value::from(self.mark()));
                break;
            }
            let hidden = secret || is_secret_name(name);
            let shown = self.text(name);
            let value = self.value(member, hidden, depth);
            out.insert(free_name(&out, shown), value);
        }
        Value::Object(out)
    }

    fn block(&mut self, block: &ContentBlock) -> Option<Value> {
        if self.left == 0 && self.marked {
            return None;
        }
        Some(match block {
            ContentBlock::Text(text) => json!({ "type": "text", "text": self.text(&text.text) }),
            ContentBlock::Image(image) => {
                self.spend(1);
                picture(&image.mime_type, &image.data)
            }
            other => self.value(&serde_json::to_value(other).unwrap_or_default(), false, MAX_DEPTH),
        })
    }
}

fn picture(mime_type: &str, data: &str) -> Value {
    json!({ "type": "image", "mimeType": head(mime_type, 100).0, "bytes": decoded_len(data), "omitted": true })
}

/// A picture block inside a value.
fn omitted_picture(map: &Map<String, Value>) -> Option<Value> {
    let is_image = map.get("type").and_then(Value::as_str) == Some("image");
    let data = map.get("data").and_then(Value::as_str).filter(|_| is_image)?;
    Some(picture(map.get("mimeType").and_then(Value::as_str).unwrap_or_default(), data))
}

/// Pictures may also come as addresses that hold all their data.
fn without_pictures(text: &str) -> String {
    static DATA_URL: LazyLock<Regex> = LazyLock::new(|| {
        #[allow(clippy::expect_used, reason = "the pattern is constant and a test uses it")]
        Regex::new(r"data:(image/[a-zA-Z0-9.+-]{1,40});base64,([A-Za-z0-9+/]{32,}={0,2})").expect("constant pattern")
    });
    let note = |found: &Captures<'_>| format!("[{} of {} bytes omitted]", &found[1], decoded_len(&found[2]));
    DATA_URL.replace_all(text, note).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;

    fn secret() -> String {
        format!("sk-{}", "a1B2".repeat(10))
    }

    #[test]
    fn a_long_result_with_a_picture_is_cut_and_the_picture_replaced_by_its_size() {
        let result = ToolResult {
            content: vec![ContentBlock::text("x".repeat(20_000)), ContentBlock::image("QUJDRA==", "image/png")],
            ..ToolResult::default()
        };
        let emitted = emitted_result(&result);
        let text = emitted["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, format!("{}{CUT_MARK}", "x".repeat(EMITTED_MAX_CHARS)));
        let first = ToolResult { content: result.content.into_iter().rev().collect(), ..ToolResult::default() };
        let emitted = emitted_result(&first);
        assert_eq!(emitted["content"][0], json!({"type": "image", "mimeType": "image/png", "bytes": 4, "omitted": true}));
    }

    #[test]
    fn many_blocks_share_one_limit() {
        let result = ToolResult { content: vec![ContentBlock::text("x".repeat(100)); 1000], ..ToolResult::default() };
        let emitted = emitted_result(&result);
        let texts: Vec<&str> = emitted["content"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str()).collect();
        assert_eq!(texts.concat(), format!("{}{CUT_MARK}", "x".repeat(EMITTED_MAX_CHARS)));
    }

    #[test]
    fn a_value_of_very_many_parts_is_bounded() {
        for value in [json!(vec![1; 100_000]), json!(vec![json!([]); 100_000]), json!({"k": vec![json!({"": ""}); 100_000]})] {
            let emitted = emitted_value(&value).to_string();
            assert!(emitted.len() < EMITTED_MAX_CHARS * 8, "{}", emitted.len());
            assert!(emitted.contains(CUT_MARK));
        }
    }

    #[test]
    fn secrets_are_masked_before_the_cut() {
        let text = format!("{} {}", "x".repeat(EMITTED_MAX_CHARS - 20), secret());
        assert!(emitted_text(&text).ends_with(" sk-***"));
        let value = json!({"deep": [{"password": "hunter2", "n": secret()}]});
        assert_eq!(emitted_value(&value), json!({"deep": [{"password": "***", "n": "sk-***"}]}));
    }

    #[test]
    fn pictures_in_details_and_addresses_are_left_out() {
        let data = "QUJD".repeat(20);
        let value = json!({"shot": {"type": "image", "data": data, "mimeType": "image/png"}, "url": format!("data:image/png;base64,{data}")});
        let emitted = emitted_value(&value);
        assert_eq!(emitted["shot"]["bytes"], 60);
        assert_eq!(emitted["url"], "[image/png of 60 bytes omitted]");
        assert!(!emitted.to_string().contains("QUJD"));
    }

    #[test]
    fn the_error_line_is_one_bounded_line_without_secrets() {
        assert_eq!(error_line("\n  first \nsecond"), "first");
        assert_eq!(error_line(&format!("bad {}", secret())), "bad sk-***");
        assert_eq!(error_line(&"é".repeat(1000)).chars().count(), ERROR_LINE_MAX_CHARS);
    }
}
