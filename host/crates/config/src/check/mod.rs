//! Everything that can be wrong with a file that is well-formed JSON5. Each check looks for all faults of its kind; none stops at
//! the first one.

pub(crate) mod expectation;
pub(crate) mod foreign;
mod foreign_keys;
pub(crate) mod nearest;
pub(crate) mod rules;
pub(crate) mod shape;
pub(crate) mod substitution;

use crate::problem::ProblemKind;
use crate::text::key_path::KeyPath;
use crate::text::locate::Target;

/// A fault whose place in the text has not been looked up.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finding {
    pub(crate) key: KeyPath,
    pub(crate) target: Target,
    pub(crate) kind: ProblemKind,
}

impl Finding {
    /// A fault of a value.
    pub(crate) fn value(key: KeyPath, kind: ProblemKind) -> Self {
        Self { key, target: Target::Value, kind }
    }

    /// A fault of a key, whatever its value is.
    pub(crate) fn key(key: KeyPath, kind: ProblemKind) -> Self {
        Self { key, target: Target::Key, kind }
    }
}
