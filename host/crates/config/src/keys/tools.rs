//! `tools`: which tools agents may use (agent-loop 14.1) and how the shell tool behaves.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Quantity, Seconds};

/// `tools`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Tools {
    /// Basic set of tools. Absent: all of them.
    pub profile: Option<ToolProfile>,
    /// Only these tools. Names, `*` as a wildcard, `group:<name>`, or a plugin id. Not together with `alsoAllow`.
    pub allow: Option<Vec<String>>,
    /// These tools too, on top of the profile. Not together with `allow`.
    pub also_allow: Option<Vec<String>>,
    /// Never these tools. It wins over every other rule.
    pub deny: Vec<String>,
    /// The shell tool. It is no sandbox: a command gets a few variables of the host's environment only, and can read and change all that
    /// the host's user can, this file too; so keys are safer in the environment than here.
    pub exec: ExecSettings,
}

/// `agents.list[].tools`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AgentTools {
    /// Basic set of tools, in place of `tools.profile`.
    pub profile: Option<ToolProfile>,
    /// Only these of the tools that the global rules leave. Not together with `alsoAllow`.
    pub allow: Option<Vec<String>>,
    /// These tools too, on top of the profile. Not together with `allow`.
    pub also_allow: Option<Vec<String>>,
    /// Never these tools.
    pub deny: Vec<String>,
    /// The shell tool, where it differs from `tools.exec`.
    pub exec: ExecSettings,
}

/// Basic sets of tools (runtime 11.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ToolProfile {
    /// The status of the session only.
    Minimal,
    /// Files, commands, web, sessions and memory.
    Coding,
    /// Messages and sessions.
    Messaging,
    /// All tools.
    Full,
}

/// `tools.exec`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExecSettings {
    /// Time that a command may take, in seconds or as text such as "10m".
    #[schemars(extend("default" = 1_800))]
    pub timeout_sec: Option<Quantity<Seconds, 1, 604_800>>,
}
