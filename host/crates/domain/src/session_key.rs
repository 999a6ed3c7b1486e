//! The grammar of session keys (sessions 2.1). A key is parsed once, at the edge; inside, it is a value that cannot be malformed.

use std::fmt;
use std::sync::Arc;

use crate::ids::{AgentId, InvalidAgentId};

/// Routing identity of a conversation, for example `agent:main:main`. Survives `/new` and `/reset`.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    text: Arc<str>,
    agent: AgentId,
}

/// Longest key in bytes: keys are used as file names and database keys.
pub const MAX_SESSION_KEY_BYTES: usize = 512;

/// Why a text is no session key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSessionKey {
    /// Nothing is left after trimming.
    #[error("the session key is empty; use for example `agent:main:main`, or leave it out for the main session")]
    Empty,
    /// The text is too long.
    #[error("the session key has {bytes} bytes; at most {MAX_SESSION_KEY_BYTES} are allowed")]
    TooLong {
        /// Length found, in bytes.
        bytes: usize,
    },
    /// A control or white-space character.
    #[error(
        "the session key `{key}` holds white space or a control character; use letters, digits and `:`, `-`, `_`, `.`, `@`, `+`"
    )]
    Character {
        /// The key, escaped.
        key: String,
    },
    /// The key begins with `agent:` but is not `agent:<agentId>:<rest>`.
    #[error("the session key `{key}` must have the form `agent:<agentId>:<rest>`, for example `agent:main:main`")]
    AgentForm {
        /// The key.
        key: String,
    },
    /// A part between colons is empty.
    #[error("the session key `{key}` has an empty part between its colons")]
    EmptyPart {
        /// The key.
        key: String,
    },
    /// The agent part is no agent id.
    #[error("in the session key `{key}`: {source}")]
    Agent {
        /// The key.
        key: String,
        /// What is wrong with the agent part.
        source: InvalidAgentId,
    },
    /// The key belongs to another agent than the one asked for.
    #[error("the session key `{key}` belongs to agent `{found}`, but agent `{asked}` was asked for; give one of the two")]
    OtherAgent {
        /// The key.
        key: String,
        /// Agent in the key.
        found: AgentId,
        /// Agent asked for.
        asked: AgentId,
    },
}

impl SessionKey {
    /// The main session of an agent.
    pub fn main(agent: &AgentId) -> Self {
        Self { text: format!("agent:{agent}:main").into(), agent: agent.clone() }
    }

    /// Parses a key that a caller named. A bare key is put below `agent` (else below `default_agent`); `cron:…` and `hook:…` are
    /// complete keys; `global` and `unknown` stay as they are when no agent is named (agent-loop 2.1.1, 2.1.2).
    ///
    /// # Errors
    /// When the text does not have the form of a key, or belongs to another agent than `agent`.
    pub fn parse(text: &str, agent: Option<&AgentId>, default_agent: &AgentId) -> Result<Self, InvalidSessionKey> {
        let key = text.trim();
        check_characters(key)?;
        if key.split(':').any(str::is_empty) {
            return Err(match key.strip_prefix("agent:") {
                Some(_) => InvalidSessionKey::AgentForm { key: key.to_owned() },
                None => InvalidSessionKey::EmptyPart { key: key.to_owned() },
            });
        }
        if key == "agent" {
            return Err(InvalidSessionKey::AgentForm { key: key.to_owned() });
        }
        if let Some(rest) = key.strip_prefix("agent:") {
            return Self::parse_agent_form(key, rest, agent);
        }
        let complete = key.starts_with("cron:") || key.starts_with("hook:");
        let unscoped = agent.is_none() && (key == "global" || key == "unknown");
        let owner = agent.unwrap_or(default_agent).clone();
        if complete || unscoped {
            return Ok(Self { text: key.into(), agent: owner });
        }
        Ok(Self { text: format!("agent:{owner}:{key}").into(), agent: owner })
    }

    fn parse_agent_form(key: &str, rest: &str, asked: Option<&AgentId>) -> Result<Self, InvalidSessionKey> {
        let Some((id, tail)) = rest.split_once(':') else {
            return Err(InvalidSessionKey::AgentForm { key: key.to_owned() });
        };
        let agent = AgentId::parse(id).map_err(|source| InvalidSessionKey::Agent { key: key.to_owned(), source })?;
        match asked {
            Some(asked) if *asked != agent => {
                Err(InvalidSessionKey::OtherAgent { key: key.to_owned(), found: agent, asked: asked.clone() })
            }
            _ => Ok(Self { text: format!("agent:{agent}:{tail}").into(), agent }),
        }
    }

    /// Makes a key again from its stored form. Stored keys were parsed before they were written.
    pub fn from_stored(text: &str, agent: AgentId) -> Self {
        Self { text: text.into(), agent }
    }

    /// The agent that the session belongs to.
    pub fn agent(&self) -> &AgentId {
        &self.agent
    }

    /// The whole key.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

fn check_characters(key: &str) -> Result<(), InvalidSessionKey> {
    if key.is_empty() {
        return Err(InvalidSessionKey::Empty);
    }
    if key.len() > MAX_SESSION_KEY_BYTES {
        return Err(InvalidSessionKey::TooLong { bytes: key.len() });
    }
    if key.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(InvalidSessionKey::Character { key: key.escape_debug().to_string() });
    }
    Ok(())
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SessionKey({:?})", &*self.text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn parse(text: &str) -> Result<String, InvalidSessionKey> {
        SessionKey::parse(text, None, &AgentId::main()).map(|key| key.to_string())
    }

    #[test]
    fn keys_are_canonical() {
        for (given, canonical) in [
            ("agent:main:main", "agent:main:main"),
            (" agent:OPS:telegram:group:-100Ab ", "agent:ops:telegram:group:-100Ab"),
            ("telegram:direct:7", "agent:main:telegram:direct:7"),
            ("cron:nightly", "cron:nightly"),
            ("hook:3f", "hook:3f"),
            ("global", "global"),
        ] {
            assert_eq!(parse(given).unwrap(), canonical);
        }
    }

    #[test]
    fn a_named_agent_scopes_bare_keys_and_must_agree() {
        let ops = AgentId::parse("ops").unwrap();
        let scoped = SessionKey::parse("global", Some(&ops), &AgentId::main()).unwrap();
        assert_eq!(scoped.as_str(), "agent:ops:global");
        assert!(matches!(
            SessionKey::parse("agent:main:main", Some(&ops), &AgentId::main()),
            Err(InvalidSessionKey::OtherAgent { .. })
        ));
    }

    #[test]
    fn malformed_keys_say_what_is_wrong() {
        for bad in
            ["", "  ", "agent", "agent:", "agent:main", "agent::x", "agent:main:", "a::b", ":a", "a b", "a\u{7}b", "agent:-x:y"]
        {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
        assert!(matches!(parse(&"k".repeat(513)), Err(InvalidSessionKey::TooLong { bytes: 513 })));
    }
}
