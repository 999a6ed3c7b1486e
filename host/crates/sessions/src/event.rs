//! Transcript events as JSON: what a row stores, and the line of an export (sessions 5). Knows nothing of SQL.

use domain::json::kind_of;
use domain::message::AgentMessage;
use domain::session::TranscriptEvent;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::time::iso8601;

/// Type of an event that is a message.
pub(crate) const MESSAGE: &str = "message";

/// Version of the event format, as headers state it.
pub(crate) const FORMAT_VERSION: u32 = 1;

/// Type of the header.
pub(crate) const HEADER: &str = "session";

/// Types that this version gives a meaning. An event of one of these that does not have its form is damaged, not unknown.
const KNOWN: [&str; 4] = [HEADER, "message", "custom", "model_change"];

/// Keys that an exported line takes from the row and not from the event.
const ROW_KEYS: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// An event ready to be stored.
#[derive(Debug)]
pub(crate) struct EncodedEvent {
    /// Its type.
    pub(crate) kind: String,
    /// Its JSON.
    pub(crate) text: String,
    /// What a reader will make of that JSON.
    pub(crate) event: TranscriptEvent,
}

/// Renders an event and reads it back, so that nothing is ever stored that cannot be read again (values nested deeper than the parser
/// allows, for example).
pub(crate) fn encode(event: &TranscriptEvent) -> Result<EncodedEvent, String> {
    let value = serde_json::to_value(event).map_err(|error| error.to_string())?;
    let kind = kind(&value)?.to_owned();
    let text = value.to_string();
    let event = decode(text.as_bytes())?;
    Ok(EncodedEvent { kind, text, event })
}

/// Reads a stored event.
pub(crate) fn decode(text: &[u8]) -> Result<TranscriptEvent, String> {
    let value: Value = serde_json::from_slice(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
    let kind = kind(&value)?;
    if kind == MESSAGE {
        return decode_message(value);
    }
    let is_known = KNOWN.contains(&kind);
    let kind = kind.to_owned();
    match TranscriptEvent::deserialize(value) {
        Ok(TranscriptEvent::Unknown(_)) if is_known => Err(format!("a `{kind}` event lacks a field or has one of a wrong type")),
        event => event.map_err(|error| error.to_string()),
    }
}

/// Messages make up nearly all of a transcript: read without the buffering that a choice between types costs, and with a reason when
/// they are malformed.
fn decode_message(mut value: Value) -> Result<TranscriptEvent, String> {
    let message = value.get_mut("message").map(Value::take).ok_or("a `message` event needs a `message`")?;
    AgentMessage::from_value(message).map(|message| TranscriptEvent::Message { message }).map_err(|error| error.to_string())
}

fn kind(value: &Value) -> Result<&str, String> {
    let Value::Object(event) = value else {
        return Err(format!("an event must be a JSON object, found {}", kind_of(value)));
    };
    match event.get("type").and_then(Value::as_str) {
        Some(kind) if !kind.is_empty() => Ok(kind),
        _ => Err("an event needs a `type` that is a non-empty text".to_owned()),
    }
}

/// A row as an export sees it.
#[derive(Debug)]
pub(crate) struct RawRow {
    /// Position.
    pub(crate) seq: u64,
    /// Id.
    pub(crate) id: String,
    /// The row before it.
    pub(crate) parent_id: Option<String>,
    /// Milliseconds.
    pub(crate) created_at: u64,
    /// The stored event.
    pub(crate) event: Vec<u8>,
}

/// One line of an export, without the line feed: `type`, `id`, `parentId` (not in the header), `timestamp`, then the event's own keys.
pub(crate) fn line(row: RawRow) -> Result<String, String> {
    let value: Value = serde_json::from_slice(&row.event).map_err(|error| format!("it is not valid JSON: {error}"))?;
    let kind = kind(&value)?.to_owned();
    let mut line = Map::new();
    if kind != HEADER {
        line.insert("parentId".to_owned(), row.parent_id.map_or(Value::Null, Value::from));
    }
    line.insert("timestamp".to_owned(), Value::from(iso8601(row.created_at)));
    line.shift_insert(0, "id".to_owned(), Value::from(row.id));
    line.shift_insert(0, "type".to_owned(), Value::from(kind));
    if let Value::Object(event) = value {
        line.extend(event.into_iter().filter(|(key, _)| !ROW_KEYS.contains(&key.as_str())));
    }
    Ok(Value::Object(line).to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::json;

    use super::*;

    #[test]
    fn events_are_read_back_as_they_were() {
        for event in [
            TranscriptEvent::Session { cwd: "/w".to_owned(), version: 1, parent_session: Some("s0".to_owned()) },
            TranscriptEvent::Message { message: AgentMessage::user("a\u{0}\n\u{2028}🦀", 5) },
            TranscriptEvent::Custom { custom_type: "note".to_owned(), data: json!({"k": [1, null]}) },
            TranscriptEvent::ModelChange { provider: "p".to_owned(), model_id: "m".to_owned() },
            TranscriptEvent::Unknown(json!({"type": "leaf", "targetId": "x", "id": "kept"})),
        ] {
            assert_eq!(encode(&event).unwrap().event, event);
        }
    }

    #[test]
    fn what_could_not_be_read_again_is_refused() {
        let mut deep = json!(1);
        for _ in 0..200 {
            deep = json!([deep]);
        }
        let custom = |data| TranscriptEvent::Custom { custom_type: "x".to_owned(), data };
        for (bad, reason) in [
            (custom(deep), "recursion limit"),
            (TranscriptEvent::Unknown(json!([1])), "JSON object"),
            (TranscriptEvent::Unknown(json!({"kind": "x"})), "needs a `type`"),
            (TranscriptEvent::Unknown(json!({"type": ""})), "needs a `type`"),
            (TranscriptEvent::Unknown(json!({"type": "custom"})), "`custom` event lacks"),
            (TranscriptEvent::Unknown(json!({"type": "message", "message": {"role": "user", "content": 7}})), "`user` message"),
        ] {
            let refused = encode(&bad).unwrap_err();
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn lines_put_the_row_first_and_keep_unknown_keys() {
        let row = |id: &str, parent: Option<&str>, event: Value| RawRow {
            seq: 0,
            id: id.to_owned(),
            parent_id: parent.map(str::to_owned),
            created_at: 1_000,
            event: event.to_string().into_bytes(),
        };
        assert_eq!(
            line(row("s", None, json!({"type": "session", "cwd": "/w", "version": 1}))).unwrap(),
            r#"{"type":"session","id":"s","timestamp":"1970-01-01T00:00:01.000Z","cwd":"/w","version":1}"#
        );
        assert_eq!(
            line(row("e", Some("s"), json!({"type": "leaf", "id": "shadowed", "targetId": "t"}))).unwrap(),
            r#"{"type":"leaf","id":"e","parentId":"s","timestamp":"1970-01-01T00:00:01.000Z","targetId":"t"}"#
        );
    }
}
