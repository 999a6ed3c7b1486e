//! What an operator says of a provider, in this crate's own words. The binary fills these in from the configuration file; nothing
//! here reads files or the environment.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the header that needs it. Never for a log or an error.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// One provider that is reached over HTTP.
#[derive(Debug, Clone)]
pub struct ProviderSettings {
    /// Provider id, the part of a model reference before its first `/`.
    pub id: String,
    /// Wire protocol; `openai-completions` is the one that this crate speaks.
    pub api: String,
    /// Address up to and without `/chat/completions`.
    pub base_url: Option<String>,
    /// Key, sent as `Authorization: Bearer …`. Absent: no such header.
    pub api_key: Option<Secret>,
    /// Headers for every request. One named `authorization` takes the place of the key's.
    pub headers: BTreeMap<String, Secret>,
    /// Time limits. Absent: by the class of the endpoint (agent-loop 21.3).
    pub timeouts: Option<Timeouts>,
    /// Size limits of an answer.
    pub limits: StreamLimits,
    /// Repeats of one HTTP request.
    pub retry: RetryPolicy,
    /// What the server does in its own way. Absent: by its host name.
    pub compat: Option<Compat>,
    /// Window of models that do not name their own, in tokens.
    pub context_window: Option<u32>,
    /// Longest answer of models that do not name their own limit, in tokens.
    pub max_tokens: Option<u32>,
    /// Models. Empty: any model id is passed on.
    pub models: Vec<ModelSettings>,
}

impl ProviderSettings {
    /// A provider with all defaults.
    pub fn new(id: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            api: crate::completions::API.to_owned(),
            base_url: Some(base_url.into()),
            api_key: None,
            headers: BTreeMap::new(),
            timeouts: None,
            limits: StreamLimits::default(),
            retry: RetryPolicy::default(),
            compat: None,
            context_window: None,
            max_tokens: None,
            models: Vec::new(),
        }
    }
}

/// One model of a provider.
#[derive(Debug, Clone, Default)]
pub struct ModelSettings {
    /// Id under which the provider knows it.
    pub id: String,
    /// Window in tokens.
    pub context_window: Option<u32>,
    /// Longest answer in tokens.
    pub max_tokens: Option<u32>,
    /// Whether it reads pictures. If not, a short note takes a picture's place (runtime 12.5.3).
    pub reads_images: bool,
    /// Whether it takes a thinking level.
    pub reasoning: bool,
}

/// Time limits of one model call. An absent limit does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Option<Duration>,
    /// From the request to the head of the answer.
    pub headers: Option<Duration>,
    /// Longest silence: the wait for the head, and between two pieces of the body (agent-loop 21.3.5).
    pub idle: Option<Duration>,
    /// The whole call, repeats included.
    pub total: Option<Duration>,
}

impl Timeouts {
    /// The provider's one timeout, `models.providers.<id>.timeoutSeconds`, in all its roles (agent-loop 21.4).
    pub fn uniform(limit: Duration) -> Self {
        Self { connect: Some(limit), headers: Some(limit), idle: Some(limit), total: Some(limit) }
    }
}

/// Size limits of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamLimits {
    /// Bytes of one event. 8 MiB: the largest event is a whole answer with its tool arguments in one piece.
    pub max_event_bytes: usize,
    /// Bytes of the whole body. 64 MiB: far above the longest answer, far below what would hurt the host.
    pub max_stream_bytes: usize,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self { max_event_bytes: 8 << 20, max_stream_bytes: 64 << 20 }
    }
}

/// Repeats of one HTTP request that found no answer (runtime 5.5). Nothing is repeated once an answer has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Requests in total; 0 counts as 1.
    pub attempts: u32,
    /// Wait before the second request; doubles from there.
    pub first_delay: Duration,
    /// Longest wait that this side chooses.
    pub max_delay: Duration,
    /// Longest wait that a provider may ask for; a longer one ends the call at once, so that failover can act. Absent: no limit.
    pub max_asked_delay: Option<Duration>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 3,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            max_asked_delay: Some(Duration::from_secs(60)),
        }
    }
}

/// Ways in which servers differ (runtime 12.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compat {
    /// The output limit is `max_completion_tokens`; otherwise `max_tokens`.
    pub max_completion_tokens: bool,
    /// It accepts `stream_options.include_usage`.
    pub stream_usage: bool,
    /// It may end an answer that has tool calls with `stop`. Without this, such calls are dropped.
    pub stop_with_tool_calls: bool,
    /// It demands `tools` when the history has tool calls and no tool is active.
    pub empty_tool_list: bool,
}

impl Compat {
    /// What is known of a host.
    pub fn of_host(host: &str) -> Self {
        let official = host.eq_ignore_ascii_case("api.openai.com");
        Self { max_completion_tokens: official, stream_usage: true, stop_with_tool_calls: !official, empty_tool_list: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_secret() {
        let mut settings = ProviderSettings::new("p", "http://localhost");
        settings.api_key = Some(Secret::new("sk-hidden"));
        settings.headers.insert("x-token".to_owned(), Secret::new("tok-hidden"));
        let shown = format!("{settings:?}");
        assert!(shown.contains("x-token") && !shown.contains("hidden"), "{shown}");
    }
}
