//! Newtypes for ids, so that one cannot be given where another is meant. They hold text and check nothing but their own grammar.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the text as it is.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($name), &*self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}

text_id! {
    /// Id of one run of the agent loop. Opaque text, unique per host process at least.
    RunId
}
text_id! {
    /// Id of a session generation, that is of one transcript.
    SessionId
}
text_id! {
    /// Id of a tool call, as the model gave it (or the host, for a call that no model made).
    CallId
}
text_id! {
    /// Id of one request to a model.
    ModelCallId
}
text_id! {
    /// Canonical id of a plugin; stamped by the host, never taken from guest data.
    PluginId
}
text_id! {
    /// Id of a configured agent: `[a-z0-9][a-z0-9_-]{0,63}`. Make one with [`AgentId::parse`].
    AgentId
}

/// Why a text is no agent id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an agent id: use 1 to 64 characters, a letter or digit first, then letters, digits, `_` or `-`")]
pub struct InvalidAgentId(pub String);

impl AgentId {
    /// The agent that exists when none is configured.
    pub fn main() -> Self {
        Self::new("main")
    }

    /// Lowers the text and checks it (sessions 2.1.1).
    ///
    /// # Errors
    /// When the lowered text does not have the form of an agent id.
    pub fn parse(text: &str) -> Result<Self, InvalidAgentId> {
        let lowered = text.trim().to_ascii_lowercase();
        let mut chars = lowered.chars();
        let head = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let tail = chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-');
        if head && tail && lowered.len() <= 64 { Ok(Self::new(lowered)) } else { Err(InvalidAgentId(text.to_owned())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_ids_are_lowered_and_checked() {
        assert_eq!(AgentId::parse(" Ops-1 ").map(|id| id.to_string()), Ok("ops-1".to_owned()));
        let too_long = "a".repeat(65);
        for bad in ["", "-a", "_a", "a b", "a:b", "ä", too_long.as_str()] {
            assert_eq!(AgentId::parse(bad), Err(InvalidAgentId(bad.to_owned())), "{bad}");
        }
    }
}
