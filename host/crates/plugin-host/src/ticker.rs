//! The clock of the guests: one thread per engine that moves the epoch on, so that a guest in a loop gives its thread back at every
//! tick and can be stopped. It knows nothing of deadlines; each store looks at its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use wasmtime::EngineWeak;

/// How long the clock may stand still before guests are refused. A guest that starts under a clock that stands still could not be
/// stopped. Longer than any scheduling delay on a loaded machine.
pub(crate) const STALE_AFTER: Duration = Duration::from_millis(500);

/// How long a call waits for a clock that stands still: after a suspend of the machine it only needs to get its turn.
pub(crate) const REVIVAL: Duration = Duration::from_millis(500);

/// Why the clock could not be started.
#[derive(Debug, thiserror::Error)]
#[error("the thread that stops runaway plugins could not be started")]
pub struct TickerError(#[from] std::io::Error);

/// The thread; stopped and joined on drop.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    period: Duration,
}

struct Shared {
    started: Instant,
    /// Milliseconds from `started` to the last tick.
    last_tick_ms: AtomicU64,
    stop: AtomicBool,
}

impl Ticker {
    pub(crate) fn start(engine: EngineWeak, period: Duration) -> Result<Self, TickerError> {
        let shared = Arc::new(Shared { started: Instant::now(), last_tick_ms: AtomicU64::new(0), stop: AtomicBool::new(false) });
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("plugin-clock".to_owned()).spawn(move || of_thread.run(&engine, period))?;
        Ok(Self { shared, thread: Some(thread), period })
    }

    /// Time between two ticks.
    pub(crate) fn period(&self) -> Duration {
        self.period
    }

    /// Whether the clock moved lately.
    pub(crate) fn is_alive(&self) -> bool {
        self.was_alive_at(Instant::now())
    }

    /// The same, seen from another time.
    pub(crate) fn was_alive_at(&self, now: Instant) -> bool {
        let last = Duration::from_millis(self.shared.last_tick_ms.load(Ordering::Relaxed));
        now.saturating_duration_since(self.shared.started).saturating_sub(last) < STALE_AFTER
    }

    /// Stops the clock and leaves everything else as it is.
    #[cfg(test)]
    pub(crate) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    fn run(&self, engine: &EngineWeak, period: Duration) {
        while !self.stop.load(Ordering::Relaxed) {
            std::thread::sleep(period);
            let Some(engine) = engine.upgrade() else { return };
            engine.increment_epoch();
            let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            self.last_tick_ms.store(elapsed, Ordering::Relaxed);
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was its own end already.
            let _ = thread.join();
        }
    }
}
