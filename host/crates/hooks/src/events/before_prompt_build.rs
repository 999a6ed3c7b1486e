//! `before_prompt_build` (plugin-hooks 4.2): the first system prompt wins, texts join in execution order, tool lists intersect.

use super::Messages;
use crate::catalogue::BeforePromptBuild;
use crate::join::join_into;
use crate::point::{Fold, Who};
use crate::registry::HandlerOptions;

/// The prompt so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// User prompt of this turn.
    pub prompt: String,
    /// Prepared session messages, oldest first, as the model may see them.
    pub messages: Messages,
    /// The request before history and context were added.
    pub current_user_message: Option<String>,
    /// Id of that request; the same on every rebuild for it.
    pub current_user_message_id: Option<String>,
    /// Fingerprint of the final set of tools; present in the second phase only.
    pub tool_authority: Option<String>,
}

/// Changes to the prompt. In the second phase only the two contexts of the turn count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Text of this turn, before the user prompt.
    pub prepend_context: Option<String>,
    /// Text of this turn, after the user prompt.
    pub append_context: Option<String>,
    /// Replaces the base system prompt.
    pub system_prompt: Option<String>,
    /// Stable guidance before the system prompt.
    pub prepend_system_context: Option<String>,
    /// Stable guidance after the system prompt.
    pub append_system_context: Option<String>,
    /// Narrows the tools of this turn; empty: no optional tools.
    pub tools_allow: Option<Vec<String>>,
}

/// The merged changes. Tool lists stay apart: intersecting them needs the tool groups, which only the tool policy knows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// Joined text before the user prompt.
    pub prepend_context: Option<String>,
    /// Joined text after the user prompt.
    pub append_context: Option<String>,
    /// The first system prompt that was given.
    pub system_prompt: Option<String>,
    /// Joined guidance before the system prompt.
    pub prepend_system_context: Option<String>,
    /// Joined guidance after the system prompt.
    pub append_system_context: Option<String>,
    /// One list per handler that gave one; the turn's tools are their intersection.
    pub tools_allow: Vec<Vec<String>>,
}

impl Decision {
    /// Adds one answer (4.2, Merge).
    #[must_use]
    pub fn with(self, answer: Answer) -> Self {
        let mut tools_allow = self.tools_allow;
        tools_allow.extend(answer.tools_allow);
        Self {
            prepend_context: join_into(self.prepend_context, answer.prepend_context.as_deref()),
            append_context: join_into(self.append_context, answer.append_context.as_deref()),
            system_prompt: self.system_prompt.or(answer.system_prompt),
            prepend_system_context: join_into(self.prepend_system_context, answer.prepend_system_context.as_deref()),
            append_system_context: join_into(self.append_system_context, answer.append_system_context.as_deref()),
            tools_allow,
        }
    }

    /// Adds the parts of the old combined hook behind these ones, group by group; this hook's system prompt wins (4.3 d).
    #[must_use]
    pub fn followed_by(self, legacy: Self) -> Self {
        let mut tools_allow = self.tools_allow;
        tools_allow.extend(legacy.tools_allow);
        Self {
            prepend_context: join_into(self.prepend_context, legacy.prepend_context.as_deref()),
            append_context: join_into(self.append_context, legacy.append_context.as_deref()),
            system_prompt: self.system_prompt.or(legacy.system_prompt),
            prepend_system_context: join_into(self.prepend_system_context, legacy.prepend_system_context.as_deref()),
            append_system_context: join_into(self.append_system_context, legacy.append_system_context.as_deref()),
            tools_allow,
        }
    }
}

impl Fold for BeforePromptBuild {
    type Decision = Decision;

    fn selects(event: &Event, _context: &Self::Context, options: &HandlerOptions) -> bool {
        event.tool_authority.is_some() == options.requires_tool_authority
    }

    fn fold(so_far: Decision, answer: Answer, who: Who<'_>) -> Decision {
        if who.options.requires_tool_authority {
            let turn_only =
                Answer { prepend_context: answer.prepend_context, append_context: answer.append_context, ..Answer::default() };
            return so_far.with(turn_only);
        }
        so_far.with(answer)
    }

    fn describe(answer: &Answer) -> Option<String> {
        describe_answer(answer)
    }
}

pub(super) fn describe_answer(answer: &Answer) -> Option<String> {
    let parts = describe_parts(&[
        ("systemPrompt", answer.system_prompt.as_deref()),
        ("prependSystemContext", answer.prepend_system_context.as_deref()),
        ("appendSystemContext", answer.append_system_context.as_deref()),
        ("prependContext", answer.prepend_context.as_deref()),
        ("appendContext", answer.append_context.as_deref()),
    ]);
    match (parts, &answer.tools_allow) {
        (parts, None) => parts,
        (None, Some(tools)) => Some(format!("toolsAllow {tools:?}")),
        (Some(parts), Some(tools)) => Some(format!("{parts}, toolsAllow {tools:?}")),
    }
}

/// Names the texts that are given, with their first words.
pub(super) fn describe_parts(parts: &[(&str, Option<&str>)]) -> Option<String> {
    let given: Vec<String> =
        parts.iter().filter_map(|(name, text)| text.map(|text| format!("{name} “{}”", super::excerpt(text)))).collect();
    (!given.is_empty()).then(|| given.join(", "))
}
