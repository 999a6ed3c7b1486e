//! `security`: rules of the operator that no plugin can change (plugin-hooks 10).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Bytes, Milliseconds, Quantity};
use super::secret::SecretInput;

/// `security`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Security {
    /// A command that allows or blocks every installation and update of skills and plugins.
    pub install_policy: InstallPolicy,
}

/// `security.installPolicy`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct InstallPolicy {
    /// Ask the command. Without `exec` everything is blocked then.
    pub enabled: bool,
    /// What is asked about. Absent or empty: everything.
    pub targets: Vec<InstallTarget>,
    /// The command.
    pub exec: Option<InstallPolicyCommand>,
}

impl InstallPolicy {
    /// Whether installations of this kind need the policy's consent.
    pub fn covers(&self, target: InstallTarget) -> bool {
        self.enabled && (self.targets.is_empty() || self.targets.contains(&target))
    }
}

/// What an installation brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum InstallTarget {
    /// A skill.
    Skill,
    /// A plugin.
    Plugin,
}

/// `security.installPolicy.exec`: a command that reads one JSON request from its standard input and answers with one JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstallPolicyCommand {
    /// Absolute path of the program. It has to be a regular file that only its owner or root can change.
    #[schemars(length(min = 1))]
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its environment, which is empty otherwise. Values are given like `apiKey` of a provider.
    #[serde(default)]
    pub env: BTreeMap<String, SecretInput>,
    /// Names of variables that it gets from the host's environment.
    #[serde(default)]
    pub pass_env: Vec<String>,
    /// Absolute paths of directories. If there are any, the program has to be inside one of them.
    #[serde(default)]
    pub trusted_dirs: Vec<String>,
    /// Time that it may take, in milliseconds or as text such as "10s".
    #[serde(default)]
    #[schemars(extend("default" = 10_000))]
    pub timeout_ms: Option<Quantity<Milliseconds, 1, 600_000>>,
    /// Time without any output after which it counts as hung. Absent: `timeoutMs`.
    #[serde(default)]
    pub no_output_timeout_ms: Option<Quantity<Milliseconds, 1, 600_000>>,
    /// Output that it may write, in bytes or as text such as "1mb".
    #[serde(default)]
    #[schemars(extend("default" = 1_048_576))]
    pub max_output_bytes: Option<Quantity<Bytes, 1, { 64 << 20 }>>,
}

impl InstallPolicyCommand {
    /// Time that the command may take, in milliseconds.
    pub fn timeout_ms(&self) -> u64 {
        self.timeout_ms.map_or(10_000, Quantity::get)
    }

    /// Time without any output after which the command counts as hung, in milliseconds.
    pub fn no_output_timeout_ms(&self) -> u64 {
        self.no_output_timeout_ms.map_or_else(|| self.timeout_ms(), Quantity::get)
    }

    /// Output that the command may write, in bytes.
    pub fn max_output_bytes(&self) -> u64 {
        self.max_output_bytes.map_or(1 << 20, Quantity::get)
    }
}
