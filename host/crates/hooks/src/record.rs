//! What a dispatch reports of each handler, for timelines and traces. A record holds no content beyond a short description.

use std::fmt;
use std::time::Duration;

use domain::{PluginId, RunId};

use crate::catalogue::HookId;
use crate::fault::FaultKind;

/// One handler in one dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlerRecord {
    /// The hook.
    pub hook: HookId,
    /// The plugin.
    pub plugin: PluginId,
    /// Name of the handler; empty: it has none.
    pub handler: String,
    /// What it did.
    pub outcome: HandlerOutcome,
    /// How long the call took.
    pub elapsed: Duration,
    /// The run.
    pub run_id: Option<RunId>,
}

/// What a handler did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandlerOutcome {
    /// It had no opinion, or it only watches.
    Quiet,
    /// It answered; the answer in a few words.
    Answered(String),
    /// It answered, and the dispatch ended with it.
    Decided(String),
    /// It failed.
    Faulted(FaultKind, String),
    /// It was left out: its own plugin already stands in this chain of calls.
    SkippedNested,
    /// It was left out: the chain of calls is as deep as allowed.
    SkippedTooDeep,
    /// It was left out: its circuit is open.
    SkippedCircuit,
}

impl fmt::Display for HandlerOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Quiet => f.write_str("no opinion"),
            Self::Answered(text) => f.write_str(text),
            Self::Decided(text) => write!(f, "{text}; decided"),
            Self::Faulted(kind, text) => write!(f, "failed ({}): {text}", kind.as_str()),
            Self::SkippedNested => f.write_str("left out: its plugin stands in this chain of calls already"),
            Self::SkippedTooDeep => f.write_str("left out: the chain of calls is as deep as allowed"),
            Self::SkippedCircuit => f.write_str("left out: its circuit is open"),
        }
    }
}

/// Takes records. Never blocks.
pub trait RecordSink: Send + Sync {
    /// Takes one record.
    fn handled(&self, record: HandlerRecord);
}
