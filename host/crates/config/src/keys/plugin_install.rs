//! `plugins.install`: what an installation must bring so that it may happen. The command that is asked about each one is
//! `security.installPolicy`.

use schemars::JsonSchema;
use serde::Deserialize;

/// `plugins.install`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PluginInstall {
    /// Install and update only plugins that are signed by a trusted key.
    pub require_signature: bool,
    /// Public keys that may sign plugins, as `creel plugins trust list` prints them, besides those in the trust directory.
    #[schemars(inner(length(min = 1)))]
    pub trusted_keys: Vec<String>,
}
