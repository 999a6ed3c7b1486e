//! The small parts of the file: `session`, `messages`, `approvals`, `logging`.

use schemars::JsonSchema;
use serde::Deserialize;

/// `session`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Session {
    /// Has no effect: the main session is always called `main`. Kept so that old files load.
    pub main_key: Option<String>,
}

/// `messages`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Messages {
    /// Text before every reply.
    pub response_prefix: Option<String>,
    /// Do not tell people when a tool fails.
    pub suppress_tool_errors: bool,
}

/// `approvals`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Approvals {
    /// Approvals that plugins ask for.
    pub plugin: PluginApprovals,
}

/// `approvals.plugin`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PluginApprovals {
    /// Pass questions of plugins on to people outside of the terminal of the run.
    pub enabled: bool,
}

/// `logging`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Logging {
    /// The least important records that are kept.
    pub level: LogLevel,
    /// Which texts are searched for secrets before they are logged.
    pub redact_sensitive: RedactSensitive,
}

/// Importance of log records.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LogLevel {
    /// Nothing.
    Silent,
    /// What ends the host.
    Fatal,
    /// What failed.
    Error,
    /// What may be wrong.
    Warn,
    /// What happened.
    #[default]
    Info,
    /// How it happened.
    Debug,
    /// Every step.
    Trace,
}

impl LogLevel {
    /// The word in the file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Fatal => "fatal",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// Which texts are searched for secrets before they are logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum RedactSensitive {
    /// None.
    Off,
    /// Parameters and results of tools.
    #[default]
    Tools,
}
