//! What the operator's configuration says about plugins, as this crate needs it. The configuration itself is read elsewhere; this crate
//! does not know its file.

use std::collections::{BTreeMap, BTreeSet};

use domain::PluginId;
use hooks::access::Access;
use hooks::budget::OperatorBudgets;
use serde_json::{Map, Value};

use crate::discovery::Origin;
use crate::enablement::Switches;
use crate::grant::OperatorGrants;
use crate::manifest::RequestedLimits;

/// `plugins`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PluginsSettings {
    /// Which plugins run.
    pub switches: Switches,
    /// `plugins.entries`, by plugin id.
    pub entries: BTreeMap<String, PluginSettings>,
    /// Ids of channels that are configured; a bundled plugin that owns one is on.
    pub configured_channels: BTreeSet<String>,
    /// Ids of plugins that another part of the configuration needs.
    pub auto_enabled: BTreeSet<String>,
}

impl PluginsSettings {
    /// The entry of a plugin, or the defaults.
    pub fn of(&self, id: &PluginId) -> PluginSettings {
        self.entries.get(id.as_str()).cloned().unwrap_or_default()
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
}

impl PluginSettings {
    /// What the gates of the plugin's registrations ask for.
    pub fn access(&self, origin: Origin) -> Access {
        Access {
            bundled: origin == Origin::Bundled,
            allow_conversation: self.allow_conversation,
            allow_prompt_injection: self.allow_prompt_injection,
            required: self.required,
            budgets: self.budgets.clone(),
        }
    }
}
