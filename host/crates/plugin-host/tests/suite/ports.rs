//! Ports for guests: storage in memory that can be told to wait, to fail or to panic.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use domain::ports::{KeyPage, KvLimits, PluginKv, SessionExtensions, StateError};
use domain::{PluginId, SessionKey};
use plugin_host::Ports;

/// Key-value storage. Keys `wait`, `fail` and `panic` do what they say.
#[derive(Default)]
pub(crate) struct Memory(Mutex<BTreeMap<(String, String), Vec<u8>>>);

impl Memory {
    pub(crate) fn ports() -> (Arc<Self>, Ports) {
        let memory = Arc::new(Self::default());
        let ports = Ports { kv: memory.clone(), session_extensions: memory.clone(), network: egress::Network::system() };
        (memory, ports)
    }

    pub(crate) fn value(&self, owner: &str, key: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap().get(&(owner.to_owned(), key.to_owned())).cloned()
    }
}

#[async_trait]
impl PluginKv for Memory {
    async fn get(&self, plugin: &PluginId, key: &str) -> Result<Option<Vec<u8>>, StateError> {
        match key {
            "wait" => std::future::pending().await,
            "fail" => Err(StateError::Unavailable("the store is away".to_owned())),
            "panic" => panic!("the store is broken"),
            _ => Ok(self.value(plugin.as_str(), key)),
        }
    }

    async fn set(
        &self,
        plugin: &PluginId,
        key: &str,
        value: &[u8],
        _ttl: Option<u64>,
        limits: KvLimits,
    ) -> Result<(), StateError> {
        let mut values = self.0.lock().unwrap();
        let place = (plugin.to_string(), key.to_owned());
        let keys = values.keys().filter(|(owner, _)| owner == plugin.as_str()).count() as u64;
        if value.len() as u64 > limits.max_bytes || (!values.contains_key(&place) && keys >= limits.max_keys) {
            return Err(StateError::Limit("the quota is used up".to_owned()));
        }
        values.insert(place, value.to_vec());
        Ok(())
    }

    async fn delete(&self, plugin: &PluginId, key: &str) -> Result<bool, StateError> {
        Ok(self.0.lock().unwrap().remove(&(plugin.to_string(), key.to_owned())).is_some())
    }

    async fn list_keys(&self, _: &PluginId, _: &str, _: Option<&str>, _: u32) -> Result<KeyPage, StateError> {
        Ok(KeyPage::default())
    }

    async fn increment(&self, _: &PluginId, _: &str, delta: i64, _: KvLimits) -> Result<i64, StateError> {
        Ok(delta)
    }

    async fn compare_and_set(
        &self,
        _: &PluginId,
        _: &str,
        _: Option<&[u8]>,
        _: Option<&[u8]>,
        _: KvLimits,
    ) -> Result<bool, StateError> {
        Ok(false)
    }
}

#[async_trait]
impl SessionExtensions for Memory {
    async fn get(&self, session: &SessionKey, _: &PluginId, namespace: &str) -> Result<Option<String>, StateError> {
        Ok(self.value(session.as_str(), namespace).map(|bytes| String::from_utf8(bytes).unwrap()))
    }

    async fn set(&self, session: &SessionKey, _: &PluginId, namespace: &str, json: Option<&str>) -> Result<(), StateError> {
        let key = (session.to_string(), namespace.to_owned());
        let mut values = self.0.lock().unwrap();
        match json {
            Some(json) => drop(values.insert(key, json.as_bytes().to_vec())),
            None => drop(values.remove(&key)),
        }
        Ok(())
    }
}
