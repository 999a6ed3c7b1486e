//! What a model sees of a transcript: computed from rows for every request, never stored and never kept in memory beside the rows
//! (agent-loop 11.2.6, sessions 8). A pure function: the same rows give the same request.

use std::collections::{HashMap, HashSet};

use domain::CallId;
use domain::message::{AgentMessage, AssistantMessage, ContentBlock, StopReason, ToolCallBlock, ToolResultMessage, UserMessage};
use domain::session::{TranscriptEvent, TranscriptRow};
use hooks::join::join;
use serde_json::{Map, Value};

/// Stands for a tool result that was never recorded, or that a plugin refused (sessions 8.5, 5.4.9).
pub const MISSING_RESULT: &str = "No result was recorded for this tool call.";
/// Stands for a message whose text is blank (sessions 8.9).
pub const BLANK_PLACEHOLDER: &str = "(no text)";
/// Stands for a prompt whose row a plugin refused.
pub const WITHHELD_PROMPT: &str = "(the message was withheld)";
/// Ends a request whose rows end with the assistant: providers answer a user or a tool result only (agent-loop 11.2.1).
pub const GO_ON: &str = "(go on)";
/// Longest tool name that providers accept (runtime 12.1.10).
const MAX_TOOL_NAME: usize = 64;

/// Text of one turn that reaches the model and is not stored (agent-loop 9.5), and the place of its prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnText {
    /// Row of the user message that it belongs to; none: the row was refused, and a placeholder stands for it.
    pub prompt_row: Option<String>,
    /// How many rows stood before the prompt.
    pub position: usize,
    /// Before the prompt.
    pub prepend: Option<String>,
    /// After the prompt.
    pub append: Option<String>,
}

impl TurnText {
    /// The prompt with the text of the turn around it.
    pub fn around(&self, prompt: &str) -> String {
        let parts = [self.prepend.as_deref().unwrap_or_default(), prompt, self.append.as_deref().unwrap_or_default()];
        join(parts).unwrap_or_default()
    }

    fn placeholder(&self) -> AgentMessage {
        AgentMessage::user(self.around(WITHHELD_PROMPT), 0)
    }
}

/// The messages of a request.
pub fn build(rows: &[TranscriptRow], turn: &TurnText) -> Vec<AgentMessage> {
    let (before, after) = rows.split_at(turn.position.min(rows.len()));
    let mut messages: Vec<AgentMessage> = before.iter().filter_map(message_of).collect();
    if turn.prompt_row.is_none() {
        messages.push(turn.placeholder());
    }
    messages.extend(after.iter().filter_map(|row| {
        let is_prompt = turn.prompt_row.as_deref() == Some(row.id.as_str());
        message_of(row).map(|message| if is_prompt { with_turn_text(message, turn) } else { message })
    }));
    let mut messages = pair(messages);
    if !matches!(messages.last(), Some(AgentMessage::User(_) | AgentMessage::ToolResult(_))) {
        messages.push(AgentMessage::user(GO_ON, 0));
    }
    messages
}

/// The session's messages as plugins see them before a turn: projected like a request, without the turn's own text.
pub fn history(rows: &[TranscriptRow]) -> Vec<AgentMessage> {
    pair(rows.iter().filter_map(message_of).collect())
}

/// What a row says to the model.
fn message_of(row: &TranscriptRow) -> Option<AgentMessage> {
    match &row.event {
        TranscriptEvent::Message { message } => Some(message.clone()),
        TranscriptEvent::CustomMessage { content, .. } => Some(AgentMessage::user(content.clone(), row.created_at)),
        _ => None,
    }
}

fn with_turn_text(message: AgentMessage, turn: &TurnText) -> AgentMessage {
    let AgentMessage::User(mut user) = message else { return message };
    let text = turn.around(&domain::message::text_of(&user.content));
    user.content.retain(|block| block.as_text().is_none());
    user.content.insert(0, ContentBlock::text(text));
    AgentMessage::User(user)
}

/// Puts each tool result directly behind its call, makes up what is missing, and leaves out what no provider accepts.
fn pair(messages: Vec<AgentMessage>) -> Vec<AgentMessage> {
    let (mut results, others) = split_results(messages);
    let mut seen_calls: HashSet<CallId> = HashSet::new();
    let mut out = Vec::with_capacity(results.len() + others.len());
    for message in others {
        match message {
            AgentMessage::User(user) => out.push(AgentMessage::User(clean_user(user))),
            AgentMessage::Assistant(assistant) => push_assistant(&mut out, assistant, &mut results, &mut seen_calls),
            // Results were taken out above; custom roles are not part of a request.
            AgentMessage::ToolResult(_) | AgentMessage::Custom(_) => {}
        }
    }
    out
}

