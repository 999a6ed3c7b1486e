//! Rows of the plugins' key-value state, inside one transaction. A row whose time is up is absent for every operation; such rows are
//! removed a few at a time by later writes of their plugin, and all of them when they stand in the way of a quota.

use domain::ports::{KeyPage, KvLimits, StateError};
use rusqlite::{OptionalExtension, Transaction};

use crate::failure::Failure;

/// Expired rows that one write removes on the side: more than it can add, so that they do not pile up, and few enough not to be felt.
const EXPIRED_PER_WRITE: i64 = 16;

type Result<T> = std::result::Result<T, Failure<StateError>>;

/// The rows of one plugin at one moment.
pub(crate) struct Plugin<'tx> {
    /// The transaction.
    pub(crate) tx: &'tx Transaction<'tx>,
    /// The plugin.
    pub(crate) id: &'tx str,
    /// Milliseconds.
    pub(crate) now: i64,
}

/// A value that exists.
pub(crate) struct Stored {
    /// The value.
    pub(crate) value: Vec<u8>,
    /// When it ends, milliseconds.
    expires_at: Option<i64>,
}

/// What must be there before a change.
pub(crate) enum Expected {
    /// No value.
    Absent,
    /// This value.
    Value(Vec<u8>),
}

impl Plugin<'_> {
    /// The value of a key.
    pub(crate) fn find(&self, key: &str) -> Result<Option<Stored>> {
        let mut statement = self.tx.prepare_cached(
            "SELECT value, expires_at FROM plugin_kv
             WHERE plugin_id = ?1 AND key = ?2 AND (expires_at IS NULL OR expires_at > ?3)",
        )?;
        let stored = |row: &rusqlite::Row<'_>| Ok(Stored { value: row.get(0)?, expires_at: row.get(1)? });
        Ok(statement.query_row((self.id, key, self.now), stored).optional()?)
    }

    /// Sets a key and its end.
    pub(crate) fn put(&self, key: &str, value: &[u8], expires_at: Option<i64>, limits: KvLimits) -> Result<()> {
        self.check_limits(key, value, limits)?;
        self.tx
            .prepare_cached(
                "INSERT INTO plugin_kv (plugin_id, key, value, expires_at) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (plugin_id, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at",
            )?
            .execute((self.id, key, value, expires_at))?;
        Ok(())
    }

    /// Removes a key; false: there was none.
    pub(crate) fn remove(&self, key: &str) -> Result<bool> {
        let existed = self.find(key)?.is_some();
        self.tx.prepare_cached("DELETE FROM plugin_kv WHERE plugin_id = ?1 AND key = ?2")?.execute((self.id, key))?;
        Ok(existed)
    }

    /// Removes everything; answers how many keys there were.
    pub(crate) fn remove_all(&self) -> Result<u64> {
        let live: i64 = self
            .tx
            .prepare_cached("SELECT count(*) FROM plugin_kv WHERE plugin_id = ?1 AND (expires_at IS NULL OR expires_at > ?2)")?
            .query_row((self.id, self.now), |row| row.get(0))?;
        self.tx.prepare_cached("DELETE FROM plugin_kv WHERE plugin_id = ?1")?.execute([self.id])?;
        self.tx.prepare_cached("DELETE FROM plugin_kv_usage WHERE plugin_id = ?1")?.execute([self.id])?;
        Ok(u64::try_from(live).unwrap_or(0))
    }

    /// Adds to a number that is kept as decimal text. A missing key counts as 0; a time to live is kept.
    pub(crate) fn increment(&self, key: &str, delta: i64, limits: KvLimits) -> Result<i64> {
        let (number, expires_at) = match self.find(key)? {
            Some(stored) => (parse_number(key, &stored.value)?, stored.expires_at),
            None => (0, None),
        };
        let sum = number
            .checked_add(delta)
            .ok_or_else(|| StateError::Invalid(format!("{number} plus {delta} in key `{key}` does not fit into 64 bits")))?;
        self.put(key, sum.to_string().as_bytes(), expires_at, limits)?;
        Ok(sum)
    }

    /// Sets or removes a key if it has the expected value; false: it has not. A time to live is kept.
    pub(crate) fn compare_and_set(&self, key: &str, expected: &Expected, value: Option<&[u8]>, limits: KvLimits) -> Result<bool> {
        let found = self.find(key)?;
        let expires_at = match (expected, &found) {
            (Expected::Absent, None) => None,
            (Expected::Value(expected), Some(stored)) if *expected == stored.value => stored.expires_at,
            _ => return Ok(false),
        };
        match value {
            Some(value) => self.put(key, value, expires_at, limits)?,
            None => drop(self.remove(key)?),
        }
        Ok(true)
    }

    /// Keys that begin with `prefix`, after `cursor`, in byte order. In that order they lie side by side, from the prefix itself on.
    pub(crate) fn page(&self, prefix: &str, cursor: Option<&str>, limit: u32) -> Result<KeyPage> {
        let mut statement = self.tx.prepare_cached(
            "SELECT key FROM plugin_kv
             WHERE plugin_id = ?1 AND key >= ?2 AND key > ?3 AND (expires_at IS NULL OR expires_at > ?4) ORDER BY key",
        )?;
        // No key is empty, so the empty cursor lies before all of them.
        let mut rows = statement.query((self.id, prefix, cursor.unwrap_or(""), self.now))?;
        let mut keys: Vec<String> = Vec::new();
        while let Some(row) = rows.next()? {
            let key: String = row.get(0)?;
            if !key.starts_with(prefix) {
                break;
            }
            if keys.len() == limit as usize {
                let cursor = keys.last().cloned();
                return Ok(KeyPage { keys, cursor });
            }
            keys.push(key);
        }
        Ok(KeyPage { keys, cursor: None })
    }

    /// Removes a few rows whose time is up.
    pub(crate) fn drop_some_expired(&self) -> Result<()> {
        self.drop_expired(EXPIRED_PER_WRITE)
    }

    fn drop_expired(&self, limit: i64) -> Result<()> {
        self.tx
            .prepare_cached(
                "DELETE FROM plugin_kv WHERE rowid IN (
                     SELECT rowid FROM plugin_kv WHERE plugin_id = ?1 AND expires_at <= ?2 ORDER BY expires_at LIMIT ?3)",
            )?
            .execute((self.id, self.now, limit))?;
        Ok(())
    }

    /// Refuses a value that would bring the plugin above a limit. One that takes something away is welcome even if a lowered limit is
    /// exceeded already.
    fn check_limits(&self, key: &str, value: &[u8], limits: KvLimits) -> Result<()> {
        if self.excess(key, value, limits)?.is_none() {
            return Ok(());
        }
        self.drop_expired(i64::MAX)?;
        let Some(excess) = self.excess(key, value, limits)? else { return Ok(()) };
        let KvLimits { max_bytes, max_keys } = limits;
        let text = match excess {
            Excess::Bytes(after) => {
                format!("key `{key}` would bring the plugin to {after} bytes of keys and values; its quota is {max_bytes}")
            }
            Excess::Keys(after) => format!("key `{key}` would be number {after} of the plugin; its quota is {max_keys} keys"),
        };
        Err(StateError::Limit(text).into())
    }

    /// What would be too much after a write; none: it fits. Reads two rows, however many there are.
    fn excess(&self, key: &str, value: &[u8], limits: KvLimits) -> Result<Option<Excess>> {
        let (used, keys, replaced): (i64, i64, i64) = self
            .tx
            .prepare_cached(
                "SELECT coalesce((SELECT bytes FROM plugin_kv_usage WHERE plugin_id = ?1), 0),
                        coalesce((SELECT keys FROM plugin_kv_usage WHERE plugin_id = ?1), 0),
                        coalesce((SELECT octet_length(key) + octet_length(value) FROM plugin_kv WHERE plugin_id = ?1 AND key = ?2), 0)",
            )?
            .query_row((self.id, key), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let [used, keys, replaced] = [used, keys, replaced].map(|number| u64::try_from(number).unwrap_or(0));
        // No key is empty, so what is replaced has bytes.
        if replaced == 0 && keys >= limits.max_keys {
            return Ok(Some(Excess::Keys(keys + 1)));
        }
        let after = used.saturating_sub(replaced) + (key.len() + value.len()) as u64;
        Ok((after > limits.max_bytes && after > used).then_some(Excess::Bytes(after)))
    }
}

/// What a write would bring the plugin to, where that is too much.
enum Excess {
    /// Bytes of keys and values.
    Bytes(u64),
    /// Keys.
    Keys(u64),
}

fn parse_number(key: &str, value: &[u8]) -> Result<i64> {
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number
        .ok_or_else(|| StateError::Invalid(format!("key `{key}` does not hold a whole number of 64 bits as decimal text")).into())
}
