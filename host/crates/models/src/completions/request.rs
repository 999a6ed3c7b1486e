//! A request in the form of Chat Completions (runtime 12.2). Reasoning is not sent back, custom messages are not sent, pictures of
//! tool results follow in a user message of their own.

use domain::message::{
    AgentMessage, AssistantMessage, ContentBlock, ImageBlock, StopReason, ToolCallBlock, UserMessage, text_of,
};
use domain::model::ModelRequest;
use domain::tool::ToolSpec;
use serde_json::{Map, Value, json};

use crate::settings::Compat;

const NO_PICTURES: &str = "[image left out: this model does not read images]";
const SEE_PICTURE: &str = "[see the attached image]";
const NO_OUTPUT: &str = "(no output)";
const PICTURES_OF_TOOLS: &str = "Images from the tool results above:";

/// What is known of the model that is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Abilities {
    pub(super) reads_images: bool,
    pub(super) reasoning: bool,
    pub(super) max_tokens: Option<u32>,
    pub(super) compat: Compat,
}

/// The body of the request.
pub(super) fn body(request: &ModelRequest, abilities: &Abilities) -> Value {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    set("model", json!(request.model.model));
    set("messages", messages(request, abilities.reads_images));
    set("stream", json!(true));
    if abilities.compat.stream_usage {
        set("stream_options", json!({"include_usage": true}));
    }
    if let Some(limit) = abilities.max_tokens {
        let key = if abilities.compat.max_completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        set(key, json!(limit));
    }
    if let Some(effort) = request.thinking.as_deref().and_then(effort).filter(|_| abilities.reasoning) {
        set("reasoning_effort", json!(effort));
    }
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
    } else if abilities.compat.empty_tool_list && has_calls(&request.messages) {
        set("tools", json!([]));
    }
    Value::Object(body)
}

/// `reasoning_effort` of a thinking level. Levels above `high`, which only some models know, become `high` (runtime 9.3); `off` and
/// unknown levels are left to the model.
fn effort(level: &str) -> Option<&'static str> {
    match level {
        "minimal" => Some("minimal"),
        "low" => Some("low"),
        "medium" | "adaptive" => Some("medium"),
        "high" | "xhigh" | "max" | "ultra" => Some("high"),
        _ => None,
    }
}

fn tool(tool: &ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.parameters}})
}

fn has_calls(messages: &[AgentMessage]) -> bool {
    messages.iter().any(|message| matches!(message, AgentMessage::Assistant(message) if message.tool_calls().next().is_some()))
}

fn messages(request: &ModelRequest, reads_images: bool) -> Value {
    let mut out = Vec::new();
    if let Some(prompt) = &request.system_prompt {
        out.push(json!({"role": "system", "content": prompt}));
    }
    let mut pictures = Vec::new();
    for message in &request.messages {
        // Results of one batch must stay together, so their pictures wait until it is over.
        if matches!(message, AgentMessage::User(_) | AgentMessage::Assistant(_)) {
            out.extend(pictures_of_tools(&mut pictures));
        }
        match message {
            AgentMessage::User(user) => out.push(json!({"role": "user", "content": user_content(user, reads_images)})),
            AgentMessage::Assistant(message) => out.extend(assistant(message)),
            AgentMessage::ToolResult(result) => {
                let content = result_text(&result.content, reads_images);
                out.push(json!({"role": "tool", "tool_call_id": result.tool_call_id, "content": content}));
                if reads_images {
                    pictures.extend(images(&result.content).map(picture));
                }
            }
            AgentMessage::Custom(_) => {}
        }
    }
    out.extend(pictures_of_tools(&mut pictures));
    Value::Array(out)
}

/// Plain text where that says it all: not every server reads parts.
fn user_content(user: &UserMessage, reads_images: bool) -> Value {
    if images(&user.content).next().is_none() {
        return json!(text_of(&user.content));
    }
    let parts = user.content.iter().filter_map(|block| match block {
        ContentBlock::Text(block) => Some(text_part(&block.text)),
        ContentBlock::Image(image) if reads_images => Some(picture(image)),
        ContentBlock::Image(_) => Some(text_part(NO_PICTURES)),
        _ => None,
    });
    parts.collect()
}

