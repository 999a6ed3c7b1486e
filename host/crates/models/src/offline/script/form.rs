//! The script file as it is written: its keys and their types. What the keys mean together is checked in `load`.

use std::collections::BTreeMap;

use domain::model::{ConnectionFailure, FailureClass};
use serde::Deserialize;
use serde_json::Value;

use super::expect::Expect;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FileForm {
    /// Turns of `offline/script`.
    #[serde(default)]
    pub(super) turns: Vec<TurnForm>,
    /// Turns of further models, by id.
    #[serde(default)]
    pub(super) models: BTreeMap<String, Vec<TurnForm>>,
}

/// One turn.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct TurnForm {
    #[serde(default)]
    pub(super) expect: Expect,
    pub(super) play: Vec<StepForm>,
    #[serde(default)]
    pub(super) usage: Option<UsageForm>,
    #[serde(default)]
    pub(super) stop_reason: Option<StopForm>,
}

/// One step: an object of one key.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StepForm {
    Text(Pieces),
    Thinking(Pieces),
    Call(CallForm),
    PauseMs(u64),
    Error(ErrorForm),
}

/// Text that is split into words, or pieces as they are.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
pub(super) enum Pieces {
    Split(String),
    Exact(Vec<String>),
}

/// A tool call.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CallForm {
    pub(super) name: String,
    /// Absent: `{}`. Anything but an object plays a model that wrote broken arguments.
    #[serde(default)]
    pub(super) arguments: Option<Value>,
    #[serde(default)]
    pub(super) id: Option<String>,
}

/// A failure.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ErrorForm {
    pub(super) class: FailureClass,
    pub(super) message: String,
    #[serde(default)]
    pub(super) status: Option<u16>,
    #[serde(default)]
    pub(super) connection: Option<ConnectionForm>,
}

/// How the connection failed.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ConnectionForm {
    Aborted,
    Closed,
    Reset,
    Terminated,
    Timeout,
}

impl From<ConnectionForm> for ConnectionFailure {
    fn from(form: ConnectionForm) -> Self {
        match form {
            ConnectionForm::Aborted => Self::Aborted,
            ConnectionForm::Closed => Self::Closed,
            ConnectionForm::Reset => Self::Reset,
            ConnectionForm::Terminated => Self::Terminated,
            ConnectionForm::Timeout => Self::Timeout,
        }
    }
}

/// How an answer ends well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StopForm {
    Stop,
    Length,
    ToolUse,
}

/// Tokens; the total is their sum.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UsageForm {
    pub(super) input: u32,
    pub(super) output: u32,
    #[serde(default)]
    pub(super) cache_read: Option<u32>,
    #[serde(default)]
    pub(super) cache_write: Option<u32>,
}
