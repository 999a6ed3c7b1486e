//! The time of one request: one absolute deadline, and phases that may end earlier and never later. Everything that waits in this crate
//! waits here or in [`crate::CappedBody`].

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use crate::error::{Bound, EgressError, Phase};
use crate::limits::Timeouts;
use crate::target::Target;

/// The time that a caller gives. What it does not name is as [`crate::Limits`] say; it can only make it shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    deadline: Instant,
    connect: Duration,
    first_byte: Duration,
    between_bytes: Duration,
}

impl Budget {
    /// Everything until `deadline`, the last byte of the response included.
    pub fn until(deadline: Instant) -> Self {
        Self { deadline, connect: Duration::MAX, first_byte: Duration::MAX, between_bytes: Duration::MAX }
    }

    /// At most this for [`Timeouts::connect`]; absent changes nothing.
    #[must_use]
    pub fn connect(self, limit: Option<Duration>) -> Self {
        Self { connect: self.connect.min(limit.unwrap_or(Duration::MAX)), ..self }
    }

    /// At most this for [`Timeouts::first_byte`]; absent changes nothing.
    #[must_use]
    pub fn first_byte(self, limit: Option<Duration>) -> Self {
        Self { first_byte: self.first_byte.min(limit.unwrap_or(Duration::MAX)), ..self }
    }

    /// At most this for [`Timeouts::between_bytes`]; absent changes nothing.
    #[must_use]
    pub fn between_bytes(self, limit: Option<Duration>) -> Self {
        Self { between_bytes: self.between_bytes.min(limit.unwrap_or(Duration::MAX)), ..self }
    }
}

impl From<Instant> for Budget {
    fn from(deadline: Instant) -> Self {
        Self::until(deadline)
    }
}

/// A budget that has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Schedule {
    end: Cut,
    connect: Duration,
    first_byte: Duration,
    between_bytes: Duration,
}

/// When a phase ends, and because of what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) at: Instant,
    pub(crate) bound: Bound,
}

impl Schedule {
    pub(crate) fn begin(budget: Budget, timeouts: &Timeouts) -> Self {
        let caller = Cut { at: budget.deadline, bound: Bound::Deadline };
        Self {
            end: caller.or_after(timeouts.total),
            connect: budget.connect.min(timeouts.connect),
            first_byte: budget.first_byte.min(timeouts.first_byte),
            between_bytes: budget.between_bytes.min(timeouts.between_bytes),
        }
    }

    /// The end of it all.
    pub(crate) fn end(&self) -> Cut {
        self.end
    }

    /// When a connection must stand that is begun now.
    pub(crate) fn connected(&self) -> Cut {
        self.end.or_after(self.connect)
    }

    /// When the header of the response must be there, if the request went out now.
    pub(crate) fn answered(&self) -> Cut {
        self.end.or_after(self.first_byte)
    }

    /// When the next piece of the body must be there, if somebody waits from now on.
    pub(crate) fn continued(&self) -> Cut {
        self.end.or_after(self.between_bytes)
    }
}

impl Cut {
    /// The earlier of this and `limit` from now.
    fn or_after(self, limit: Duration) -> Self {
        match Instant::now().checked_add(limit) {
            Some(at) if at < self.at => Self { at, bound: Bound::Limit(limit) },
            _ => self,
        }
    }

    /// This or `at`, for the same reason, if that is earlier.
    pub(crate) fn or_at(self, at: Instant) -> Self {
        Self { at: self.at.min(at), ..self }
    }

    /// Whether it has come.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.at
    }

    pub(crate) fn error(&self, phase: Phase, target: &Target) -> EgressError {
        EgressError::Timeout { phase, target: target.clone(), bound: self.bound }
    }

    /// What the future gives, unless the time comes first. A future that would be ready at once is not even begun after its time.
    pub(crate) async fn run<F: Future>(&self, phase: Phase, target: &Target, future: F) -> Result<F::Output, EgressError> {
        if self.is_over() {
            return Err(self.error(phase, target));
        }
        timeout_at(self.at, future).await.map_err(|_| self.error(phase, target))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn every_phase_ends_with_the_deadline_at_the_latest() {
        let deadline = Instant::now() + SECOND;
        let schedule = Schedule::begin(deadline.into(), &Timeouts::default());
        for cut in [schedule.end(), schedule.connected(), schedule.answered(), schedule.continued()] {
            assert_eq!((cut.at, cut.bound), (deadline, Bound::Deadline));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_caller_makes_times_shorter_and_never_longer() {
        let now = Instant::now();
        let limits = Timeouts { connect: 2 * SECOND, first_byte: 3 * SECOND, between_bytes: 4 * SECOND, total: 100 * SECOND };
        let begin = |limit| {
            let budget = Budget::until(now + 1000 * SECOND).connect(limit).first_byte(limit).between_bytes(limit);
            let schedule = Schedule::begin(budget, &limits);
            [schedule.connected(), schedule.answered(), schedule.continued(), schedule.end()].map(|cut| (cut.at - now).as_secs())
        };
        assert_eq!(begin(None), [2, 3, 4, 100]);
        assert_eq!(begin(Some(SECOND)), [1, 1, 1, 100]);
        assert_eq!(begin(Some(Duration::MAX)), [2, 3, 4, 100]);
    }

    #[tokio::test(start_paused = true)]
    async fn times_without_end_are_no_overflow() {
        let forever =
            Timeouts { connect: Duration::MAX, first_byte: Duration::MAX, between_bytes: Duration::MAX, total: Duration::MAX };
        let deadline = Instant::now() + SECOND;
        assert_eq!(Schedule::begin(deadline.into(), &forever).connected().at, deadline);
    }
}
