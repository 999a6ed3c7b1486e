//! `resolve_exec_env` (plugin-hooks 5.11): key by key, the last handler counts. The host filters the result before it is used.

use std::collections::BTreeMap;

use crate::catalogue::ResolveExecEnv;
use crate::point::{Fold, Who};

/// The command that is about to start. What it runs is not told.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Tool that starts it.
    pub tool_name: String,
    /// Where it runs.
    pub host: ExecHost,
}

/// Where a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecHost {
    /// Beside the gateway.
    Gateway,
    /// In the host's sandbox.
    Sandbox,
    /// On a paired node.
    Node,
}

/// Variables to add, in the order given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Name and value.
    pub env: Vec<(String, String)>,
}

impl Fold for ResolveExecEnv {
    type Decision = BTreeMap<String, String>;

    fn fold(mut so_far: Self::Decision, answer: Answer, _who: Who<'_>) -> Self::Decision {
        so_far.extend(answer.env);
        so_far
    }

    fn describe(answer: &Answer) -> Option<String> {
        let names: Vec<&str> = answer.env.iter().map(|(name, _)| name.as_str()).collect();
        (!names.is_empty()).then(|| format!("env {}", names.join(", ")))
    }
}
