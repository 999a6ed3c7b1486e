//! Key-value store of the fake host, with the contract's rules: key sizes, quota, time to live, decimal counters, paging.
//!
//! Keeps its own clock, so that tests never wait.

use crate::error::HostError;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

const MAX_KEY_BYTES: usize = 512;
const MAX_PAGE: usize = 1000;
const DEFAULT_QUOTA: usize = 1 << 20;

type Result<T> = std::result::Result<T, HostError>;

/// A value and the moment at which it vanishes.
#[derive(Debug, Clone)]
struct Entry {
    value: Vec<u8>,
    expires: Option<Duration>,
}

/// The store; times are since its creation.
#[derive(Debug)]
pub(super) struct Store {
    entries: BTreeMap<String, Entry>,
    now: Duration,
    quota: usize,
}

impl Default for Store {
    fn default() -> Self {
        Self::with_quota(DEFAULT_QUOTA)
    }
}

impl Store {
    pub(super) fn with_quota(bytes: usize) -> Self {
        Self { entries: BTreeMap::new(), now: Duration::ZERO, quota: bytes }
    }

    pub(super) fn advance(&mut self, time: Duration) {
        self.now += time;
        let now = self.now;
        self.entries.retain(|_, entry| entry.expires.is_none_or(|expires| expires > now));
    }

    pub(super) fn get(&self, key: &str) -> Option<&[u8]> {
        self.entries.get(key).map(|entry| entry.value.as_slice())
    }

    pub(super) fn set(&mut self, key: &str, value: &[u8], ttl_ms: Option<u64>) -> Result<()> {
        let expires = ttl_ms.map(|ms| self.now.saturating_add(Duration::from_millis(ms)));
        self.put(key, value, expires)
    }

    pub(super) fn delete(&mut self, key: &str) -> Result<bool> {
        check_key(key)?;
        Ok(self.entries.remove(key).is_some())
    }

    pub(super) fn list(&self, prefix: &str, cursor: Option<&str>, limit: u32) -> (Vec<String>, Option<String>) {
        let limit = match usize::try_from(limit) {
            Ok(limit @ 1..=MAX_PAGE) => limit,
            _ => MAX_PAGE,
        };
        let start = cursor.map_or(Bound::Included(prefix), Bound::Excluded);
        let mut keys: Vec<_> = self
            .entries
            .range::<str, _>((start, Bound::Unbounded))
            .map(|(key, _)| key)
            .take_while(|key| key.starts_with(prefix))
            .take(limit + 1)
            .cloned()
            .collect();
        let more = keys.len() > limit;
        keys.truncate(limit);
        let cursor = if more { keys.last().cloned() } else { None };
        (keys, cursor)
    }

    pub(super) fn increment(&mut self, key: &str, delta: i64) -> Result<i64> {
        let (old, expires) = match self.entries.get(key) {
            Some(entry) => (decimal(key, &entry.value)?, entry.expires),
            None => (0, None),
        };
        let sum = old.checked_add(delta).ok_or_else(|| HostError::Invalid(format!("`{key}`: the sum does not fit")))?;
        self.put(key, sum.to_string().as_bytes(), expires)?;
        Ok(sum)
    }

