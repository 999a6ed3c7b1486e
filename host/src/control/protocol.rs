//! What goes over the socket: one request and one answer, each a JSON object on a line. Both ends are this program, perhaps in two
//! versions, so unknown members are passed over.

use serde::{Deserialize, Serialize};

use crate::wiring::Change;

/// The only request so far.
pub(super) const RELOAD: &str = "plugins.reload";

/// Longest request, in bytes.
pub(super) const MAX_REQUEST_BYTES: u64 = 4 << 10;

/// Longest answer, in bytes: some hundred plugins, each with a sentence.
pub const MAX_ANSWER_BYTES: u64 = 4 << 20;

/// What is asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) command: String,
}

/// What became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// What became of each plugin.
    pub plugins: Vec<Change>,
    /// Why nothing has changed.
    pub error: Option<String>,
}

impl Answer {
    /// A reload that was refused.
    pub fn refused(error: impl Into<String>) -> Self {
        Self { error: Some(error.into()), ..Self::default() }
    }
}
