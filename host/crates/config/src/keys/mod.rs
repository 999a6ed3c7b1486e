//! The keys of `creel.json` as types: one file per top-level part. They hold what the operator wrote; defaults and merging are in
//! [`settings`](crate::settings). A key is here only if this version acts on it.

mod agents;
mod models;
mod parts;
mod plugin_circuit;
mod plugin_grants;
mod plugin_install;
mod plugin_limits;
mod plugins;
pub(crate) mod quantity;
mod secret;
mod security;
mod tools;

pub use agents::{
    AgentDefaults, AgentEntry, Agents, ContextInjection, ContextLimits, ModelChain, ModelEntry, ModelSelection, ThinkingLevel,
    TruncationWarning,
};
pub use models::{CatalogMode, ModelApi, ModelCost, ModelDefinition, ModelInput, Models, Provider};
pub use parts::{Approvals, LogLevel, Logging, Messages, PluginApprovals, RedactSensitive, Session};
pub use plugin_circuit::{HookTimeout, PluginCircuit, PluginHooks};
pub use plugin_grants::{
    Capabilities, ClockGrant, FsGrant, FsMode, Grant, HttpGrant, HttpRule, KvGrant, LimitedRule, NamesGrant, RandomGrant,
    RealRandom, SecretGrant, Seed, SessionExtensionGrant,
};
pub use plugin_install::PluginInstall;
pub use plugin_limits::{PluginEngine, PluginLimits};
pub use plugins::{HookSettings, PluginEntry, PluginLoad, PluginSlots, Plugins};
pub use quantity::{Bytes, InvalidQuantity, Milliseconds, Quantity, Seconds, Unit};
pub use secret::{MissingVariable, OpenObject, Secret, SecretInput, SecretMap, SecretReference, SecretSource, VariableReference};
pub use security::{InstallPolicy, InstallPolicyCommand, InstallTarget, Security};
pub use tools::{AgentTools, ExecSettings, ToolProfile, Tools};

use schemars::JsonSchema;
use serde::Deserialize;

/// Configuration of the Creel host: the file `creel.json`. Every key is optional.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Config {
    /// Address of a JSON Schema for the editor. Has no effect on the host.
    #[serde(rename = "$schema")]
    pub schema_address: Option<String>,
    /// Agents: what all of them share, and the list of them.
    pub agents: Agents,
    /// How conversations are kept.
    pub session: Session,
    /// Models and where they are served.
    pub models: Models,
    /// Replies to people.
    pub messages: Messages,
    /// Which tools agents may use, and how the tools behave.
    pub tools: Tools,
    /// Plugins: which ones run, what they are granted and how they are limited.
    pub plugins: Plugins,
    /// Where questions to the operator go.
    pub approvals: Approvals,
    /// Rules of the operator that no plugin can change.
    pub security: Security,
    /// What the host logs.
    pub logging: Logging,
}