/// None: there is nothing to say.
fn assistant(message: &AssistantMessage) -> Option<Value> {
    let text = text_of(&message.content);
    // Calls of an answer that broke off were never run (runtime 12.5.4).
    let was_cut = matches!(message.stop_reason, StopReason::Error | StopReason::Aborted);
    let calls: Vec<Value> = if was_cut { Vec::new() } else { message.tool_calls().map(call).collect() };
    if calls.is_empty() {
        return (!text.is_empty()).then(|| json!({"role": "assistant", "content": text}));
    }
    let content = if text.is_empty() { Value::Null } else { Value::from(text) };
    Some(json!({"role": "assistant", "content": content, "tool_calls": calls}))
}

/// Arguments that are no object, kept so that the call could be refused, are sent as an empty one: servers parse them.
fn call(call: &ToolCallBlock) -> Value {
    let arguments = if call.arguments.is_object() { call.arguments.to_string() } else { "{}".to_owned() };
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}

fn result_text(content: &[ContentBlock], reads_images: bool) -> String {
    let text = text_of(content);
    let has_images = images(content).next().is_some();
    match (text.is_empty(), has_images) {
        (true, true) if reads_images => SEE_PICTURE.to_owned(),
        (true, true) => NO_PICTURES.to_owned(),
        (true, false) => NO_OUTPUT.to_owned(),
        (false, true) if !reads_images => format!("{text}\n{NO_PICTURES}"),
        (false, _) => text,
    }
}

fn pictures_of_tools(pictures: &mut Vec<Value>) -> Option<Value> {
    if pictures.is_empty() {
        return None;
    }
    let mut parts = vec![text_part(PICTURES_OF_TOOLS)];
    parts.append(pictures);
    Some(json!({"role": "user", "content": parts}))
}

