//! The access gates (plugin-hooks 2): what an operator must have left open for a registration to be stored. A gate acts when handlers
//! are registered; a denied handler never exists.

use std::collections::BTreeMap;

use domain::PluginId;

use crate::budget::OperatorBudgets;
use crate::catalogue::{Gate, HookId};
use crate::circuit::CircuitOverride;
use crate::fields::FieldSet;

/// What the operator and the origin of a plugin say about its registrations.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Access {
    /// Whether the plugin ships with the host.
    pub bundled: bool,
    /// `plugins.entries.<id>.hooks.allowConversationAccess`.
    pub allow_conversation: Option<bool>,
    /// `plugins.entries.<id>.hooks.allowPromptInjection`.
    pub allow_prompt_injection: Option<bool>,
    /// `plugins.entries.<id>.required`.
    pub required: bool,
    /// Budgets that the operator set.
    pub budgets: OperatorBudgets,
    /// Fields of events that the operator allows, by hook; others: all that the manifest asks for.
    pub fields: BTreeMap<HookId, FieldSet>,
    /// What the operator says about its circuits.
    pub circuit: CircuitOverride,
    /// SHA-256 of its component in hex digits; faults of another component do not count.
    pub component: String,
}

/// What a gate says of one registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Stored as it is.
    Granted,
    /// Stored; the prompt fields of its answers are dropped.
    PromptStripped,
    /// Not stored: this configuration key would allow it.
    Denied(&'static str),
}

impl Access {
    /// Whether conversation access is open: bundled plugins have it unless refused, others only if allowed (2.1).
    pub fn conversation(&self) -> bool {
        if self.bundled { self.allow_conversation != Some(false) } else { self.allow_conversation == Some(true) }
    }

    /// Whether prompt mutation is open: only an exact refusal closes it (2.2).
    pub fn prompt_injection(&self) -> bool {
        self.allow_prompt_injection != Some(false)
    }

    /// Asks the gates of a hook.
    pub fn admit(&self, hook: HookId) -> Admission {
        let gate = hook.row().gate;
        if gate.needs_conversation() && !self.conversation() {
            return Admission::Denied("allowConversationAccess");
        }
        match gate {
            Gate::ConversationAndPrompt if !self.prompt_injection() => Admission::Denied("allowPromptInjection"),
            Gate::ConversationPromptStripped if !self.prompt_injection() => Admission::PromptStripped,
            _ => Admission::Granted,
        }
    }
}

/// Something about a registration that an operator should know. Never an error: the rest of the plugin works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The plugin.
    pub plugin: PluginId,
    /// One sentence with the remedy.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversation_access_depends_on_origin_and_key() {
        for (bundled, key, open) in [
            (false, None, false),
            (false, Some(false), false),
            (false, Some(true), true),
            (true, None, true),
            (true, Some(false), false),
        ] {
            let access = Access { bundled, allow_conversation: key, ..Access::default() };
            assert_eq!(access.admit(HookId::AgentEnd) == Admission::Granted, open, "{bundled} {key:?}");
            assert_eq!(access.admit(HookId::BeforeToolCall), Admission::Granted);
        }
    }

    #[test]
    fn the_two_keys_are_independent() {
        let access = Access { allow_conversation: Some(true), allow_prompt_injection: Some(false), ..Access::default() };
        assert_eq!(access.admit(HookId::BeforePromptBuild), Admission::Denied("allowPromptInjection"));
        assert_eq!(access.admit(HookId::BeforeAgentStart), Admission::PromptStripped);
        assert_eq!(access.admit(HookId::BeforeModelResolve), Admission::Granted);
    }
}
