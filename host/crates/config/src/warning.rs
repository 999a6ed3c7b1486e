//! What an operator should know about a configuration that loads.

use std::fmt;

use crate::keys::ModelApi;
use crate::text::key_path::KeyPath;
use crate::text::printable;

/// Something that has no effect, or not the effect that it seems to have. One sentence each.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// `CREEL_CONFIG_PATH` names a file that does not exist, so the defaults hold.
    NamedFileMissing,
    /// Keys of the public configuration whose part this version does not have.
    Ignored(Vec<KeyPath>),
    /// The same, for keys that were to restrict what agents may do. They are listed apart, because ignoring them is a risk.
    IgnoredRestrictions(Vec<KeyPath>),
    /// A provider speaks a protocol that this version does not have.
    UnsupportedApi {
        /// The provider's key.
        key: KeyPath,
        /// The protocol.
        api: ModelApi,
    },
    /// A referenced environment variable is not set.
    VariableNotSet {
        /// The key that refers to it.
        key: KeyPath,
        /// Name of the variable.
        name: String,
    },
    /// A provider may take longer than a run (agent-loop 21.3.10).
    TimeoutAboveRun {
        /// The provider's timeout.
        key: KeyPath,
        /// Its value in seconds.
        provider_seconds: u64,
        /// The limit of a run in seconds.
        run_seconds: u64,
    },
    /// Several agents say that they are the default one.
    SeveralDefaults {
        /// Id of the one that is.
        chosen: String,
    },
    /// `session.mainKey` is something else than `main`, which the main session is always called (sessions 2.1.2).
    MainKey,
    /// The install policy is on and has no command, so it blocks everything.
    PolicyWithoutCommand,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NamedFileMissing => f.write_str("CREEL_CONFIG_PATH names a file that does not exist; the defaults are used"),
            Self::Ignored(keys) => {
                write!(f, "ignored, because this version does not have the part that they belong to: {}", list(keys))
            }
            Self::IgnoredRestrictions(keys) => {
                write!(f, "these keys restrict what agents may do, and this version does NOT apply them: {}", list(keys))
            }
            Self::UnsupportedApi { key, api } => {
                write!(f, "{key}: this version cannot speak {}, so models of this provider cannot be used", api.as_str())
            }
            Self::VariableNotSet { key, name } => {
                let name = printable(name);
                write!(f, "{key}: the environment variable `{name}` is not set, so what needs it cannot be used")
            }
            Self::TimeoutAboveRun { key, provider_seconds, run_seconds } => {
                write!(
                    f,
                    "{key}: {provider_seconds} s have no effect, because a run ends after {run_seconds} s; raise agents.defaults.timeoutSeconds"
                )
            }
            Self::SeveralDefaults { chosen } => {
                write!(f, "agents.list: several agents have `default: true`; the first one, `{chosen}`, is the default agent")
            }
            Self::MainKey => f.write_str("session.mainKey: it has no effect, the main session is always called `main`"),
            Self::PolicyWithoutCommand => {
                f.write_str("security.installPolicy: it is enabled and has no `exec`, so every installation is blocked")
            }
        }
    }
}

fn list(keys: &[KeyPath]) -> String {
    keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
