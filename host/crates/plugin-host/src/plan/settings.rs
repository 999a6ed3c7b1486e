//! What the operator's configuration says about plugins, as this crate needs it. The configuration itself is read elsewhere; this crate
//! does not know its file.

use std::collections::BTreeMap;

use domain::PluginId;
use hooks::access::Access;
use hooks::budget::OperatorBudgets;
use hooks::fields::UnknownField;
use hooks::{CircuitOverride, FieldSet, HookId};
use serde_json::{Map, Value};

use crate::discovery::Origin;
use crate::enablement::Switches;
use crate::grant::OperatorGrants;
use crate::limits::RequestedLimits;

/// `plugins`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PluginsSettings {
    /// Which plugins run.
    pub switches: Switches,
    /// `plugins.circuit`: what counts where an entry says nothing.
    pub circuit: CircuitOverride,
    /// `plugins.entries`, by plugin id.
    pub entries: BTreeMap<String, PluginSettings>,
}

impl PluginsSettings {
    /// What counts for a plugin: its entry, and what is said of all.
    pub fn of(&self, id: &PluginId) -> PluginSettings {
        let entry = self.entries.get(id.as_str()).cloned().unwrap_or_default();
        PluginSettings { circuit: entry.circuit.or(self.circuit), ..entry }
    }
}

/// `plugins.entries.<id>`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PluginSettings {
    /// `enabled`.
    pub enabled: Option<bool>,
    /// `config`.
    pub config: Map<String, Value>,
    /// `capabilities`.
    pub grants: OperatorGrants,
    /// `limits`.
    pub limits: RequestedLimits,
    /// `required`.
    pub required: bool,
    /// `hooks.allowConversationAccess`.
    pub allow_conversation: Option<bool>,
    /// `hooks.allowPromptInjection`.
    pub allow_prompt_injection: Option<bool>,
    /// `hooks.timeoutMs` and `hooks.timeouts`.
    pub budgets: OperatorBudgets,
    /// `hooks.fields`, by hook name.
    pub fields: BTreeMap<String, Vec<String>>,
    /// `circuit`.
    pub circuit: CircuitOverride,
}

/// Why a list of fields cannot be used. The plugin does not load then: it would see what the operator wanted to keep from it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// There is no such hook.
    #[error("hooks.fields names no hook with {name:?}; the nearest is `{nearest}`")]
    Hook {
        /// The name.
        name: String,
        /// The hook whose name is nearest.
        nearest: &'static str,
    },
    /// The hook has no such field.
    #[error("hooks.fields: {0}")]
    Field(#[from] UnknownField),
}

impl PluginSettings {
    /// Fields of events that the plugin may see, by hook; others: all that its manifest asks for.
    ///
    /// # Errors
    /// When a name is no hook, or no field of its hook.
    pub fn allowed_fields(&self) -> Result<BTreeMap<HookId, FieldSet>, FieldsError> {
        let of_hook = |(name, fields): (&String, &Vec<String>)| {
            let unknown = || FieldsError::Hook { name: name.clone(), nearest: HookId::nearest(name) };
            let hook = HookId::from_name(name).ok_or_else(unknown)?;
            Ok((hook, FieldSet::parse(hook, fields)?))
        };
        self.fields.iter().map(of_hook).collect()
    }

    /// What the gates of the plugin's registrations ask for. What depends on its component, and the fields, are not in it.
    pub fn access(&self, origin: Origin) -> Access {
        Access {
            bundled: origin == Origin::Bundled,
            allow_conversation: self.allow_conversation,
            allow_prompt_injection: self.allow_prompt_injection,
            required: self.required,
            budgets: self.budgets.clone(),
            circuit: self.circuit,
            ..Access::default()
        }
    }
}
