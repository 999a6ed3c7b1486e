//! File work off the async threads, stopped when nobody waits for it any more. Never leaves a half-done change: work asks before
//! the step that publishes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::cancel::Cancel;
use domain::tool::ToolFailure;

/// Tells blocking work that it should stop.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// # Errors
    /// [`ToolFailure::Aborted`] when the call was cancelled or dropped.
    pub(crate) fn check(&self) -> Result<(), ToolFailure> {
        if self.0.load(Ordering::Acquire) { Err(ToolFailure::Aborted) } else { Ok(()) }
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Runs `work` on a thread that may block. Cancelling and dropping set its [`Stop`]; after a cancel the work's own answer counts, so
/// that a change that was already made is not reported as aborted.
pub(crate) async fn run<T: Send + 'static>(
    cancel: &Cancel,
    work: impl FnOnce(&Stop) -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    let stop = StopOnDrop(Stop::default());
    let seen_by_work = stop.0.clone();
    let mut task = tokio::task::spawn_blocking(move || {
        seen_by_work.check()?;
        work(&seen_by_work)
    });
    let joined = tokio::select! {
        biased;
        () = cancel.cancelled() => {
            stop.0.set();
            task.await
        }
        joined = &mut task => joined,
    };
    joined.unwrap_or_else(|error| Err(ToolFailure::Failed(format!("the file operation broke off: {error}"))))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use std::sync::mpsc;

    use domain::cancel::CancelReason;

    use super::*;

    /// Works until it is told to stop, and says how it ended.
    fn work_until_stopped(
        started: tokio::sync::oneshot::Sender<()>,
        ended: mpsc::Sender<Result<(), ToolFailure>>,
    ) -> impl FnOnce(&Stop) -> Result<(), ToolFailure> {
        move |stop| {
            started.send(()).unwrap();
            loop {
                if let Err(aborted) = stop.check() {
                    ended.send(Err(aborted.clone())).unwrap();
                    return Err(aborted);
                }
                std::thread::yield_now();
            }
        }
    }

    #[tokio::test]
    async fn cancelling_stops_the_work() {
        let (started_tx, started) = tokio::sync::oneshot::channel();
        let (ended_tx, _ended) = mpsc::channel();
        let cancel = Cancel::default();
        let (result, ()) = tokio::join!(run(&cancel, work_until_stopped(started_tx, ended_tx)), async {
            started.await.unwrap();
            cancel.cancel(CancelReason::User);
        });
        assert_eq!(result, Err(ToolFailure::Aborted));
    }

    #[tokio::test]
    async fn dropping_the_call_stops_the_work() {
        let (started_tx, started) = tokio::sync::oneshot::channel();
        let (ended_tx, ended) = mpsc::channel();
        let cancel = Cancel::default();
        tokio::select! {
            _ = run(&cancel, work_until_stopped(started_tx, ended_tx)) => panic!("nothing told it to stop"),
            _ = started => {}
        }
        assert_eq!(ended.recv().unwrap(), Err(ToolFailure::Aborted));
    }

    #[tokio::test]
    async fn a_panic_of_the_work_is_an_ordinary_failure() {
        let result: Result<(), _> = run(&Cancel::default(), |_| panic!("boom")).await;
        assert!(matches!(result, Err(ToolFailure::Failed(_))), "{result:?}");
    }
}
