//! Faults of a call in words: which provider, what happened, what to look at.

use std::error::Error;
use std::io;
use std::time::Duration;

use domain::model::{ConnectionFailure, FailureClass, ModelFailure};

use super::body::BodyFault;
use super::redact::Redactor;
use super::watch::Expired;
use crate::classify::Refusal;

/// Whom a failure names, and what it must not say.
#[derive(Debug, Clone)]
pub(crate) struct Blame {
    provider: String,
    redactor: Redactor,
}

impl Blame {
    /// Blames a provider.
    pub(crate) fn new(provider: impl Into<String>, redactor: Redactor) -> Self {
        Self { provider: provider.into(), redactor }
    }

    /// Id of the provider.
    pub(crate) fn provider(&self) -> &str {
        &self.provider
    }

    /// `provider … what`.
    pub(crate) fn failure(&self, class: FailureClass, what: impl std::fmt::Display) -> ModelFailure {
        ModelFailure::new(class, format!("provider `{}` {what}", self.provider))
    }

    /// A text of the provider, fit to be shown.
    pub(crate) fn quote(&self, text: &str) -> String {
        self.redactor.quote(text)
    }

    /// This side gave up.
    pub(crate) fn aborted(&self) -> ModelFailure {
        let failure = ModelFailure::new(FailureClass::Aborted, format!("the call to provider `{}` was aborted", self.provider));
        ModelFailure { connection: Some(ConnectionFailure::Aborted), ..failure }
    }

    /// The provider refused the request by its status.
    pub(crate) fn refused(&self, refusal: &Refusal) -> ModelFailure {
        let status = refusal.status.map(|status| format!(" with HTTP status {status}")).unwrap_or_default();
        self.said(refusal, &format!("refused the request{status}"))
    }

    /// The provider told of an error inside its answer.
    pub(crate) fn reported(&self, refusal: &Refusal) -> ModelFailure {
        self.said(refusal, "reported an error")
    }

    fn said(&self, refusal: &Refusal, what: &str) -> ModelFailure {
        let class = refusal.class();
        let said = match self.quote(&refusal.message) {
            said if said.is_empty() => self.quote(&refusal.code),
            said => said,
        };
        let said = if said.is_empty() { said } else { format!(": {said}") };
        let failure = self.failure(class, format_args!("{what}{said}{}", self.remedy(class)));
        ModelFailure { status: refusal.status, ..failure }
    }

    /// No answer began: the connection failed.
    pub(crate) fn unreachable(&self, error: &reqwest::Error) -> ModelFailure {
        let id = &self.provider;
        let cause = self.root_cause(error);
        if error.is_timeout() {
            let failure = self.failure(FailureClass::Timeout, "could not be connected to in time");
            return ModelFailure { connection: Some(ConnectionFailure::Timeout), ..failure };
        }
        let what = format_args!("could not be reached: {cause}; check the network and `models.providers.{id}.baseUrl`");
        ModelFailure { connection: reset_or(error, None), ..self.failure(FailureClass::Timeout, what) }
    }

    /// A clock ran out.
    pub(crate) fn expired(&self, expired: Expired) -> ModelFailure {
        let key = format!("models.providers.{}.timeoutSeconds", self.provider);
        let failure = match expired {
            Expired::Idle(limit) => {
                self.failure(FailureClass::Timeout, format_args!("sent nothing for {}; `{key}` sets this limit", seconds(limit)))
            }
            Expired::Total(limit) => {
                let what = format_args!("did not finish within {}; `{key}` sets this limit", seconds(limit));
                self.failure(FailureClass::Timeout, what)
            }
        };
        ModelFailure { connection: Some(ConnectionFailure::Timeout), ..failure }
    }

    /// The body could not be read to its end.
    pub(crate) fn body(&self, fault: &BodyFault) -> ModelFailure {
        match fault {
            BodyFault::Expired(expired) => self.expired(*expired),
            BodyFault::Transport(error) => {
                let what = format_args!("broke off in the middle of its answer: {}", self.root_cause(error));
                let connection = reset_or(error, Some(ConnectionFailure::Terminated));
                ModelFailure { connection, ..self.failure(FailureClass::Timeout, what) }
            }
            BodyFault::EventTooLarge(limit) => {
                self.failure(FailureClass::Unknown, format_args!("sent an event of more than {limit} bytes"))
            }
            BodyFault::StreamTooLarge(limit) => {
                self.failure(FailureClass::Unknown, format_args!("sent an answer of more than {limit} bytes"))
            }
            BodyFault::Unreadable(why) => {
                self.failure(FailureClass::Unknown, format_args!("sent a stream that cannot be read: {}", self.quote(why)))
            }
        }
    }

    /// The stream ended in good order, but before its answer did (runtime 12.1.3).
    pub(crate) fn unfinished(&self) -> ModelFailure {
        let failure = self.failure(FailureClass::Timeout, "ended the stream before its answer was complete");
        ModelFailure { connection: Some(ConnectionFailure::Closed), ..failure }
    }

    fn remedy(&self, class: FailureClass) -> String {
        let id = &self.provider;
        match class {
            FailureClass::Auth => format!("; check `models.providers.{id}.apiKey`"),
            FailureClass::ModelNotFound => format!("; check the model id and `models.providers.{id}.baseUrl`"),
            _ => String::new(),
        }
    }

    /// The innermost cause. The outer ones repeat the address, which may hold more than it should.
    fn root_cause(&self, error: &reqwest::Error) -> String {
        let mut cause: &dyn Error = error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        if std::ptr::addr_eq(cause, error) { "the request failed".to_owned() } else { self.quote(&cause.to_string()) }
    }
}

fn reset_or(error: &reqwest::Error, otherwise: Option<ConnectionFailure>) -> Option<ConnectionFailure> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        match error.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => return Some(ConnectionFailure::Reset),
            Some(io::ErrorKind::ConnectionAborted) => return Some(ConnectionFailure::Closed),
            _ => cause = error.source(),
        }
    }
    otherwise
}

fn seconds(limit: Duration) -> String {
    match limit.subsec_nanos() {
        0 => format!("{} s", limit.as_secs()),
        _ => format!("{} ms", limit.as_millis()),
    }
}
