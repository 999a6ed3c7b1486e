//! Tool calls out of their pieces (runtime 12.2). A piece belongs to a call by its index; servers that leave the index out, or give
//! every call the same one, are followed by id, and at last by position.

use domain::message::ToolCallBlock;
use serde_json::{Map, Value, json};

use super::chunk::CallDelta;
use crate::call_ids::CallIds;
use crate::tool_names::is_tool_name;

/// What a server did wrong with its tool calls.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum CallFault {
    /// Arguments without a call.
    #[error("sent arguments that belong to no tool call")]
    Stray,
    /// A call without a name.
    #[error("sent a tool call without a name")]
    Unnamed,
    /// A name that no tool can have; it must not enter a history (runtime 12.1.10).
    #[error("called a tool by the name `{0}`, which no tool can have")]
    BadName(String),
}

/// One call under way.
#[derive(Debug, Default)]
pub(super) struct OpenCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Content block of the message.
    pub(super) block: usize,
}

/// All calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Calls(Vec<OpenCall>);

/// Where a piece went.
pub(super) struct Placed<'a> {
    pub(super) call: &'a mut OpenCall,
    /// The piece began this call.
    pub(super) is_new: bool,
}

impl Calls {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a piece. `position` is its place among `siblings` pieces of one chunk.
    ///
    /// # Errors
    /// When it continues a call that was not begun.
    pub(super) fn add(&mut self, piece: &CallDelta, position: usize, siblings: usize) -> Result<Placed<'_>, CallFault> {
        let id = piece.id.as_deref().unwrap_or_default();
        let name = piece.function.name.as_deref().unwrap_or_default();
        let found = self.find(piece.index, id, !name.is_empty(), if siblings > 1 { Some(position) } else { None });
        let is_new = found.is_none();
        if is_new && id.is_empty() && name.is_empty() {
            return Err(CallFault::Stray);
        }
        let at = found.unwrap_or_else(|| {
            self.0.push(OpenCall { index: piece.index, ..OpenCall::default() });
            self.0.len() - 1
        });
        let call = &mut self.0[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(&piece.function.arguments());
        Ok(Placed { call, is_new })
    }

    fn find(&self, index: Option<u64>, id: &str, is_named: bool, position: Option<usize>) -> Option<usize> {
        let by_id = || self.0.iter().rposition(|call| call.id == id);
        match index {
            Some(index) => {
                let at = self.0.iter().position(|call| call.index == Some(index))?;
                let known = &self.0[at].id;
                // Another id under one index: the server gives all calls the same index.
                if !id.is_empty() && !known.is_empty() && known != id { by_id() } else { Some(at) }
            }
            None if !id.is_empty() => by_id(),
            None => {
                let at = position.unwrap_or(self.0.len().saturating_sub(1));
                let begun = self.0.get(at).is_some_and(|call| !call.name.is_empty());
                // A second name begins a second call.
                if at < self.0.len() && !(is_named && begun) { Some(at) } else { None }
            }
        }
    }

    /// Ends all calls.
    ///
    /// # Errors
    /// When one has no name, or one that no tool can have.
    pub(super) fn finish(self, ids: &mut CallIds) -> Result<Vec<(usize, ToolCallBlock)>, CallFault> {
        self.0.into_iter().map(|call| Ok((call.block, call.finish(ids)?))).collect()
    }
}

impl OpenCall {
    /// The name as far as it is known.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn finish(self, ids: &mut CallIds) -> Result<ToolCallBlock, CallFault> {
        if self.name.is_empty() {
            return Err(CallFault::Unnamed);
        }
        if !is_tool_name(&self.name) {
            return Err(CallFault::BadName(self.name));
        }
        Ok(ToolCallBlock {
            id: ids.claim(&self.id),
            arguments: parse_arguments(self.arguments),
            name: self.name,
            extra: Map::new(),
        })
    }
}

