//! What is stored instead of content that a required plugin should have looked at and could not (plugin-hooks 1.8). A row keeps what
//! pairs and orders it (role, ids of calls, names, flags) and loses everything that the plugin might have masked. Pure.

use domain::PluginId;
use domain::message::{AgentMessage, AssistantMessage, ContentBlock, ToolResultMessage, UserMessage};
use serde_json::{Map, Value};

/// The placeholder row for a message.
pub(crate) fn withheld(message: AgentMessage, plugin: &PluginId) -> AgentMessage {
    match message {
        AgentMessage::User(user) => AgentMessage::User(UserMessage { content: vec![placeholder(plugin)], ..user }),
        AgentMessage::Assistant(assistant) => AgentMessage::Assistant(withheld_answer(assistant, plugin)),
        AgentMessage::ToolResult(result) => AgentMessage::ToolResult(withheld_result(result, plugin)),
        AgentMessage::Custom(mut map) => {
            map.retain(|key, _| matches!(key.as_str(), "role" | "customType" | "display" | "timestamp"));
            map.insert("content".to_owned(), text(plugin).into());
            AgentMessage::Custom(map)
        }
    }
}

/// The placeholder row for a tool result.
pub(crate) fn withheld_result(message: ToolResultMessage, plugin: &PluginId) -> ToolResultMessage {
    ToolResultMessage { content: vec![placeholder(plugin)], details: None, extra: Map::new(), ..message }
}

/// Tool calls stay, without their arguments: without them their results would stand alone.
fn withheld_answer(mut message: AssistantMessage, plugin: &PluginId) -> AssistantMessage {
    let calls = message.content.into_iter().filter_map(|block| match block {
        ContentBlock::ToolCall(call) => Some(ContentBlock::tool_call(call.id, call.name, Value::Object(Map::new()))),
        _ => None,
    });
    message.content = std::iter::once(placeholder(plugin)).chain(calls).collect();
    message.error_message = None;
    message.extra.retain(|key, _| key == "origin");
    message
}

fn placeholder(plugin: &PluginId) -> ContentBlock {
    ContentBlock::text(text(plugin))
}

fn text(plugin: &PluginId) -> String {
    format!("[withheld: the required plugin `{plugin}` failed and could not check this content]")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use serde_json::json;

    use super::*;

    #[test]
    fn a_placeholder_keeps_the_frame_and_nothing_of_the_content() {
        for message in [
            json!({"role":"user","content":"SECRET"}),
            json!({"role":"assistant","stopReason":"toolUse","errorMessage":"SECRET","more":"SECRET","content":[
                {"type":"thinking","thinking":"SECRET"},
                {"type":"toolCall","id":"c1","name":"read","arguments":{"token":"SECRET"},"thoughtSignature":"SECRET"}]}),
            json!({"role":"toolResult","toolCallId":"c1","toolName":"read","content":"SECRET","details":"SECRET","more":"SECRET"}),
            json!({"role":"custom","customType":"revise","content":"SECRET","more":"SECRET"}),
        ] {
            let before = AgentMessage::from_value(message).unwrap();
            let after = withheld(before.clone(), &PluginId::new("redactor"));
            assert_eq!(after.role(), before.role());
            let text = after.to_json();
            assert!(!text.as_str().contains("SECRET") && text.as_str().contains("redactor"), "{text}");
            if before.role() != "user" && before.role() != "custom" {
                assert!(text.as_str().contains("\"c1\"") && text.as_str().contains("\"read\""), "{text}");
            }
        }
    }
}
