//! The real clock and the real source of ids. Everything else gets them through ports, so that a run can be replayed.

use std::time::{SystemTime, UNIX_EPOCH};

use domain::ports::{Clock, IdSource};

/// Time of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// UUIDs of version 7: unique, and in the order in which they were made.
#[derive(Debug, Clone, Copy, Default)]
pub struct UuidSource;

impl IdSource for UuidSource {
    fn next_id(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}
