//! Why a message was not accepted, and why a run failed: in full for operators, and in the words that a user may see.

use domain::model::{FailureClass, ModelRef};
use domain::session::StoreError;

/// A message that was refused before anything changed.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// Nothing to say.
    #[error("the message is empty; give at least one visible character")]
    EmptyMessage,
    /// The session could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A run that failed. The text is for operators; what a user sees is [`RunError::user_text`].
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No such model.
    #[error(transparent)]
    Model(#[from] domain::model::UnknownModel),
    /// The provider failed.
    #[error(transparent)]
    Provider(#[from] domain::model::ModelFailure),
    /// The session store failed, or the session is busy.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The workspace cannot be used.
    #[error("the workspace cannot be used: {0}")]
    Workspace(String),
    /// The run was asked to stop.
    #[error("the run was aborted")]
    Aborted,
    /// The run's time was up.
    #[error("the run took longer than its {0} s; raise agents.defaults.timeoutSeconds or pass --timeout")]
    TimedOut(u64),
    /// The loop would not end.
    #[error("the model asked for tools {0} times without coming to an end; the run was stopped")]
    TooManyTurns(u32),
    /// A fault of the host.
    #[error("BUG: the host panicked inside the run: {0}")]
    Panicked(String),
}

/// Kind of a [`RunError`], for exit codes and wire answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunErrorKind {
    /// The model is not configured.
    UnknownModel,
    /// The provider failed.
    Provider,
    /// Another run owns the session.
    Busy,
    /// The session store failed.
    Store,
    /// The workspace cannot be used.
    Workspace,
    /// The run was asked to stop.
    Aborted,
    /// The run's time was up.
    TimedOut,
    /// The loop would not end.
    TooManyTurns,
    /// A fault of the host.
    Internal,
}

impl RunError {
    /// Its kind.
    pub fn kind(&self) -> RunErrorKind {
        match self {
            Self::Model(_) => RunErrorKind::UnknownModel,
            Self::Provider(_) => RunErrorKind::Provider,
            Self::Store(StoreError::Busy { .. } | StoreError::Fenced { .. }) => RunErrorKind::Busy,
            Self::Store(_) => RunErrorKind::Store,
            Self::Workspace(_) => RunErrorKind::Workspace,
            Self::Aborted => RunErrorKind::Aborted,
            Self::TimedOut(_) => RunErrorKind::TimedOut,
            Self::TooManyTurns(_) => RunErrorKind::TooManyTurns,
            Self::Panicked(_) => RunErrorKind::Internal,
        }
    }

    /// The text for the user. A provider's own words and the text of a panic are not in it: they may hold anything, and a reply may go
    /// to a group (agent-loop 16.2.4, 16.4.7). `model` is the one that was called.
    pub fn user_text(&self, model: Option<&ModelRef>) -> String {
        match (self, model) {
            (Self::Provider(failure), Some(model)) => provider_text(failure.class, model),
            (Self::Provider(failure), None) => format!("The model failed ({}).", failure.class.as_str()),
            (Self::Panicked(_), _) => "BUG: the host failed inside this run; its log says more.".to_owned(),
            (other, _) => other.to_string(),
        }
    }
}

fn provider_text(class: FailureClass, model: &ModelRef) -> String {
    let ModelRef { provider, model } = model;
    match class {
        FailureClass::Auth => {
            format!(
                "The model provider `{provider}` does not accept the credentials; check `models.providers.{provider}.apiKey`."
            )
        }
        FailureClass::RateLimit => format!("The model provider `{provider}` got too many requests; try again later."),
        FailureClass::Billing => format!("The account at the model provider `{provider}` has no credit left."),
        FailureClass::Overloaded => format!("The model provider `{provider}` is overloaded or out of order; try again later."),
        FailureClass::Timeout => format!("The model provider `{provider}` could not be reached, or did not answer in time."),
        FailureClass::ContextOverflow => {
            format!("The conversation is too long for the model `{provider}/{model}`; start a new session.")
        }
        FailureClass::Format => format!("The model provider `{provider}` does not accept the request; the log says why."),
        FailureClass::ModelNotFound => format!("The model provider `{provider}` has no model `{model}`."),
        FailureClass::Aborted => format!("The call to the model provider `{provider}` was aborted."),
        FailureClass::Unknown => format!("The model provider `{provider}` failed; the log says how."),
    }
}

#[cfg(test)]
mod tests {
    use domain::model::ModelFailure;

    use super::*;

    #[test]
    fn users_see_neither_a_provider_s_words_nor_a_panic() {
        let model = ModelRef::new("p", "m");
        for error in [
            RunError::Provider(ModelFailure::new(FailureClass::Auth, "provider `p` said: secret words")),
            RunError::Panicked("secret words".to_owned()),
        ] {
            for model in [Some(&model), None] {
                assert!(!error.user_text(model).contains("secret words"), "{error:?}");
            }
            assert!(error.to_string().contains("secret words"), "operators see all of it");
        }
        assert!(RunError::Workspace("no disk".to_owned()).user_text(None).contains("no disk"));
    }
}