/// The first result of each call, and everything else; later results are duplicates (8.6).
fn split_results(messages: Vec<AgentMessage>) -> (HashMap<CallId, ToolResultMessage>, Vec<AgentMessage>) {
    let mut results = HashMap::new();
    let mut others = Vec::with_capacity(messages.len());
    for message in messages {
        match message {
            AgentMessage::ToolResult(result) => drop(results.entry(result.tool_call_id.clone()).or_insert(result)),
            other => others.push(other),
        }
    }
    (results, others)
}

fn push_assistant(
    out: &mut Vec<AgentMessage>,
    mut assistant: AssistantMessage,
    results: &mut HashMap<CallId, ToolResultMessage>,
    seen: &mut HashSet<CallId>,
) {
    let replays_calls = !matches!(assistant.stop_reason, StopReason::Error | StopReason::Aborted);
    assistant.content.retain_mut(|block| match block {
        ContentBlock::Text(text) => !text.text.trim().is_empty(),
        ContentBlock::ToolCall(call) => replays_calls && make_replayable(call) && seen.insert(call.id.clone()),
        ContentBlock::Thinking(_) => true,
        ContentBlock::Image(_) | ContentBlock::Other(_) => false,
    });
    let says_something = assistant.content.iter().any(|block| !matches!(block, ContentBlock::Thinking(_)));
    if !says_something {
        return;
    }
    let calls: Vec<(CallId, String)> = assistant.tool_calls().map(|call| (call.id.clone(), call.name.clone())).collect();
    out.push(AgentMessage::Assistant(assistant));
    for (id, name) in calls {
        let result = results.remove(&id).unwrap_or_else(|| missing_result(id, name));
        out.push(AgentMessage::ToolResult(clean_result(result)));
    }
}

/// Whether a call can stand in a request. Arguments that are no object (text that did not parse, for example) become an empty one: the
/// call must stay, or the model would never see the error that it got for them.
fn make_replayable(call: &mut ToolCallBlock) -> bool {
    if call.id.as_str().is_empty() || !is_callable(&call.name) || call.arguments.is_null() {
        return false;
    }
    if !call.arguments.is_object() {
        call.arguments = Value::Object(Map::new());
    }
    true
}

