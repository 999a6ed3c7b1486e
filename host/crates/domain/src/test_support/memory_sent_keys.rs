//! Keys of sent messages in memory. Their time never runs out.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::PluginId;
use crate::ports::{SentKeys, StateError};

/// Keys that were claimed.
#[derive(Debug, Default)]
pub struct MemorySentKeys(Mutex<BTreeSet<(PluginId, String)>>);

#[async_trait]
impl SentKeys for MemorySentKeys {
    async fn claim(&self, plugin: &PluginId, key: &str, _ttl_ms: u64) -> Result<bool, StateError> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).insert((plugin.clone(), key.to_owned())))
    }

    async fn release(&self, plugin: &PluginId, key: &str) -> Result<(), StateError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&(plugin.clone(), key.to_owned()));
        Ok(())
    }
}
