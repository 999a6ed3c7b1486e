//! Durable key-value store of the plugin; asks for the grant `kv`.
//!
//! It is shared by all instances and sessions of the plugin and kept across restarts and updates. Every function is atomic, and a
//! write that returned is durable. Keys are 1 to 512 bytes of text. Values are kept as JSON, so that [`increment`] and [`get`] fit
//! together; for raw bytes there are [`get_bytes`] and [`set_bytes`].
//!
//! ```
//! use creel_plugin::{Result, kv};
//!
//! fn count(tool: &str) -> Result<i64> {
//!     kv::set("last", &tool)?;
//!     Ok(kv::increment(&format!("calls/{tool}"), 1)?)
//! }
//! # let host = creel_plugin::testing::Host::new();
//! # host.run(|| {
//! assert_eq!(count("exec")?, 1);
//! assert_eq!(count("exec")?, 2);
//! assert_eq!(kv::get::<i64>("calls/exec")?, Some(2));
//! assert_eq!(kv::get::<String>("last")?, Some("exec".to_owned()));
//! assert_eq!(kv::keys("calls/")?, ["calls/exec"]);
//! # Ok::<(), creel_plugin::Error>(())
//! # })?;
//! # Ok::<(), creel_plugin::Error>(())
//! ```

use super::backend;
use crate::error::HostError;
use crate::json_text;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// How often [`update`] tries before it gives up: more rivals for one key than this in one instant mean that the key is a hot spot.
const UPDATE_ATTEMPTS: u32 = 16;

/// Keys that [`keys`] fetches at once: what the host gives at most.
const KEYS_PER_PAGE: u32 = 1000;

/// The value of a key. None: there is no such key, or its time is up.
///
/// # Errors
/// Not granted, or the value does not have the type's shape.
pub fn get<T: DeserializeOwned>(key: &str) -> Result<Option<T>, HostError> {
    get_bytes(key)?.map(|value| json_text::read_stored(key, &value)).transpose()
}

/// Sets a key.
///
/// # Errors
/// Not granted, not a valid key, or `Limit`: the quota is used up.
pub fn set(key: &str, value: &impl Serialize) -> Result<(), HostError> {
    backend::kv_set(key, json_text::write_stored(key, value)?.as_bytes(), None)
}

/// Sets a key that vanishes after a time.
///
/// # Errors
/// As [`set`].
pub fn set_for(key: &str, value: &impl Serialize, time_to_live: Duration) -> Result<(), HostError> {
    let ttl_ms = u64::try_from(time_to_live.as_millis()).unwrap_or(u64::MAX);
    backend::kv_set(key, json_text::write_stored(key, value)?.as_bytes(), Some(ttl_ms))
}

/// Removes a key. False: there was none.
///
/// # Errors
/// Not granted.
pub fn delete(key: &str) -> Result<bool, HostError> {
    backend::kv_delete(key)
}

/// Adds `delta` to a whole number and returns the sum. A missing key counts as 0.
///
/// # Errors
/// Not granted; `Invalid`: the value is not a whole number, or the sum does not fit.
pub fn increment(key: &str, delta: i64) -> Result<i64, HostError> {
    backend::kv_increment(key, delta)
}

/// All keys that begin with `prefix` (empty: all), in byte order.
///
/// # Errors
/// Not granted.
pub fn keys(prefix: &str) -> Result<Vec<String>, HostError> {
    let mut keys = Vec::new();
    let mut cursor = None;
    loop {
        let (page, next) = backend::kv_list(prefix, cursor.as_deref(), KEYS_PER_PAGE)?;
        keys.extend(page);
        if next.is_none() {
            return Ok(keys);
        }
        cursor = next;
    }
}

/// Changes a value that other instances may be changing too: `change` gets the value (None: no such key) and gives the new one
/// (None: remove it). It runs again if another instance was faster, so it must do nothing else.
///
/// ```
/// use creel_plugin::kv;
/// # creel_plugin::testing::Host::new().run(|| {
/// let newest = kv::update("recent", |recent: Option<Vec<String>>| {
///     let mut recent = recent.unwrap_or_default();
///     recent.push("exec".to_owned());
///     Some(recent.split_off(recent.len().saturating_sub(10)))
/// })?;
/// assert_eq!(newest, Some(vec!["exec".to_owned()]));
/// # Ok::<(), creel_plugin::Error>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// As [`get`] and [`set`]; `Unavailable`: others were faster every time.
pub fn update<T: Serialize + DeserializeOwned>(
    key: &str,
    mut change: impl FnMut(Option<T>) -> Option<T>,
) -> Result<Option<T>, HostError> {
    for _ in 0..UPDATE_ATTEMPTS {
        let old = get_bytes(key)?;
        let value = old.as_deref().map(|value| json_text::read_stored(key, value)).transpose()?;
        let new = change(value);
        let text = new.as_ref().map(|value| json_text::write_stored(key, value)).transpose()?;
        if compare_and_set(key, old.as_deref(), text.as_ref().map(String::as_bytes))? {
            return Ok(new);
        }
    }
    Err(HostError::Unavailable(format!("`{key}` changed {UPDATE_ATTEMPTS} times while it was being updated")))
}

/// The bytes of a key. None: there is no such key, or its time is up.
///
/// # Errors
/// Not granted.
pub fn get_bytes(key: &str) -> Result<Option<Vec<u8>>, HostError> {
    backend::kv_get(key)
}

/// Sets a key to bytes that need not be JSON.
///
/// # Errors
/// As [`set`].
pub fn set_bytes(key: &str, value: &[u8]) -> Result<(), HostError> {
    backend::kv_set(key, value, None)
}

/// Sets (`value` given) or removes (`value` absent) a key if it still has the `expected` bytes (absent: if it does not exist).
/// False: it has others, and nothing was changed.
///
/// # Errors
/// As [`set`].
pub fn compare_and_set(key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> Result<bool, HostError> {
    backend::kv_compare_and_set(key, expected, value)
}
