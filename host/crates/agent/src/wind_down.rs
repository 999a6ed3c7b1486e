//! Cutting work short. Cancelling is a request: work gets a moment to leave by itself, so that partial text and real results are not
//! lost, and is dropped after that, so that it cannot hold a session (agent-loop 19.2).

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::time::Duration;

use domain::cancel::Cancel;
use futures_util::FutureExt;

/// How long a model stream, a tool or a plugin may still work after its run was asked to stop.
pub const WIND_DOWN: Duration = Duration::from_millis(500);
/// Longest grace that a tool gets on top of it, whatever it declares: the run holds its session that long, and must have time left of its
/// own [`ABORT_GRACE`](crate::run::ABORT_GRACE) to store the end.
pub const MAX_STOP_GRACE: Duration = Duration::from_secs(10);

/// Waits for work that a request to stop cuts short. `None`: it was not begun because the request came before it, or it was dropped
/// because it did not end in time after the request. What came in time is given, whether or not the caller still wants it.
pub(crate) async fn stoppable<T>(cancel: &Cancel, work: impl Future<Output = T>) -> Option<T> {
    stoppable_after(Duration::ZERO, cancel, work).await
}

/// The same for work that declared how long its clean-up may take.
pub(crate) async fn stoppable_after<T>(grace: Duration, cancel: &Cancel, work: impl Future<Output = T>) -> Option<T> {
    if cancel.is_cancelled() {
        return None;
    }
    let mut work = pin!(work);
    tokio::select! {
        biased;
        done = &mut work => return Some(done),
        () = cancel.cancelled() => {}
    }
    tokio::time::timeout(WIND_DOWN + grace.min(MAX_STOP_GRACE), work).await.ok()
}

/// A panic in something that the loop called: a fault of the host, never of its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Panic(pub(crate) String);

/// Keeps a panic inside one piece of work.
pub(crate) async fn caught<T>(work: impl Future<Output = T>) -> Result<T, Panic> {
    AssertUnwindSafe(work).catch_unwind().await.map_err(|panic| Panic(text_of(panic.as_ref())))
}

fn text_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    use domain::cancel::CancelReason;
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_ends_by_itself_or_is_dropped_soon_after_the_request() {
        let stopped_by = async |delay: Duration| {
            let cancel = Cancel::default();
            let work = async {
                cancel.cancel(CancelReason::User);
                tokio::time::sleep(delay).await;
                "mine"
            };
            stoppable(&cancel, work).await
        };
        assert_eq!(stopped_by(WIND_DOWN / 2).await, Some("mine"));
        let started = Instant::now();
        assert_eq!(stopped_by(WIND_DOWN * 2).await, None);
        assert_eq!(started.elapsed(), WIND_DOWN);
    }

    #[tokio::test]
    async fn work_is_not_begun_after_the_request() {
        let cancel = Cancel::default();
        cancel.cancel(CancelReason::User);
        assert_eq!(stoppable(&cancel, async { panic_now() }).await, None);
    }

    #[tokio::test]
    async fn a_panic_stays_inside() {
        assert_eq!(caught(async { panic_now() }).await, Err(Panic("as the test wants".to_owned())));
    }

    #[allow(clippy::panic, reason = "tests")]
    fn panic_now() {
        panic!("as the test wants");
    }
}
