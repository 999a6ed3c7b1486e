//! `kv`: durable storage of the plugin. Whose storage it is comes from the store's own state, never from the guest.

use domain::PluginId;
use domain::ports::{KvLimits, PluginKv};

use super::{capability, within};
use crate::bindings::creel::plugin::{kv, types::HostError};
use crate::state::{Call, State};

/// Longest key in bytes.
const MAX_KEY_BYTES: usize = 512;

/// Most keys of one page.
const MAX_PAGE: u32 = 1000;

/// The storage of the plugin, for one call.
pub(crate) struct KvView<'a> {
    store: &'a dyn PluginKv,
    plugin: &'a PluginId,
    /// Absent: not granted. The linker has no `kv` then, so this is the second line.
    limits: Option<KvLimits>,
    call: &'a Call,
}

capability! {
    /// `creel:plugin/kv`.
    Kv => KvView
}

impl State {
    pub(crate) fn kv(&mut self) -> KvView<'_> {
        let plugin = &self.plugin;
        KvView {
            store: &*plugin.ports.kv,
            plugin: &plugin.id,
            limits: plugin.grants.kv.map(|grant| KvLimits { max_bytes: grant.max_bytes, max_keys: grant.max_keys }),
            call: &self.call,
        }
    }
}

impl KvView<'_> {
    fn limits(&self) -> Result<KvLimits, HostError> {
        self.limits.ok_or_else(|| {
            HostError::Denied(format!("not granted; set plugins.entries.{}.capabilities.kv: true to allow it", self.plugin))
        })
    }

    fn checked(&self, key: &str) -> Result<KvLimits, HostError> {
        if key.is_empty() || key.len() > MAX_KEY_BYTES {
            return Err(HostError::Invalid(format!("a key has 1 to {MAX_KEY_BYTES} bytes, this one has {}", key.len())));
        }
        self.limits()
    }
}

impl kv::Host for KvView<'_> {
    async fn get(&mut self, key: String) -> Result<Option<Vec<u8>>, HostError> {
        self.checked(&key)?;
        within(self.call, self.store.get(self.plugin, &key)).await
    }

    async fn set(&mut self, key: String, value: Vec<u8>, ttl_ms: Option<u64>) -> Result<(), HostError> {
        let limits = self.checked(&key)?;
        within(self.call, self.store.set(self.plugin, &key, &value, ttl_ms, limits)).await
    }

    async fn delete(&mut self, key: String) -> Result<bool, HostError> {
        self.checked(&key)?;
        within(self.call, self.store.delete(self.plugin, &key)).await
    }

    async fn list_keys(&mut self, prefix: String, cursor: Option<String>, limit: u32) -> Result<kv::KeyPage, HostError> {
        self.limits()?;
        let limit = if limit == 0 { MAX_PAGE } else { limit.min(MAX_PAGE) };
        let page = within(self.call, self.store.list_keys(self.plugin, &prefix, cursor.as_deref(), limit)).await?;
        Ok(kv::KeyPage { keys: page.keys, cursor: page.cursor })
    }

    async fn increment(&mut self, key: String, delta: i64) -> Result<i64, HostError> {
        let limits = self.checked(&key)?;
        within(self.call, self.store.increment(self.plugin, &key, delta, limits)).await
    }

    async fn compare_and_set(
        &mut self,
        key: String,
        expected: Option<Vec<u8>>,
        value: Option<Vec<u8>>,
    ) -> Result<bool, HostError> {
        let limits = self.checked(&key)?;
        let work = self.store.compare_and_set(self.plugin, &key, expected.as_deref(), value.as_deref(), limits);
        within(self.call, work).await
    }
}
