//! The port `SentKeys` on SQLite: which messages of plugins went out already. A key is claimed before its message is sent, so that a crash
//! in between loses a message rather than sending it twice.

use async_trait::async_trait;
use domain::ids::PluginId;
use domain::ports::{SentKeys, StateError};
use rusqlite::Transaction;

use crate::failure::Failure;
use crate::kv::SqlitePluginKv;
use crate::time::column;

/// Longest key in bytes.
pub const MAX_SENT_KEY_BYTES: usize = 512;

/// Most keys that a plugin may hold at once: some seven messages a minute, all day.
pub const MAX_SENT_KEYS: u32 = 10_000;

/// Keys whose time is up that one claim removes on the side, of any plugin: more than it adds.
const EXPIRED_PER_CLAIM: u32 = 16;

type Result<T> = std::result::Result<T, StateError>;

#[async_trait]
impl SentKeys for SqlitePluginKv {
    async fn claim(&self, plugin: &PluginId, key: &str, ttl_ms: u64) -> Result<bool> {
        if key.is_empty() || key.len() > MAX_SENT_KEY_BYTES {
            let bytes = key.len();
            return Err(StateError::Invalid(format!("a key has 1 to {MAX_SENT_KEY_BYTES} bytes, this one has {bytes}")));
        }
        let (plugin, key, now) = (plugin.clone(), key.to_owned(), column(self.now_ms()));
        let until = now.saturating_add(column(ttl_ms));
        let database = self.database().get::<StateError>().await?;
        database.write(move |tx| claim(tx, plugin.as_str(), &key, now, until)).await
    }

    async fn release(&self, plugin: &PluginId, key: &str) -> Result<()> {
        let (plugin, key) = (plugin.clone(), key.to_owned());
        let database = self.database().get::<StateError>().await?;
        database
            .write(move |tx: &Transaction<'_>| {
                let sql = "DELETE FROM plugin_sent_keys WHERE plugin_id = ?1 AND idempotency_key = ?2";
                tx.prepare_cached(sql)?.execute((plugin.as_str(), &key))?;
                Ok(())
            })
            .await
    }
}

/// Forgets what a plugin sent.
pub(crate) fn remove(tx: &Transaction<'_>, plugin: &str) -> std::result::Result<(), Failure<StateError>> {
    tx.prepare_cached("DELETE FROM plugin_sent_keys WHERE plugin_id = ?1")?.execute([plugin])?;
    Ok(())
}

fn claim(tx: &Transaction<'_>, plugin: &str, key: &str, now: i64, until: i64) -> std::result::Result<bool, Failure<StateError>> {
    tx.prepare_cached(
        "DELETE FROM plugin_sent_keys WHERE rowid IN (
             SELECT rowid FROM plugin_sent_keys WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)",
    )?
    .execute((now, EXPIRED_PER_CLAIM))?;
    let held: u32 = tx
        .prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM plugin_sent_keys WHERE plugin_id = ?1 AND expires_at > ?2 LIMIT ?3)",
        )?
        .query_row((plugin, now, MAX_SENT_KEYS), |row| row.get(0))?;
    if held >= MAX_SENT_KEYS {
        return Err(StateError::Limit(format!("{MAX_SENT_KEYS} keys of sent messages are held already")).into());
    }
    let claimed = tx
        .prepare_cached(
            "INSERT INTO plugin_sent_keys VALUES (?1, ?2, ?3)
             ON CONFLICT (plugin_id, idempotency_key) DO UPDATE SET expires_at = excluded.expires_at WHERE expires_at <= ?4",
        )?
        .execute((plugin, key, until, now))?;
    Ok(claimed > 0)
}
