//! Values that must never be printed: secrets, references to them, and open objects that may hold some. None of them implements
//! `Serialize` or `Display`, and `Debug` shows no content.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::environment::Environment;

/// A secret text. Its only way out is [`Secret::reveal`].
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the header or the child process that needs it. Never for a log, an error or a guest.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// A secret, written out or named.
///
/// In text, `${NAME}` is replaced while the file is loaded, and a missing variable stops the load. A reference is looked up when
/// the secret is used: a missing variable then only disables what needs it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum SecretInput {
    /// The secret itself, or text with `${NAME}`.
    Text(Secret),
    /// The name of an environment variable.
    Variable(VariableReference),
    /// The public form of the same.
    Reference(SecretReference),
}

/// `{ env: "NAME" }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct VariableReference {
    /// Environment variable that holds the secret.
    #[schemars(length(min = 1))]
    pub env: String,
}

/// `{ source: "env", provider: "default", id: "NAME" }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SecretReference {
    /// Where the secret is kept. This version reads the environment only.
    pub source: SecretSource,
    /// Name of a configured secret provider. Has no effect for the environment.
    #[serde(default)]
    pub provider: Option<String>,
    /// Environment variable that holds the secret.
    #[schemars(length(min = 1))]
    pub id: String,
}

/// Where a referenced secret is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SecretSource {
    /// In the environment of the host.
    Env,
}

/// A referenced environment variable is not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the environment variable `{name}` is not set; set it, or change the key that refers to it")]
pub struct MissingVariable {
    /// Name of the variable.
    pub name: String,
}

impl SecretInput {
    /// The variable that is referred to. `None`: the secret was written out.
    pub fn variable(&self) -> Option<&str> {
        match self {
            Self::Text(_) => None,
            Self::Variable(reference) => Some(&reference.env),
            Self::Reference(reference) => Some(&reference.id),
        }
    }

    /// The secret.
    ///
    /// # Errors
    /// When the variable that is referred to is not set, or is empty.
    pub fn resolve(&self, environment: &Environment) -> Result<Secret, MissingVariable> {
        match self {
            Self::Text(secret) => Ok(secret.clone()),
            Self::Variable(VariableReference { env: name }) | Self::Reference(SecretReference { id: name, .. }) => {
                environment.get(name).map(Secret::new).ok_or_else(|| MissingVariable { name: name.clone() })
            }
        }
    }
}

/// An object whose keys belong to somebody else: settings of a plugin, parameters of a provider.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct OpenObject(Map<String, Value>);

impl OpenObject {
    /// The content. It may hold secrets.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Lays `over` on top: its keys win.
    #[must_use]
    pub fn merged(mut self, over: &Self) -> Self {
        self.0.extend(over.0.iter().map(|(key, value)| (key.clone(), value.clone())));
        self
    }
}

impl fmt::Debug for OpenObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// Names with secret values, for example request headers.
pub type SecretMap = BTreeMap<String, SecretInput>;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;

    fn input(json: &str) -> SecretInput {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn debug_shows_no_secret() {
        let open: OpenObject = serde_json::from_str(r#"{"token":"sk-hidden"}"#).unwrap();
        for shown in [format!("{:?}", Secret::new("sk-hidden")), format!("{:?}", input("\"sk-hidden\"")), format!("{open:?}")] {
            assert!(!shown.contains("hidden"), "{shown}");
        }
        assert_eq!(format!("{open:?}"), r#"{"token"}"#);
    }

    #[test]
    fn references_are_looked_up_when_used() {
        let environment = Environment::new([("KEY", "sk-1"), ("EMPTY", "")], "/");
        assert_eq!(input("\"sk-0\"").resolve(&environment).unwrap().reveal(), "sk-0");
        assert_eq!(input(r#"{"env":"KEY"}"#).resolve(&environment).unwrap().reveal(), "sk-1");
        let public = input(r#"{"source":"env","provider":"default","id":"KEY"}"#);
        assert_eq!(public.resolve(&environment).unwrap().reveal(), "sk-1");
        for name in ["NONE", "EMPTY"] {
            let missing = input(&format!(r#"{{"env":"{name}"}}"#)).resolve(&environment).unwrap_err();
            assert_eq!(missing, MissingVariable { name: name.to_owned() });
        }
    }
}
