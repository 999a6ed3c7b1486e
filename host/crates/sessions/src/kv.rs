//! The port `PluginKv` on SQLite. Checks arguments, takes the time and runs one transaction per call; what happens inside it is in
//! `kv_rows`.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use domain::ids::PluginId;
use domain::ports::{Clock, KeyPage, KvLimits, PluginKv, StateError};
use rusqlite::Transaction;

use crate::database::LazyDatabase;
use crate::failure::Failure;
use crate::kv_rows::{Expected, Plugin};
use crate::layout::StateDir;
use crate::schema;
use crate::time::column;
use crate::{circuits, sent_keys};

/// Longest key in bytes. Keys have at least one.
pub const MAX_KEY_BYTES: usize = 512;

/// Most keys on one page.
pub const MAX_PAGE_KEYS: u32 = 1000;

type Result<T> = std::result::Result<T, StateError>;

/// Key-value state of all plugins below one state directory, and their circuits beside it. The database is opened when it is first needed.
pub struct SqlitePluginKv {
    database: LazyDatabase,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for SqlitePluginKv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlitePluginKv").field("database", &self.database).finish_non_exhaustive()
    }
}

impl SqlitePluginKv {
    /// State below a state directory; `clock` decides when a time to live is over. Opens nothing yet, so it cannot fail.
    pub fn new(dir: &StateDir, clock: Arc<dyn Clock>) -> Self {
        Self { database: LazyDatabase::new(dir.state_database(), schema::STATE, None), clock }
    }

    pub(crate) fn database(&self) -> &LazyDatabase {
        &self.database
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    /// Removes all keys, keys of sent messages and circuits of a plugin, because it was uninstalled; returns how many keys there were.
    ///
    /// # Errors
    /// [`StateError::Unavailable`] when the database fails.
    pub async fn remove_plugin(&self, plugin: &PluginId) -> Result<u64> {
        self.write(plugin, |rows| {
            circuits::remove(rows.tx, rows.id, None)?;
            sent_keys::remove(rows.tx, rows.id)?;
            rows.remove_all()
        })
        .await
    }

    /// Works off what was asked for before, then closes the database. Later calls are refused.
    pub async fn close(&self) {
        self.database.close().await;
    }

    async fn read<T, F>(&self, plugin: &PluginId, if_no_database: T, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(Plugin<'_>) -> std::result::Result<T, Failure<StateError>> + Send + 'static,
    {
        let Some(database) = self.database.existing::<StateError>().await? else { return Ok(if_no_database) };
        let (plugin, now) = (plugin.clone(), column(self.clock.now_ms()));
        database.read(move |tx: &Transaction<'_>| work(Plugin { tx, id: plugin.as_str(), now })).await
    }

    async fn write<T, F>(&self, plugin: &PluginId, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(Plugin<'_>) -> std::result::Result<T, Failure<StateError>> + Send + 'static,
    {
        let (plugin, now) = (plugin.clone(), column(self.clock.now_ms()));
        let database = self.database.get::<StateError>().await?;
        database
            .write(move |tx: &Transaction<'_>| {
                let rows = Plugin { tx, id: plugin.as_str(), now };
                rows.drop_some_expired()?;
                work(rows)
            })
            .await
    }
}

#[async_trait]
impl PluginKv for SqlitePluginKv {
    async fn get(&self, plugin: &PluginId, key: &str) -> Result<Option<Vec<u8>>> {
        let key = checked(key)?;
        self.read(plugin, None, move |rows| Ok(rows.find(&key)?.map(|stored| stored.value))).await
    }

    async fn set(&self, plugin: &PluginId, key: &str, value: &[u8], ttl_ms: Option<u64>, limits: KvLimits) -> Result<()> {
        let (key, value) = (checked(key)?, value.to_vec());
        self.write(plugin, move |rows| {
            let expires_at = ttl_ms.map(|ttl| rows.now.saturating_add(column(ttl)));
            rows.put(&key, &value, expires_at, limits)
        })
        .await
    }

    async fn delete(&self, plugin: &PluginId, key: &str) -> Result<bool> {
        let key = checked(key)?;
        self.write(plugin, move |rows| rows.remove(&key)).await
    }

    async fn list_keys(&self, plugin: &PluginId, prefix: &str, cursor: Option<&str>, limit: u32) -> Result<KeyPage> {
        let limit = if (1..=MAX_PAGE_KEYS).contains(&limit) { limit } else { MAX_PAGE_KEYS };
        let (prefix, cursor) = (prefix.to_owned(), cursor.map(str::to_owned));
        self.read(plugin, KeyPage::default(), move |rows| rows.page(&prefix, cursor.as_deref(), limit)).await
    }

    async fn increment(&self, plugin: &PluginId, key: &str, delta: i64, limits: KvLimits) -> Result<i64> {
        let key = checked(key)?;
        self.write(plugin, move |rows| rows.increment(&key, delta, limits)).await
    }

    async fn compare_and_set(
        &self,
        plugin: &PluginId,
        key: &str,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
        limits: KvLimits,
    ) -> Result<bool> {
        let (key, value) = (checked(key)?, value.map(<[u8]>::to_vec));
        let expected = expected.map_or(Expected::Absent, |value| Expected::Value(value.to_vec()));
        self.write(plugin, move |rows| rows.compare_and_set(&key, &expected, value.as_deref(), limits)).await
    }
}

fn checked(key: &str) -> Result<String> {
    match key.len() {
        1..=MAX_KEY_BYTES => Ok(key.to_owned()),
        bytes => Err(StateError::Invalid(format!("a key has 1 to {MAX_KEY_BYTES} bytes, this one has {bytes}"))),
    }
}
