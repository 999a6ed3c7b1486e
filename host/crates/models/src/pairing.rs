//! Whether the tool calls of a request and their results belong together. Providers refuse a request in which they do not, and go on
//! refusing it for as long as the history lasts; so it is found here first. This file repairs nothing.

use std::collections::HashSet;

use domain::CallId;
use domain::message::{AgentMessage, AssistantMessage, ToolResultMessage};

/// Roles of wire protocols. In a transcript they are a mistake: a message with one of them would be dropped in silence.
const WIRE_ROLES: [&str; 5] = ["system", "developer", "tool", "function", "model"];

/// What is wrong with the messages of a request. `index` counts messages from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairingFault {
    /// A call without a result directly after its message.
    #[error("message {index} calls tool `{name}` (`{id}`), and no result follows directly after that message")]
    MissingResult {
        /// The assistant message.
        index: usize,
        /// The call.
        id: CallId,
        /// The tool.
        name: String,
    },
    /// A result that belongs to no call of the assistant message before it.
    #[error("message {index} is a result for `{id}`, which the assistant message before it did not call")]
    OrphanResult {
        /// The result.
        index: usize,
        /// The call that it names.
        id: CallId,
    },
    /// A second result for one call.
    #[error("message {index} is a second result for `{id}`")]
    DuplicateResult {
        /// The second result.
        index: usize,
        /// The call.
        id: CallId,
    },
    /// Two calls with one id, in one message or in two.
    #[error("message {index} calls tool `{name}` with the id `{id}`, which an earlier call has")]
    ReusedId {
        /// The assistant message.
        index: usize,
        /// The id.
        id: CallId,
        /// The tool of the second call.
        name: String,
    },
    /// A call without an id.
    #[error("message {index} calls tool `{name}` without an id")]
    NoId {
        /// The assistant message.
        index: usize,
        /// The tool.
        name: String,
    },
    /// A role that no transcript has.
    #[error("message {index} has the role `{role}`; a transcript has `user`, `assistant`, `toolResult` and custom roles")]
    InvalidRole {
        /// The message.
        index: usize,
        /// Its role.
        role: String,
    },
}

/// Checks that every call has exactly one result, directly after its assistant message, and that every result has its call
/// (sessions 8.4 to 8.6). The order of the results of one message is free; custom messages, which no model sees, may stand anywhere.
///
/// # Errors
/// The first fault, with the index of its message.
pub fn check_pairing(messages: &[AgentMessage]) -> Result<(), PairingFault> {
    let mut check = Check::default();
    for (index, message) in messages.iter().enumerate() {
        match message {
            AgentMessage::User(_) => check.settle()?,
            AgentMessage::Assistant(assistant) => check.calls(index, assistant)?,
            AgentMessage::ToolResult(result) => check.result(index, result)?,
            AgentMessage::Custom(_) => check_role(index, message.role())?,
        }
    }
    check.settle()
}

fn check_role(index: usize, role: &str) -> Result<(), PairingFault> {
    if role.is_empty() || WIRE_ROLES.contains(&role) {
        return Err(PairingFault::InvalidRole { index, role: role.to_owned() });
    }
    Ok(())
}

/// The calls seen so far, and those of the last assistant message that wait for their results.
#[derive(Default)]
struct Check<'a> {
    known: HashSet<&'a CallId>,
    asked_at: usize,
    waiting: Vec<(&'a CallId, &'a str)>,
    answered: Vec<&'a CallId>,
}

impl<'a> Check<'a> {
    fn calls(&mut self, index: usize, message: &'a AssistantMessage) -> Result<(), PairingFault> {
        self.settle()?;
        self.asked_at = index;
        for call in message.tool_calls() {
            let name = || call.name.clone();
            if call.id.as_str().is_empty() {
                return Err(PairingFault::NoId { index, name: name() });
            }
            if !self.known.insert(&call.id) {
                return Err(PairingFault::ReusedId { index, id: call.id.clone(), name: name() });
            }
            self.waiting.push((&call.id, &call.name));
        }
        Ok(())
    }

    fn result(&mut self, index: usize, result: &'a ToolResultMessage) -> Result<(), PairingFault> {
        let id = &result.tool_call_id;
        if let Some(position) = self.waiting.iter().position(|(waiting, _)| *waiting == id) {
            self.waiting.swap_remove(position);
            self.answered.push(id);
            return Ok(());
        }
        let id = id.clone();
        Err(if self.answered.contains(&&id) {
            PairingFault::DuplicateResult { index, id }
        } else {
            PairingFault::OrphanResult { index, id }
        })
    }

    /// Ends the batch of the last assistant message.
    fn settle(&mut self) -> Result<(), PairingFault> {
        self.answered.clear();
        match self.waiting.first() {
            None => Ok(()),
            Some((id, name)) => {
                Err(PairingFault::MissingResult { index: self.asked_at, id: (*id).clone(), name: (*name).to_owned() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::{Value, json};

    use super::*;

    fn check(messages: Value) -> Result<(), PairingFault> {
        let messages: Vec<AgentMessage> = serde_json::from_value(messages).unwrap();
        check_pairing(&messages)
    }

    fn user() -> Value {
        json!({"role": "user", "content": "go"})
    }

    fn calls(ids: &[&str]) -> Value {
        let blocks: Vec<Value> =
            ids.iter().map(|id| json!({"type": "toolCall", "id": id, "name": "read", "arguments": {}})).collect();
        json!({"role": "assistant", "content": blocks})
    }

    fn result(id: &str) -> Value {
        json!({"role": "toolResult", "toolCallId": id, "content": "ok"})
    }

    #[test]
    fn paired_messages_pass() {
        let custom = json!({"role": "note", "text": "x"});
        for good in [
            json!([]),
            json!([user()]),
            json!([user(), calls(&["a", "b"]), result("b"), result("a"), user()]),
            json!([user(), calls(&["a"]), custom, result("a"), calls(&["b"]), result("b")]),
            json!([calls(&[]), user()]),
        ] {
            assert_eq!(check(good.clone()), Ok(()), "{good}");
        }
    }

    #[test]
    fn faults_name_the_message() {
        let id = CallId::new("a");
        let name = "read".to_owned();
        let rows = [
            (json!([user(), calls(&["a"])]), PairingFault::MissingResult { index: 1, id: id.clone(), name: name.clone() }),
            (
                json!([calls(&["a"]), user(), result("a")]),
                PairingFault::MissingResult { index: 0, id: id.clone(), name: name.clone() },
            ),
            (json!([calls(&["a"]), calls(&["b"])]), PairingFault::MissingResult { index: 0, id: id.clone(), name: name.clone() }),
            (json!([user(), result("a")]), PairingFault::OrphanResult { index: 1, id: id.clone() }),
            (
                json!([calls(&["b"]), result("b"), user(), result("b")]),
                PairingFault::OrphanResult { index: 3, id: CallId::new("b") },
            ),
            (json!([calls(&["a"]), result("a"), result("a")]), PairingFault::DuplicateResult { index: 2, id: id.clone() }),
            (json!([calls(&["a", "a"])]), PairingFault::ReusedId { index: 0, id: id.clone(), name: name.clone() }),
            (json!([calls(&["a"]), result("a"), calls(&["a"])]), PairingFault::ReusedId { index: 2, id, name: name.clone() }),
            (json!([calls(&[""])]), PairingFault::NoId { index: 0, name }),
            (json!([user(), {"role": "tool"}]), PairingFault::InvalidRole { index: 1, role: "tool".to_owned() }),
        ];
        for (messages, fault) in rows {
            assert_eq!(check(messages.clone()), Err(fault), "{messages}");
        }
    }
}
