//! How much all calls of one plugin together may write to the log, and how often it is told that something was dropped: a plugin that
//! floods must not flood through the lines that say so.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Time over which text is counted, and between two lines about what was dropped.
const WINDOW: Duration = Duration::from_secs(60);

/// What a line costs beside its text: time, level and plugin are written too.
const LINE_BYTES: u64 = 64;

/// Records and bytes that were not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Dropped {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

/// The log of one plugin, all its instances together.
pub(crate) struct LogRate {
    bytes_per_window: u64,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    /// When the window began, and what was written since.
    began: Option<Instant>,
    written: u64,
    /// When drops were told last, and what was dropped since.
    told: Option<Instant>,
    untold: Dropped,
}

impl LogRate {
    pub(crate) fn new(bytes_per_window: u64) -> Self {
        Self { bytes_per_window, counts: Mutex::default() }
    }

    /// Takes a record with so much text from the budget; false: it must not be written.
    pub(crate) fn spend(&self, text: usize) -> bool {
        let now = Instant::now();
        let mut counts = self.counts.lock();
        if counts.began.is_none_or(|began| now.duration_since(began) >= WINDOW) {
            (counts.began, counts.written) = (Some(now), 0);
        }
        let sum = counts.written.saturating_add(text as u64).saturating_add(LINE_BYTES);
        if sum > self.bytes_per_window {
            return false;
        }
        counts.written = sum;
        true
    }

    /// Adds what a call dropped. Gives what is to be told now, if it is time.
    pub(crate) fn dropped(&self, dropped: Dropped) -> Option<Dropped> {
        let now = Instant::now();
        let mut counts = self.counts.lock();
        counts.untold.records += dropped.records;
        counts.untold.bytes += dropped.bytes;
        if counts.told.is_some_and(|told| now.duration_since(told) < WINDOW) {
            return None;
        }
        counts.told = Some(now);
        Some(std::mem::take(&mut counts.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_window_has_so_many_bytes_and_then_a_new_one_begins() {
        let rate = LogRate::new(3 * (LINE_BYTES + 36));
        assert_eq!([(); 4].map(|()| rate.spend(36)), [true, true, true, false]);
        tokio::time::advance(WINDOW).await;
        assert!(rate.spend(36));
        assert!(!LogRate::new(0).spend(0));
    }

    #[tokio::test(start_paused = true)]
    async fn drops_are_told_once_per_window_and_none_is_forgotten() {
        let (rate, one) = (LogRate::new(0), Dropped { records: 1, bytes: 10 });
        assert_eq!(rate.dropped(one), Some(one));
        assert_eq!(rate.dropped(one), None);
        tokio::time::advance(WINDOW).await;
        assert_eq!(rate.dropped(one), Some(Dropped { records: 2, bytes: 20 }));
    }
}
