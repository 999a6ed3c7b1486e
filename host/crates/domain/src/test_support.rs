//! Fakes of the ports for tests: a clock that stands still, counted ids, sinks that remember, sessions and circuits in memory. Never used
//! outside tests.

mod memory_circuits;
mod memory_sent_keys;
mod memory_sessions;

pub use memory_circuits::MemoryCircuits;
pub use memory_sent_keys::MemorySentKeys;
pub use memory_sessions::MemorySessions;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;

use crate::event::{EventSink, RunEvent};
use crate::ports::{Channel, Clock, IdSource, Outbound, SendFailure, SendResult};

/// A clock that moves only when told.
#[derive(Debug, Default)]
pub struct FakeClock(AtomicU64);

impl FakeClock {
    /// Starts at a time.
    pub fn at(now_ms: u64) -> Self {
        Self(AtomicU64::new(now_ms))
    }

    /// Moves forward.
    pub fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for FakeClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Ids `<prefix>-1`, `<prefix>-2`, ….
#[derive(Debug)]
pub struct CountedIds {
    prefix: &'static str,
    next: AtomicU64,
}

impl CountedIds {
    /// Counts from 1.
    pub fn new(prefix: &'static str) -> Self {
        Self { prefix, next: AtomicU64::new(1) }
    }
}

impl IdSource for CountedIds {
    fn next_id(&self) -> String {
        format!("{}-{}", self.prefix, self.next.fetch_add(1, Ordering::SeqCst))
    }
}

/// A channel that remembers what was sent, and refuses texts that hold `refuse`.
#[derive(Debug, Default)]
pub struct FakeChannel {
    sent: Mutex<Vec<Outbound>>,
    /// Texts that hold this are refused.
    pub refuse: Option<String>,
}

impl FakeChannel {
    /// What was sent so far.
    pub fn sent(&self) -> Vec<Outbound> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Channel for FakeChannel {
    fn id(&self) -> &str {
        "fake"
    }

    async fn send(&self, message: &Outbound) -> SendResult {
        if self.refuse.as_deref().is_some_and(|refused| message.content.contains(refused)) {
            return Err(SendFailure("the channel refused the message".to_owned()));
        }
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.push(message.clone());
        Ok(Some(format!("m{}", sent.len())))
    }
}

/// Remembers events.
#[derive(Debug, Default)]
pub struct RecordedEvents(Mutex<Vec<RunEvent>>);

impl RecordedEvents {
    /// Events so far.
    pub fn all(&self) -> Vec<RunEvent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl EventSink for RecordedEvents {
    fn emit(&self, event: RunEvent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }
}
