//! Ids of tool calls that repeat nowhere in a conversation. Servers count their ids anew in each answer, or give none; a history with
//! two calls of one id is refused by the next provider, so ids are made unique where they enter.

use std::collections::HashSet;

use domain::CallId;
use domain::message::AgentMessage;

/// Longest id that providers take back.
const MAX_LEN: usize = 40;

/// The ids that a conversation has used.
#[derive(Debug)]
pub(crate) struct CallIds(HashSet<String>);

impl CallIds {
    /// The ids of a history.
    pub(crate) fn of(messages: &[AgentMessage]) -> Self {
        let assistants = messages.iter().filter_map(|message| match message {
            AgentMessage::Assistant(assistant) => Some(assistant),
            _ => None,
        });
        Self(assistants.flat_map(|message| message.tool_calls()).map(|call| call.id.as_str().to_owned()).collect())
    }

    /// The wanted id if it is free, else the id with a number behind it. The same history gives the same id.
    pub(crate) fn claim(&mut self, wanted: &str) -> CallId {
        let wanted = if wanted.is_empty() { "call" } else { wanted };
        let mut id = wanted.to_owned();
        let mut number = 2_u64;
        while id.chars().count() > MAX_LEN || self.0.contains(&id) {
            let suffix = format!("_{number}");
            id = wanted.chars().take(MAX_LEN - suffix.len()).collect::<String>() + &suffix;
            number += 1;
        }
        self.0.insert(id.clone());
        CallId::new(id)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn taken_ids_get_a_number() {
        let history = AgentMessage::from_value(json!({"role": "assistant", "content": [
            {"type": "toolCall", "id": "t:0", "name": "read", "arguments": {}}]}));
        let history: Vec<AgentMessage> = history.into_iter().collect();
        let mut ids = CallIds::of(&history);
        let claimed = ["t:0", "t:0", "new", "", ""].map(|wanted| ids.claim(wanted).to_string());
        assert_eq!(claimed, ["t:0_2", "t:0_3", "new", "call", "call_2"]);
    }

    #[test]
    fn long_ids_are_cut_and_stay_apart() {
        let mut ids = CallIds::of(&[]);
        let long = "ä".repeat(500);
        let (first, second) = (ids.claim(&long), ids.claim(&long));
        assert_ne!(first, second);
        assert!(first.as_str().chars().count() <= MAX_LEN && second.as_str().chars().count() <= MAX_LEN);
    }
}