/// The arguments. Text that does not parse is kept as text: it is refused when the call is prepared, so that the model hears of it
/// (runtime 12.1.5).
fn parse_arguments(text: String) -> Value {
    if text.trim().is_empty() {
        return json!({});
    }
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Feeds chunks, each a list of pieces, and renders the calls.
    fn assemble(chunks: Value) -> Result<Vec<String>, CallFault> {
        let chunks: Vec<Vec<CallDelta>> = serde_json::from_value(chunks).unwrap();
        let mut calls = Calls::default();
        for chunk in &chunks {
            for (position, piece) in chunk.iter().enumerate() {
                calls.add(piece, position, chunk.len())?;
            }
        }
        let calls = calls.finish(&mut CallIds::of(&[]))?;
        Ok(calls.iter().map(|(_, call)| format!("{}:{}:{}", call.id, call.name, call.arguments)).collect())
    }

    fn begin(index: Option<u64>, id: &str, name: &str) -> Value {
        json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}})
    }

    fn more(index: Option<u64>, id: &str, arguments: &str) -> Value {
        json!({"index": index, "id": id, "function": {"arguments": arguments}})
    }

    #[test]
    fn pieces_are_told_apart_by_index_id_and_position() {
        let two = ["a:read:{\"p\":1}", "b:list:{\"q\":2}"];
        let (zero, one) = (Some(0), Some(1));
        let rows = [
            (
                "interleaved by index",
                json!([
                    [begin(zero, "a", "read")],
                    [begin(one, "b", "list")],
                    [more(zero, "", "{\"p\"")],
                    [more(one, "", "{\"q\":")],
                    [more(zero, "", ":1}")],
                    [more(one, "", "2}")]
                ]),
            ),
            (
                "index without order",
                json!([
                    [begin(Some(7), "a", "read")],
                    [begin(Some(3), "b", "list")],
                    [more(Some(3), "", "{\"q\":2}")],
                    [more(Some(7), "", "{\"p\":1}")]
                ]),
            ),
            (
                "several pieces in one chunk",
                json!([
                    [begin(zero, "a", "read"), begin(one, "b", "list")],
                    [more(zero, "", "{\"p\":1}"), more(one, "", "{\"q\":2}")]
                ]),
            ),
            (
                "one index for all, ids differ",
                json!([
                    [begin(zero, "a", "read")],
                    [more(zero, "a", "{\"p\":1}")],
                    [begin(zero, "b", "list")],
                    [more(zero, "b", "{\"q\":2}")]
                ]),
            ),
            (
                "no index, id repeated",
                json!([
                    [begin(None, "a", "read")],
                    [begin(None, "b", "list")],
                    [more(None, "a", "{\"p\":1}")],
                    [more(None, "b", "{\"q\":2}")]
                ]),
            ),
            (
                "no index, id only at first",
                json!([
                    [begin(None, "a", "read")],
                    [more(None, "", "{\"p\":1}")],
                    [begin(None, "b", "list")],
                    [more(None, "", "{\"q\":2}")]
                ]),
            ),
            (
                "no index, by position",
                json!([
                    [begin(None, "a", "read"), begin(None, "b", "list")],
                    [more(None, "", "{\"p\":1}"), more(None, "", "{\"q\":2}")]
                ]),
            ),
        ];
        for (what, chunks) in rows {
            assert_eq!(assemble(chunks).unwrap(), two, "{what}");
        }
    }

    #[test]
    fn missing_and_equal_ids_become_unique() {
        let chunks = json!([[
            begin(Some(0), "", "read"),
            begin(Some(1), "", "read"),
            begin(Some(2), "x", "read"),
            begin(Some(3), "x", "read")
        ]]);
        assert_eq!(assemble(chunks).unwrap(), ["call:read:{}", "call_2:read:{}", "x:read:{}", "x_2:read:{}"]);
        let chunks = json!([[{"function": {"name": "read"}}], [{"function": {"name": "list"}}]]);
        assert_eq!(assemble(chunks).unwrap(), ["call:read:{}", "call_2:list:{}"]);
    }

    #[test]
    fn arguments_are_parsed_at_the_end() {
        let arguments = |text: Value| assemble(json!([[{"index": 0, "id": "a", "function": {"name": "t", "arguments": text}}]]));
        assert_eq!(arguments(json!(" ")).unwrap(), ["a:t:{}"]);
        assert_eq!(arguments(json!(null)).unwrap(), ["a:t:{}"]);
        assert_eq!(arguments(json!({"whole": [1]})).unwrap(), ["a:t:{\"whole\":[1]}"]);
        assert_eq!(arguments(json!("{\"a\": \"line\nbreak\"")).unwrap(), [r#"a:t:"{\"a\": \"line\nbreak\"""#]);
    }

    #[test]
    fn what_cannot_be_a_call_is_refused() {
        assert_eq!(assemble(json!([[more(Some(0), "", "{}")]])), Err(CallFault::Stray));
        assert_eq!(assemble(json!([[more(None, "", "{}")]])), Err(CallFault::Stray));
        assert_eq!(assemble(json!([[more(Some(0), "a", "{}")]])), Err(CallFault::Unnamed));
        assert_eq!(assemble(json!([[begin(Some(0), "a", "a b")]])), Err(CallFault::BadName("a b".to_owned())));
    }
}
