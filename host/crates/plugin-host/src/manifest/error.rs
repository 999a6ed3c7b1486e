//! Why a manifest cannot be used, in sentences: which file, which key, what stands there, what was expected. Never the whole text of a
//! value, which may be long.

use domain::json::kind_of;
use hooks::fault::one_line;
use serde_json::Value;

use super::id::InvalidPluginId;
use super::{MAX_BYTES, MAX_HANDLERS};

/// Why a manifest cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It is too long.
    #[error("{place} has {bytes} bytes; a manifest may have {MAX_BYTES}")]
    TooLong {
        /// Where it stands.
        place: String,
        /// Its length in bytes.
        bytes: usize,
    },
    /// It is not JSON, or a key is missing or has the wrong type.
    #[error("{place}: {problem}")]
    Shape {
        /// Where it stands.
        place: String,
        /// Key, found and expected, with the line where they are known.
        problem: String,
    },
    /// Its id is not one.
    #[error("{place}: `id`: {cause}")]
    Id {
        /// Where it stands.
        place: String,
        /// Why.
        cause: InvalidPluginId,
    },
    /// It has more handlers than a host wants to call.
    #[error("{place}: `hooks` has {count} entries; a plugin may have {MAX_HANDLERS} handlers")]
    TooManyHandlers {
        /// Where it stands.
        place: String,
        /// How many.
        count: usize,
    },
}

/// Longest problem, in bytes. It may repeat keys of the file.
const MAX_PROBLEM_BYTES: usize = 1024;

impl ManifestError {
    /// What is wrong with keys and values: made one bounded line, because it repeats parts of the file.
    pub(super) fn shape(place: &str, problem: &str) -> Self {
        Self::Shape { place: place.to_owned(), problem: one_line(problem, MAX_PROBLEM_BYTES) }
    }

    /// A value of the wrong kind.
    pub(super) fn wrong(place: &str, key: &str, expected: &str, found: &Value) -> Self {
        let found = match found {
            Value::Bool(_) | Value::Number(_) => format!("`{found}`"),
            other => kind_of(other).to_owned(),
        };
        Self::shape(place, &format!("`{key}`: expected {expected}, found {found}"))
    }
}
