//! The two clocks of a model call: the longest silence, which each piece starts anew, and the whole time.

use std::time::Duration;

use tokio::time::{Instant, timeout_at};

/// Limits of one call. Both use tokio's time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch {
    idle: Option<Duration>,
    total: Option<(Duration, Instant)>,
}

/// Which clock ran out, and how long it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expired {
    /// Nothing came.
    Idle(Duration),
    /// The whole call took too long.
    Total(Duration),
}

impl Watch {
    /// Starts the total clock.
    pub(crate) fn start(idle: Option<Duration>, total: Option<Duration>) -> Self {
        let end = |limit: Duration| Instant::now().checked_add(limit).map(|end| (limit, end));
        Self { idle, total: total.and_then(end) }
    }

    /// The same, with a silence of at most `window`.
    pub(crate) fn with_idle_below(self, window: Option<Duration>) -> Self {
        let idle = [self.idle, window].into_iter().flatten().min();
        Self { idle, ..self }
    }

    /// The same without the limit on silence, for waits that this side chose.
    pub(crate) fn without_idle(self) -> Self {
        Self { idle: None, ..self }
    }

    /// Waits for some work as long as both clocks allow.
    pub(crate) async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, Expired> {
        let idle = self.idle.and_then(|limit| Some((Instant::now().checked_add(limit)?, Expired::Idle(limit))));
        let total = self.total.map(|(limit, end)| (end, Expired::Total(limit)));
        match [idle, total].into_iter().flatten().min_by_key(|(end, _)| *end) {
            None => Ok(work.await),
            Some((end, expired)) => timeout_at(end, work).await.map_err(|_| expired),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn the_earlier_clock_decides() {
        let watch = Watch::start(Some(2 * SECOND), Some(3 * SECOND));
        assert_eq!(watch.within(pending::<()>()).await, Err(Expired::Idle(2 * SECOND)));
        assert_eq!(watch.within(pending::<()>()).await, Err(Expired::Total(3 * SECOND)));
    }

    #[tokio::test(start_paused = true)]
    async fn each_wait_starts_the_silence_anew() {
        let watch = Watch::start(Some(2 * SECOND), None);
        for _ in 0..10 {
            assert_eq!(watch.within(advance(SECOND + SECOND / 2)).await, Ok(()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_shorter_window_wins_and_no_limit_waits() {
        let watch = Watch::start(Some(9 * SECOND), None);
        assert_eq!(watch.with_idle_below(Some(SECOND)).within(pending::<()>()).await, Err(Expired::Idle(SECOND)));
        assert_eq!(watch.with_idle_below(None).within(pending::<()>()).await, Err(Expired::Idle(9 * SECOND)));
        assert_eq!(watch.without_idle().within(advance(100 * SECOND)).await, Ok(()));
    }
}
