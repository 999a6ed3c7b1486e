//! The remaining ports: time, ids, delivery, plugin state, and the scope of a run. Adapters implement them; tests use the fakes of
//! `test_support`.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use async_trait::async_trait;

use crate::ids::{PluginId, RunId};
use crate::services::RunServices;
use crate::session_key::SessionKey;

/// Wall-clock time. Waiting goes through tokio's timers, which tests can pause.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970-01-01 UTC.
    fn now_ms(&self) -> u64;
}

/// Makes ids that do not repeat.
pub trait IdSource: Send + Sync {
    /// A new id.
    fn next_id(&self) -> String;
}

/// One outgoing text, ready for a channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Outbound {
    /// Channel id, for example `terminal`.
    pub channel: String,
    /// Where it goes, as the channel addresses it.
    pub to: String,
    /// The text.
    pub content: String,
    /// Media addresses.
    pub media: Vec<String>,
    /// Whether it tells of an error.
    pub is_error: bool,
}

/// What a channel said of a delivery.
pub type SendResult = Result<Option<String>, SendFailure>;

/// A channel refused a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SendFailure(pub String);

/// A way out. Called by the agent's one deliver function and by nobody else.
#[async_trait]
pub trait Channel: Send + Sync {
    /// Id of the channel.
    fn id(&self) -> &str;

    /// Sends one text; answers the channel's id of the message, if it gives one.
    async fn send(&self, message: &Outbound) -> SendResult;
}

/// Why plugin state could not be read or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The arguments are not acceptable.
    #[error("{0}")]
    Invalid(String),
    /// A quota was reached.
    #[error("{0}")]
    Limit(String),
    /// There is no such thing.
    #[error("{0}")]
    NotFound(String),
    /// The store failed.
    #[error("{0}")]
    Unavailable(String),
}

/// A page of keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeyPage {
    /// Keys in byte order.
    pub keys: Vec<String>,
    /// Where to go on; none: this was the last page.
    pub cursor: Option<String>,
}

/// How much key-value state one plugin may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvLimits {
    /// Keys and values together, in bytes.
    pub max_bytes: u64,
    /// Keys.
    pub max_keys: u64,
}

/// Durable key-value state of plugins. Each operation is one transaction; a write that returned is durable.
#[async_trait]
pub trait PluginKv: Send + Sync {
    /// The value of a key.
    async fn get(&self, plugin: &PluginId, key: &str) -> Result<Option<Vec<u8>>, StateError>;

    /// Sets a key. `limits` bound what the plugin has after it; a write that takes something away is never refused.
    async fn set(
        &self,
        plugin: &PluginId,
        key: &str,
        value: &[u8],
        ttl_ms: Option<u64>,
        limits: KvLimits,
    ) -> Result<(), StateError>;

    /// Removes a key; false: there was none.
    async fn delete(&self, plugin: &PluginId, key: &str) -> Result<bool, StateError>;

    /// Keys that begin with `prefix`, after `cursor`.
    async fn list_keys(&self, plugin: &PluginId, prefix: &str, cursor: Option<&str>, limit: u32) -> Result<KeyPage, StateError>;

    /// Adds to a whole number that is kept as decimal text.
    async fn increment(&self, plugin: &PluginId, key: &str, delta: i64, limits: KvLimits) -> Result<i64, StateError>;

    /// Sets or removes a key if it still has the expected value.
    async fn compare_and_set(
        &self,
        plugin: &PluginId,
        key: &str,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
        limits: KvLimits,
    ) -> Result<bool, StateError>;
}

/// Keys of messages that plugins sent, so that none goes out twice.
#[async_trait]
pub trait SentKeys: Send + Sync {
    /// Claims a key for some milliseconds. False: it is claimed already.
    async fn claim(&self, plugin: &PluginId, key: &str, ttl_ms: u64) -> Result<bool, StateError>;

    /// Gives a key back, because nothing went out.
    async fn release(&self, plugin: &PluginId, key: &str) -> Result<(), StateError>;
}

/// Small JSON values of plugins inside a session; they end with the session.
#[async_trait]
pub trait SessionExtensions: Send + Sync {
    /// The plugin's value in a namespace.
    async fn get(&self, session: &SessionKey, plugin: &PluginId, namespace: &str) -> Result<Option<String>, StateError>;

    /// Replaces (or, with none, removes) the plugin's value in a namespace.
    async fn set(&self, session: &SessionKey, plugin: &PluginId, namespace: &str, json: Option<&str>) -> Result<(), StateError>;
}

/// What lives exactly as long as one run. An adapter may keep things in here (plugin instances, for example); they are dropped
/// when the last holder of the scope lets go, on every way in which a run can end.
#[derive(Clone)]
pub struct RunScope {
    inner: Arc<ScopeInner>,
}

struct ScopeInner {
    run_id: RunId,
    services: OnceLock<Weak<dyn RunServices>>,
    kept: Mutex<BTreeMap<u64, Vec<Box<dyn Any + Send>>>>,
}

impl RunScope {
    /// An empty scope.
    pub fn new(run_id: RunId) -> Self {
        Self { inner: Arc::new(ScopeInner { run_id, services: OnceLock::new(), kept: Mutex::new(BTreeMap::new()) }) }
    }

    /// The run.
    pub fn run_id(&self) -> &RunId {
        &self.inner.run_id
    }

    /// Names what the run does for plugins; the first one counts. The scope does not keep it alive.
    pub fn serve(&self, services: Weak<dyn RunServices>) {
        let _ = self.inner.services.set(services);
    }

    /// What the run does for plugins. None: it does nothing.
    pub fn services(&self) -> Option<&Weak<dyn RunServices>> {
        self.inner.services.get()
    }

    /// Takes one thing that was kept under `slot`, if any is free.
    pub fn take(&self, slot: u64) -> Option<Box<dyn Any + Send>> {
        self.kept().get_mut(&slot).and_then(Vec::pop)
    }

    /// Keeps a thing for the next caller of this run.
    pub fn keep(&self, slot: u64, thing: Box<dyn Any + Send>) {
        self.kept().entry(slot).or_default().push(thing);
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Vec<Box<dyn Any + Send>>>> {
        // The map holds no invariant that a panic could break half way.
        self.inner.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RunScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunScope").field("run_id", &self.inner.run_id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_drops_what_it_keeps_with_its_last_holder() {
        struct Noticed(Arc<std::sync::atomic::AtomicBool>);
        impl Drop for Noticed {
            fn drop(&mut self) {
                self.0.store(true, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let dropped = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let scope = RunScope::new(RunId::new("r"));
        let other = scope.clone();
        scope.keep(1, Box::new(Noticed(Arc::clone(&dropped))));
        assert!(scope.take(2).is_none());
        drop(scope);
        assert!(!dropped.load(std::sync::atomic::Ordering::SeqCst));
        drop(other);
        assert!(dropped.load(std::sync::atomic::Ordering::SeqCst));
    }
}
