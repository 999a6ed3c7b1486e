//! Exit codes, and failures as a person reads them: one sentence, then hints. `docs/cli.md` lists the codes.

use std::process::ExitCode;

use domain::session::StoreError;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// It did what was asked.
    Success = 0,
    /// The run failed: model, tool host or workspace.
    RunFailed = 1,
    /// The command line, or what it points at, makes no sense.
    Usage = 2,
    /// The configuration is not acceptable.
    Config = 3,
    /// A plugin that is needed cannot be loaded.
    Plugin = 4,
    /// Another run owns the session, or another process installs.
    Busy = 5,
    /// The run took longer than allowed.
    Timeout = 6,
    /// A policy, a plugin, a signature or a missing consent stopped an installation.
    Refused = 7,
    /// A fault of Creel itself.
    Internal = 70,
    /// Interrupted by a person.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// A command that did not do what was asked.
#[derive(Debug, Clone)]
pub struct Failure {
    /// How the process ends.
    pub code: Code,
    /// What happened, one sentence or one block.
    pub message: String,
    /// What would help.
    pub hints: Vec<String>,
}

impl Failure {
    /// A failure without hints.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hints: Vec::new() }
    }

    /// Wrong usage.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    /// A fault of Creel itself.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::Busy { .. } | StoreError::Fenced { .. } => Code::Busy,
            StoreError::NotFound(_) => Code::Usage,
            StoreError::Database { .. } | StoreError::Damaged { .. } | StoreError::Invalid { .. } => Code::RunFailed,
        };
        Self::new(code, error.to_string())
    }
}