fn images(content: &[ContentBlock]) -> impl Iterator<Item = &ImageBlock> {
    content.iter().filter_map(|block| match block {
        ContentBlock::Image(image) => Some(image),
        _ => None,
    })
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn picture(image: &ImageBlock) -> Value {
    json!({"type": "image_url", "image_url": {"url": format!("data:{};base64,{}", image.mime_type, image.data)}})
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use domain::ModelCallId;
    use domain::model::{CallBounds, ModelRef};
    use domain::tool::ToolOwner;

    use super::*;

    const SEES: Abilities = Abilities {
        reads_images: true,
        reasoning: true,
        max_tokens: None,
        compat: Compat { max_completion_tokens: false, stream_usage: true, stop_with_tool_calls: true, empty_tool_list: false },
    };

    fn request(messages: Value) -> ModelRequest {
        ModelRequest {
            call_id: ModelCallId::new("c"),
            model: ModelRef::new("acme", "meta/llama"),
            system_prompt: None,
            messages: serde_json::from_value(messages).unwrap(),
            tools: Vec::new(),
            thinking: None,
            bounds: CallBounds::default(),
        }
    }

    fn sent(messages: Value, abilities: &Abilities) -> Value {
        body(&request(messages), abilities)["messages"].clone()
    }

    fn image() -> Value {
        json!({"type": "image", "data": "QQ==", "mimeType": "image/png"})
    }

    fn picture_part() -> Value {
        json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}})
    }

    #[test]
    fn a_conversation_is_converted() {
        let messages = json!([
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "stopReason": "toolUse", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "ok"},
                {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "x"}}]},
            {"role": "toolResult", "toolCallId": "c1", "content": "done", "details": {"secret": 1}},
            {"role": "note", "text": "not for the model"},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "only"}]},
        ]);
        let expected = json!([
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "a\nb"},
            {"role": "assistant", "content": "ok", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"x\"}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "done"},
        ]);
        let request = ModelRequest { system_prompt: Some("be brief".to_owned()), ..request(messages) };
        let body = body(&request, &SEES);
        assert_eq!(body["messages"], expected);
        assert_eq!(body["model"], "meta/llama");
        assert_eq!(body["stream"], true);
        assert_eq!(body["stream_options"], json!({"include_usage": true}));
        assert_eq!(body.get("tools"), None);
    }

    #[test]
    fn calls_without_text_have_null_content_and_cut_answers_no_calls() {
        let call = json!({"type": "toolCall", "id": "c1", "name": "read", "arguments": "{bad"});
        let calls = sent(json!([{"role": "assistant", "stopReason": "toolUse", "content": [call]}]), &SEES);
        assert_eq!(calls[0]["content"], Value::Null);
        assert_eq!(calls[0]["tool_calls"][0]["function"]["arguments"], "{}");
        let cut = sent(
            json!([{"role": "assistant", "stopReason": "aborted", "content": [{"type": "text", "text": "x"}, call]}]),
            &SEES,
        );
        assert_eq!(cut, json!([{"role": "assistant", "content": "x"}]));
    }

    #[test]
    fn pictures_of_results_follow_the_whole_batch() {
        let messages = json!([
            {"role": "assistant", "stopReason": "toolUse", "content": [
                {"type": "toolCall", "id": "a", "name": "look", "arguments": {}},
                {"type": "toolCall", "id": "b", "name": "look", "arguments": {}}]},
            {"role": "toolResult", "toolCallId": "a", "content": [image()]},
            {"role": "toolResult", "toolCallId": "b", "content": []},
            {"role": "user", "content": [{"type": "text", "text": "and this?"}, image()]},
        ]);
        let out = sent(messages.clone(), &SEES);
        let roles: Vec<&str> = out.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["assistant", "tool", "tool", "user", "user"]);
        assert_eq!(out[1]["content"], SEE_PICTURE);
        assert_eq!(out[2]["content"], NO_OUTPUT);
        assert_eq!(out[3]["content"], json!([text_part(PICTURES_OF_TOOLS), picture_part()]));
        assert_eq!(out[4]["content"], json!([text_part("and this?"), picture_part()]));
        let blind = sent(messages, &Abilities { reads_images: false, ..SEES });
        assert_eq!(blind[1]["content"], NO_PICTURES);
        assert_eq!(blind[3]["content"], json!([text_part("and this?"), text_part(NO_PICTURES)]));
        assert_eq!(blind.as_array().unwrap().len(), 4);
    }

    #[test]
    fn options_follow_model_and_server() {
        let mut asked = request(json!([]));
        asked.thinking = Some("xhigh".to_owned());
        asked.tools = vec![ToolSpec {
            name: "read".to_owned(),
            label: "Read".to_owned(),
            description: "Reads".to_owned(),
            parameters: json!({"type": "object"}),
            output_schema: None,
            optional: false,
            owner: ToolOwner::Host,
            sequential: false,
        }];
        let first = body(&asked, &Abilities { max_tokens: Some(9), ..SEES });
        assert_eq!((&first["max_tokens"], &first["reasoning_effort"]), (&json!(9), &json!("high")));
        let function = json!({"name": "read", "description": "Reads", "parameters": {"type": "object"}});
        assert_eq!(first["tools"], json!([{"type": "function", "function": function}]));
        let compat = Compat { max_completion_tokens: true, stream_usage: false, ..SEES.compat };
        let second = body(&asked, &Abilities { max_tokens: Some(9), reasoning: false, compat, ..SEES });
        assert_eq!(second["max_completion_tokens"], 9);
        for absent in ["max_tokens", "reasoning_effort", "stream_options"] {
            assert_eq!(second.get(absent), None, "{absent}");
        }
    }

    #[test]
    fn an_empty_tool_list_is_sent_only_where_it_is_demanded() {
        let call = json!({"type": "toolCall", "id": "a", "name": "look", "arguments": {}});
        let request = request(json!([{"role": "assistant", "stopReason": "toolUse", "content": [call]}]));
        assert_eq!(body(&request, &SEES).get("tools"), None);
        let compat = Compat { empty_tool_list: true, ..SEES.compat };
        assert_eq!(body(&request, &Abilities { compat, ..SEES })["tools"], json!([]));
    }

    #[test]
    fn levels_map_to_efforts() {
        let rows =
            [("off", None), ("minimal", Some("minimal")), ("adaptive", Some("medium")), ("ultra", Some("high")), ("?", None)];
        for (level, expected) in rows {
            assert_eq!(effort(level), expected, "{level}");
        }
    }
}
