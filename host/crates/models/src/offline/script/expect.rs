//! What a turn expects of its request, and how a request differs from that, in words.

use domain::message::{AgentMessage, ContentBlock};
use domain::model::ModelRequest;
use serde::Deserialize;

use super::super::echo::last_user_text;

/// Longest part of a request that is quoted, in characters.
const MAX_QUOTE: usize = 200;

/// Expectations; what is absent is not checked.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Expect {
    /// The last user message that has text.
    last_user: Option<TextMatch>,
    /// Tool results since the last assistant message.
    tool_results: Option<TextMatch>,
    /// The system prompt.
    system: Option<TextMatch>,
    /// Every text of the request: system prompt, messages, reasoning, tool calls.
    anywhere: Option<TextMatch>,
    /// Tools that must be offered.
    tools: Vec<String>,
    /// Tools that must not be offered.
    without_tools: Vec<String>,
    /// The model that must be asked, `provider/model`.
    model: Option<String>,
}

/// Parts that must occur, and parts that must not.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TextMatch {
    /// Each must occur in some text.
    #[serde(default)]
    contains: Parts,
    /// None may occur in any text.
    #[serde(default)]
    excludes: Parts,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum Parts {
    One(String),
    Many(Vec<String>),
}

impl Default for Parts {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Parts {
    fn as_slice(&self) -> &[String] {
        match self {
            Self::One(part) => std::slice::from_ref(part),
            Self::Many(parts) => parts,
        }
    }
}

impl Expect {
    /// Refuses expectations that every request meets.
    ///
    /// # Errors
    /// The key that asks for nothing.
    pub(super) fn validate(&self) -> Result<(), String> {
        let rows = [
            ("lastUser", &self.last_user),
            ("toolResults", &self.tool_results),
            ("system", &self.system),
            ("anywhere", &self.anywhere),
        ];
        for (key, wanted) in rows {
            let Some(wanted) = wanted else { continue };
            let mut parts = wanted.contains.as_slice().iter().chain(wanted.excludes.as_slice()).peekable();
            if parts.peek().is_none() || parts.any(String::is_empty) {
                return Err(format!("`expect.{key}` needs `contains` or `excludes` with texts that are not empty"));
            }
        }
        Ok(())
    }

    /// Compares a request.
    ///
    /// # Errors
    /// The first difference: what was expected, and what is there.
    pub(super) fn check(&self, request: &ModelRequest) -> Result<(), String> {
        if let Some(model) = self.model.as_ref().filter(|model| **model != request.model.to_string()) {
            return Err(format!("model `{model}`, and `{}` is asked", request.model));
        }
        let last_user = last_user_text(request);
        let system = request.system_prompt.clone();
        check_texts("the last user text", self.last_user.as_ref(), || last_user.into_iter().collect())?;
        check_texts("a tool result", self.tool_results.as_ref(), || tool_results(request))?;
        check_texts("the system prompt", self.system.as_ref(), || system.into_iter().collect())?;
        check_texts("the request", self.anywhere.as_ref(), || all_texts(request))?;
        self.check_tools(request)
    }

    fn check_tools(&self, request: &ModelRequest) -> Result<(), String> {
        let offered: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
        let list = || if offered.is_empty() { "none".to_owned() } else { format!("`{}`", offered.join("`, `")) };
        if let Some(missing) = self.tools.iter().find(|name| !offered.contains(&name.as_str())) {
            return Err(format!("the tool `{missing}` to be offered; offered are: {}", list()));
        }
        if let Some(excess) = self.without_tools.iter().find(|name| offered.contains(&name.as_str())) {
            return Err(format!("the tool `{excess}` not to be offered; offered are: {}", list()));
        }
        Ok(())
    }
}

fn check_texts(what: &str, wanted: Option<&TextMatch>, texts: impl FnOnce() -> Vec<String>) -> Result<(), String> {
    let Some(wanted) = wanted else { return Ok(()) };
    let texts = texts();
    for part in wanted.contains.as_slice() {
        if !texts.iter().any(|text| text.contains(part)) {
            let there =
                if texts.is_empty() { "there is none".to_owned() } else { format!("found: {}", quote(&texts.join(" | "), 0)) };
            return Err(format!("{what} to contain `{part}`; {there}"));
        }
    }
    for part in wanted.excludes.as_slice() {
        if let Some((text, at)) = texts.iter().find_map(|text| Some((text, text.find(part)?))) {
            return Err(format!("{what} not to contain `{part}`; found: {}", quote(text, at)));
        }
    }
    Ok(())
}

/// A part of a text that holds what is at `at`.
fn quote(text: &str, at: usize) -> String {
    let before = text[..at].chars().count();
    let skipped = before.saturating_sub(MAX_QUOTE / 4);
    let part: String = text.chars().skip(skipped).take(MAX_QUOTE).collect();
    let head = if skipped > 0 { "…" } else { "" };
    let tail = if text.chars().count() > skipped + MAX_QUOTE { "…" } else { "" };
    format!("{head}{part}{tail}")
}

fn tool_results(request: &ModelRequest) -> Vec<String> {
    let batch = request.messages.iter().rev().take_while(|message| !matches!(message, AgentMessage::Assistant(_)));
    let mut texts: Vec<String> =
        batch.filter(|message| matches!(message, AgentMessage::ToolResult(_))).map(AgentMessage::text).collect();
    texts.reverse();
    texts
}

fn all_texts(request: &ModelRequest) -> Vec<String> {
    let blocks = request.messages.iter().flat_map(|message| message.content()).map(|block| match block {
        ContentBlock::Text(block) => block.text.clone(),
        ContentBlock::Thinking(block) => block.thinking.clone(),
        ContentBlock::ToolCall(call) => format!("{} {}", call.name, call.arguments),
        other => serde_json::to_string(other).unwrap_or_default(),
    });
    request.system_prompt.clone().into_iter().chain(blocks).collect()
}
