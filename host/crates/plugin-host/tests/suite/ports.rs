//! Ports for guests: storage in memory that can be told to wait, to fail or to panic.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use domain::ports::{KeyPage, KvLimits, PluginKv, SessionExtensions, StateError};
use domain::session::{MessageTail, SessionEntry, SessionPage, SessionQuery, SessionReader, StoreError};
use domain::{JsonText, PluginId, SessionKey};
use plugin_host::Ports;

/// Key-value storage. Keys `wait`, `fail` and `panic` do what they say.
#[derive(Default)]
pub(crate) struct Memory(Mutex<BTreeMap<(String, String), Vec<u8>>>);

impl Memory {
    pub(crate) fn ports() -> (Arc<Self>, Ports) {
        let memory = Arc::new(Self::default());
        let ports = Ports {
            kv: memory.clone(),
            session_extensions: memory.clone(),
            sessions: memory.clone(),
            network: egress::Network::system(),
        };
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

/// The session `agent:main:main` with its messages `1` and `2`; a page that says what was asked for.
#[async_trait]
impl SessionReader for Memory {
    async fn page(&self, query: SessionQuery) -> Result<SessionPage, StoreError> {
        self.0.lock().unwrap().insert(("query".to_owned(), "last".to_owned()), format!("{query:?}").into_bytes());
        Ok(SessionPage::default())
    }

    async fn session(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError> {
        Ok((key.as_str() == "agent:main:main").then(SessionEntry::default))
    }

    async fn message_tail(&self, key: &SessionKey, messages: u32, bytes: u32) -> Result<Option<MessageTail>, StoreError> {
        match key.as_str() {
            "agent:main:main" => {
                self.0.lock().unwrap().insert(("tail".to_owned(), "last".to_owned()), format!("{messages} {bytes}").into_bytes());
                let messages = ["1", "2"].map(|text| JsonText::parse(text).unwrap()).to_vec();
                Ok(Some(MessageTail { messages, total: 2, truncated: false }))
            }
            "agent:main:broken" => Err(StoreError::NotFound("/path/of/the/host".to_owned())),
            _ => Ok(None),
        }
    }
}