    pub(super) fn compare_and_set(&mut self, key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> Result<bool> {
        check_key(key)?;
        if self.get(key) != expected {
            return Ok(false);
        }
        match value {
            Some(value) => {
                let expires = self.entries.get(key).and_then(|entry| entry.expires);
                self.put(key, value, expires)?;
            }
            None => {
                self.entries.remove(key);
            }
        }
        Ok(true)
    }

    fn put(&mut self, key: &str, value: &[u8], expires: Option<Duration>) -> Result<()> {
        check_key(key)?;
        let others: usize =
            self.entries.iter().filter(|(other, _)| *other != key).map(|(other, entry)| other.len() + entry.value.len()).sum();
        if others + key.len() + value.len() > self.quota {
            return Err(HostError::Limit(format!("the quota of {} bytes is used up", self.quota)));
        }
        let value = value.to_vec();
        self.entries.insert(key.to_owned(), Entry { value, expires });
        Ok(())
    }
}

fn check_key(key: &str) -> Result<()> {
    if (1..=MAX_KEY_BYTES).contains(&key.len()) {
        return Ok(());
    }
    Err(HostError::Invalid(format!("a key has 1 to {MAX_KEY_BYTES} bytes, not {}", key.len())))
}

fn decimal(key: &str, value: &[u8]) -> Result<i64> {
    std::str::from_utf8(value)
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| HostError::Invalid(format!("`{key}` is not a whole number")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::Store;
    use crate::error::HostError;
    use std::time::Duration;

    #[test]
    fn a_key_vanishes_when_its_time_is_up() {
        let mut store = Store::default();
        store.set("k", b"1", Some(1000)).unwrap();
        store.advance(Duration::from_millis(999));
        assert_eq!(store.get("k"), Some(&b"1"[..]));
        store.advance(Duration::from_millis(1));
        assert_eq!(store.get("k"), None);
    }

    #[test]
    fn counters_and_compared_writes_keep_the_time_to_live() {
        let mut store = Store::default();
        store.set("k", b"1", Some(10)).unwrap();
        assert_eq!(store.increment("k", 2), Ok(3));
        assert_eq!(store.compare_and_set("k", Some(b"3"), Some(b"4")), Ok(true));
        store.advance(Duration::from_millis(10));
        assert_eq!(store.get("k"), None);
    }

    #[test]
    fn counters_are_decimal_text_and_refuse_anything_else() {
        let mut store = Store::default();
        assert_eq!(store.increment("n", -5), Ok(-5));
        assert_eq!(store.get("n"), Some(&b"-5"[..]));
        store.set("text", b"\"5\"", None).unwrap();
        assert!(matches!(store.increment("text", 1), Err(HostError::Invalid(_))));
        assert_eq!(store.increment("max", i64::MAX), Ok(i64::MAX));
        assert!(matches!(store.increment("max", 1), Err(HostError::Invalid(_))));
    }

    #[test]
    fn a_compared_write_needs_the_expected_value() {
        let mut store = Store::default();
        assert_eq!(store.compare_and_set("k", Some(b"1"), Some(b"2")), Ok(false));
        assert_eq!(store.compare_and_set("k", None, Some(b"1")), Ok(true));
        assert_eq!(store.compare_and_set("k", None, Some(b"2")), Ok(false));
        assert_eq!(store.compare_and_set("k", Some(b"1"), None), Ok(true));
        assert_eq!(store.get("k"), None);
    }

    #[test]
    fn pages_follow_each_other_without_gap_or_overlap() {
        let mut store = Store::default();
        for key in ["a", "p1", "p2", "p3", "q"] {
            store.set(key, b"", None).unwrap();
        }
        let (first, cursor) = store.list("p", None, 2);
        assert_eq!((first, cursor.as_deref()), (vec!["p1".to_owned(), "p2".to_owned()], Some("p2")));
        let (rest, cursor) = store.list("p", cursor.as_deref(), 2);
        assert_eq!((rest, cursor), (vec!["p3".to_owned()], None));
    }

    #[test]
    fn the_quota_counts_keys_and_values_and_frees_what_is_replaced() {
        let mut store = Store::with_quota(4);
        store.set("k", b"123", None).unwrap();
        store.set("k", b"321", None).unwrap();
        assert!(matches!(store.set("k", b"1234", None), Err(HostError::Limit(_))));
        assert!(matches!(store.set("l", b"", None), Err(HostError::Limit(_))));
        assert_eq!(store.get("k"), Some(&b"321"[..]));
    }

    #[test]
    fn keys_have_1_to_512_bytes() {
        let mut store = Store::default();
        assert!(store.set(&"k".repeat(512), b"", None).is_ok());
        assert!(matches!(store.set(&"k".repeat(513), b"", None), Err(HostError::Invalid(_))));
        assert!(matches!(store.set("", b"", None), Err(HostError::Invalid(_))));
    }
}