fn is_callable(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_TOOL_NAME && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

fn clean_user(mut user: UserMessage) -> UserMessage {
    user.content.retain(|block| block.as_text().is_none_or(|text| !text.trim().is_empty()));
    if user.content.is_empty() {
        user.content.push(ContentBlock::text(BLANK_PLACEHOLDER));
    }
    user
}

fn clean_result(mut result: ToolResultMessage) -> ToolResultMessage {
    result.details = None;
    result.content.retain(|block| match block {
        ContentBlock::Text(text) => !text.text.trim().is_empty(),
        ContentBlock::Image(_) => true,
        _ => false,
    });
    if result.content.is_empty() {
        result.content.push(ContentBlock::text(BLANK_PLACEHOLDER));
    }
    result
}

fn missing_result(tool_call_id: CallId, tool_name: String) -> ToolResultMessage {
    ToolResultMessage {
        tool_call_id,
        tool_name,
        content: vec![ContentBlock::text(MISSING_RESULT)],
        details: None,
        is_error: true,
        timestamp: 0,
        extra: Map::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn rows(values: &[serde_json::Value]) -> Vec<TranscriptRow> {
        values
            .iter()
            .enumerate()
            .map(|(seq, value)| TranscriptRow {
                seq: seq as u64,
                id: format!("e{seq}"),
                parent_id: None,
                created_at: 0,
                event: TranscriptEvent::Message { message: AgentMessage::from_value(value.clone()).unwrap() },
            })
            .collect()
    }

    fn roles(messages: &[AgentMessage]) -> Vec<String> {
        messages
            .iter()
            .map(|message| match message {
                AgentMessage::ToolResult(result) => format!("result:{}", result.tool_call_id),
                other => other.role().to_owned(),
            })
            .collect()
    }

    fn call(id: &str) -> serde_json::Value {
        json!({"type":"toolCall","id":id,"name":"read","arguments":{}})
    }

    fn result(id: &str) -> serde_json::Value {
        json!({"role":"toolResult","toolCallId":id,"toolName":"read","content":"r","details":{"secret":1}})
    }

    /// A turn whose prompt is the first row.
    fn first_row() -> TurnText {
        TurnText { prompt_row: Some("e0".into()), ..TurnText::default() }
    }

    #[test]
    fn results_follow_their_call_in_its_order_without_details() {
        let rows = rows(&[
            json!({"role":"user","content":"go"}),
            json!({"role":"assistant","content":[call("a"), call("b")],"stopReason":"toolUse"}),
            result("b"),
            result("a"),
            result("a"),
            result("stranger"),
        ]);
        let view = build(&rows, &first_row());
        assert_eq!(roles(&view), ["user", "assistant", "result:a", "result:b"]);
        assert!(view.iter().all(|message| !message.to_json().as_str().contains("secret")));
    }

    #[test]
    fn a_missing_result_is_made_up_and_calls_of_a_failed_message_are_not_replayed() {
        let rows = rows(&[
            json!({"role":"user","content":"go"}),
            json!({"role":"assistant","content":[call("a")],"stopReason":"toolUse"}),
            json!({"role":"assistant","content":[{"type":"text","text":"half"}, call("z")],"stopReason":"aborted"}),
            json!({"role":"user","content":"again"}),
        ]);
        let view = build(&rows, &first_row());
        assert_eq!(roles(&view), ["user", "assistant", "result:a", "assistant", "user"]);
        assert_eq!(view[2].text(), MISSING_RESULT);
    }

    #[test]
    fn text_of_the_turn_surrounds_its_prompt_only() {
        let rows = rows(&[json!({"role":"user","content":"old"}), json!({"role":"user","content":"new"})]);
        let turn = TurnText { prompt_row: Some("e1".into()), position: 1, prepend: Some("P".into()), append: Some("A".into()) };
        let view = build(&rows, &turn);
        assert_eq!((view[0].text().as_str(), view[1].text().as_str()), ("old", "P\n\nnew\n\nA"));
    }

    #[test]
    fn a_refused_prompt_keeps_its_place() {
        let turn = TurnText { position: 1, prepend: Some("P".into()), ..TurnText::default() };
        let rows = rows(&[
            json!({"role":"user","content":"old"}),
            json!({"role":"assistant","content":[call("a")],"stopReason":"toolUse"}),
            result("a"),
        ]);
        let view = build(&rows, &turn);
        assert_eq!(roles(&view), ["user", "user", "assistant", "result:a"]);
        assert_eq!(view[1].text(), format!("P\n\n{WITHHELD_PROMPT}"));
        assert_eq!(build(&rows[..1], &turn).len(), 2);
    }

    #[test]
    fn arguments_that_are_no_object_keep_their_call_and_missing_ones_do_not() {
        let with = |arguments: serde_json::Value| {
            json!({"role":"assistant","stopReason":"toolUse","content":[
            {"type":"toolCall","id":"a","name":"read","arguments":arguments}]})
        };
        let view = build(&rows(&[with(json!("{\"path\": ")), result("a")]), &TurnText::default());
        assert_eq!(roles(&view), ["user", "assistant", "result:a"]);
        let AgentMessage::Assistant(assistant) = &view[1] else { unreachable!() };
        assert_eq!(assistant.tool_calls().next().unwrap().arguments, json!({}));
        assert_eq!(roles(&build(&rows(&[with(json!(null)), result("a")]), &TurnText::default())), ["user"]);
    }

    #[test]
    fn a_request_never_ends_with_the_assistant() {
        let rows = rows(&[json!({"role":"user","content":"u"}), json!({"role":"assistant","content":"done"})]);
        assert_eq!(build(&rows, &first_row()).last().unwrap().text(), GO_ON);
    }

    fn any_message() -> impl Strategy<Value = serde_json::Value> {
        let id = prop_oneof![Just("a"), Just("b"), Just("c")];
        prop_oneof![
            Just(json!({"role":"user","content":"u"})),
            id.clone().prop_map(result),
            (proptest::collection::vec(id, 0..3), any::<bool>()).prop_map(|(ids, ok)| {
                let calls: Vec<_> = ids.into_iter().map(call).collect();
                json!({"role":"assistant","content":calls,"stopReason": if ok { "toolUse" } else { "aborted" }})
            }),
            Just(json!({"role":"note","content":"x"})),
        ]
    }

    proptest! {
        /// Any rows, also cut anywhere, give a request in which every call has exactly one result, directly behind it.
        #[test]
        fn every_request_is_paired(values in proptest::collection::vec(any_message(), 0..12), position in 0_usize..14, kept: bool) {
            let prompt_row = kept.then(|| format!("e{position}"));
            let view = build(&rows(&values), &TurnText { prompt_row, position, ..TurnText::default() });
            let mut waiting: Vec<CallId> = Vec::new();
            let mut answered: HashSet<CallId> = HashSet::new();
            for message in &view {
                match message {
                    AgentMessage::ToolResult(result) => {
                        prop_assert_eq!(waiting.first(), Some(&result.tool_call_id));
                        waiting.remove(0);
                        prop_assert!(answered.insert(result.tool_call_id.clone()));
                    }
                    other => {
                        prop_assert!(waiting.is_empty());
                        if let AgentMessage::Assistant(assistant) = other {
                            waiting = assistant.tool_calls().map(|call| call.id.clone()).collect();
                        }
                    }
                }
            }
            prop_assert!(waiting.is_empty());
            let ends_open = matches!(view.last(), Some(AgentMessage::User(_) | AgentMessage::ToolResult(_)));
            prop_assert!(ends_open);
        }
    }
}
