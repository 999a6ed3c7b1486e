//! Answers of the hooks that shape a prompt.
//!
//! Texts are added, never cut: empty ones count as absent, and texts of several plugins are joined by one blank line.

use super::decision;
use crate::bindings::{agent_turn_prepare, before_agent_start, before_prompt_build};

decision! {
    /// Text for one turn.
    TurnText, agent_turn_prepare, agent_turn_prepare::Answer {
        prepend_context: None,
        append_context: None,
    }
}

decision! {
    /// Changes to a prompt.
    ///
    /// ```
    /// use creel_plugin::PromptChanges;
    ///
    /// let changes = PromptChanges::pass()
    ///     .append_system_context("Answer in one paragraph.")
    ///     .prepend_context("It is the third turn.");
    /// # let _ = changes;
    /// ```
    PromptChanges, before_prompt_build, before_prompt_build::Answer {
        prepend_context: None,
        append_context: None,
        system_prompt: None,
        prepend_system_context: None,
        append_system_context: None,
        tools_allow: None,
    }
}

decision! {
    /// Changes by the old combined hook.
    AgentStartChanges, before_agent_start, before_agent_start::Answer {
        provider_override: None,
        model_override: None,
        prepend_context: None,
        append_context: None,
        system_prompt: None,
        prepend_system_context: None,
        append_system_context: None,
        tools_allow: None,
    }
}

/// Texts around the user's prompt.
macro_rules! turn_texts {
    ($($changes:ident),*) => {$(
        impl $changes {
            /// Text of this turn, before the user's prompt.
            pub fn prepend_context(self, text: impl Into<String>) -> Self {
                self.with(|answer| answer.prepend_context = Some(text.into()))
            }

            /// Text of this turn, after the user's prompt.
            pub fn append_context(self, text: impl Into<String>) -> Self {
                self.with(|answer| answer.append_context = Some(text.into()))
            }
        }
    )*};
}

turn_texts!(TurnText, PromptChanges, AgentStartChanges);

/// The system prompt and the tools.
macro_rules! system_texts {
    ($($changes:ident),*) => {$(
        impl $changes {
            /// Replaces the base system prompt; the first plugin that gives one wins. Empty is a value.
            pub fn system_prompt(self, text: impl Into<String>) -> Self {
                self.with(|answer| answer.system_prompt = Some(text.into()))
            }

            /// Stable guidance before the system prompt; the same text in every turn is kept by the provider's cache.
            pub fn prepend_system_context(self, text: impl Into<String>) -> Self {
                self.with(|answer| answer.prepend_system_context = Some(text.into()))
            }

            /// Stable guidance after the system prompt.
            pub fn append_system_context(self, text: impl Into<String>) -> Self {
                self.with(|answer| answer.append_system_context = Some(text.into()))
            }

            /// Narrows the tools of this turn to these names and groups; none: no optional tools. Never adds one.
            pub fn tools_allow<T: Into<String>>(self, names: impl IntoIterator<Item = T>) -> Self {
                let names = names.into_iter().map(Into::into).collect();
                self.with(|answer| answer.tools_allow = Some(names))
            }
        }
    )*};
}

system_texts!(PromptChanges, AgentStartChanges);

impl AgentStartChanges {
    /// Use this provider, by its id.
    pub fn provider(self, id: impl Into<String>) -> Self {
        self.with(|answer| answer.provider_override = Some(id.into()))
    }

    /// Use this model, by its id; alone it keeps the provider.
    pub fn model(self, id: impl Into<String>) -> Self {
        self.with(|answer| answer.model_override = Some(id.into()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::{AgentStartChanges, PromptChanges, TurnText};

    #[test]
    fn each_text_lands_in_its_own_field() {
        let changes = PromptChanges::pass()
            .prepend_context("1")
            .append_context("2")
            .system_prompt("3")
            .prepend_system_context("4")
            .append_system_context("5")
            .tools_allow(["read"]);
        let answer = changes.answer().unwrap();
        assert_eq!(answer.prepend_context.as_deref(), Some("1"));
        assert_eq!(answer.append_context.as_deref(), Some("2"));
        assert_eq!(answer.system_prompt.as_deref(), Some("3"));
        assert_eq!(answer.prepend_system_context.as_deref(), Some("4"));
        assert_eq!(answer.append_system_context.as_deref(), Some("5"));
        assert_eq!(answer.tools_allow.as_deref(), Some(&["read".to_owned()][..]));
    }

    #[test]
    fn an_empty_allow_list_is_a_value() {
        let changes = PromptChanges::pass().tools_allow(Vec::<String>::new());
        assert_eq!(changes.answer().unwrap().tools_allow, Some(Vec::new()));
    }

    #[test]
    fn the_old_hook_sets_model_and_texts() {
        let changes = AgentStartChanges::pass().provider("p").model("m").append_context("t");
        let answer = changes.answer().unwrap();
        assert_eq!(answer.provider_override.as_deref(), Some("p"));
        assert_eq!(answer.model_override.as_deref(), Some("m"));
        assert_eq!(answer.append_context.as_deref(), Some("t"));
    }

    #[test]
    fn no_text_is_no_answer() {
        assert_eq!(TurnText::pass().answer(), None);
    }
}
