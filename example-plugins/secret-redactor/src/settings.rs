//! The operator's additions to what is secret.

use crate::named::folded;
use regex_lite::Regex;
use serde::Deserialize;

/// The settings, patterns compiled once.
#[derive(Deserialize, Default)]
#[serde(from = "Raw")]
pub(crate) struct Settings {
    patterns: Vec<(String, Regex)>,
    names: Vec<String>,
    broken: Vec<String>,
}

impl Settings {
    /// The operator's own patterns, with their names.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = (&str, &Regex)> {
        self.patterns.iter().map(|(name, pattern)| (name.as_str(), pattern))
    }

    /// Whether a name, folded, is one of the operator's.
    pub(crate) fn names(&self, folded_name: &str) -> bool {
        self.names.iter().any(|name| name == folded_name)
    }

    /// Patterns that are not valid. They must not stop the others: this plugin fails open.
    pub(crate) fn broken(&self) -> &[String] {
        &self.broken
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Raw {
    patterns: Vec<RawPattern>,
    names: Vec<String>,
}

#[derive(Deserialize)]
struct RawPattern {
    name: String,
    pattern: String,
}

impl From<Raw> for Settings {
    fn from(raw: Raw) -> Self {
        let mut settings = Self { names: raw.names.iter().map(|name| folded(name)).collect(), ..Self::default() };
        for RawPattern { name, pattern } in raw.patterns {
            match Regex::new(&pattern) {
                Ok(pattern) => settings.patterns.push((name, pattern)),
                Err(error) => settings.broken.push(format!("`{name}`: {error}")),
            }
        }
        settings
    }
}
