//! Work that nobody waits for: observers, and the clean-up of runs whose future was dropped. It is owned here, so that it ends with the
//! agent, and observers are bounded, so that slow plugins cannot pile them up without end.

use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Observer dispatches under way at once; more are dropped with a log line, because an observer must never slow a run.
pub const MAX_PENDING: usize = 1024;

/// Tasks that nobody waits for.
#[derive(Default)]
pub struct Background(Mutex<State>);

#[derive(Default)]
struct State {
    tasks: JoinSet<()>,
    /// Ends when the newest observer has started.
    newest_started: Option<oneshot::Receiver<()>>,
}

impl Background {
    /// Starts an observer. Observers start in the order of these calls, and none waits for the end of another. `what` names it in the
    /// log if there are too many.
    pub fn observe(&self, what: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        if Handle::try_current().is_err() {
            return tracing::warn!(what, "an observer was left out: the runtime is gone");
        }
        let mut state = self.state();
        while state.tasks.try_join_next().is_some() {}
        if state.tasks.len() >= MAX_PENDING {
            return tracing::warn!(what, limit = MAX_PENDING, "too many observers are under way; this one was left out");
        }
        let (has_started, started) = oneshot::channel();
        let before = state.newest_started.replace(started);
        state.tasks.spawn(in_turn(before, has_started, task));
    }

    /// Does what must be done whether or not anybody waits. False: there is no runtime to do it.
    pub fn finish(&self, task: impl Future<Output = ()> + Send + 'static) -> bool {
        if Handle::try_current().is_err() {
            return false;
        }
        self.state().tasks.spawn(task);
        true
    }

    /// Waits for all tasks, those included that others start on their way, at most `limit`; those that have not ended are aborted.
    /// `late` names them in the log.
    pub async fn settle(&self, limit: Duration, late: impl Fn() -> String) {
        let deadline = tokio::time::Instant::now() + limit;
        loop {
            let mut tasks = std::mem::take(&mut self.state().tasks);
            if tasks.is_empty() {
                return;
            }
            let all = async { while tasks.join_next().await.is_some() {} };
            if tokio::time::timeout_at(deadline, all).await.is_err() {
                let late = late();
                tracing::warn!("not waited for any longer, after {} s: {late}", limit.as_secs());
            }
        }
    }

    /// Whether no task is under way.
    pub fn is_idle(&self) -> bool {
        let mut state = self.state();
        while state.tasks.try_join_next().is_some() {}
        state.tasks.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs a task, but begins it only when the one before it has begun. A task that ended or panicked has begun.
async fn in_turn(before: Option<oneshot::Receiver<()>>, has_started: oneshot::Sender<()>, task: impl Future<Output = ()>) {
    if let Some(before) = before {
        // An error means that the sender was dropped, which is how a start is told.
        let _ = before.await;
    }
    let mut task = pin!(task);
    let mut has_started = Some(has_started);
    std::future::poll_fn(|context| {
        let polled = task.as_mut().poll(context);
        drop(has_started.take());
        polled
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn settling_is_bounded() {
        let background = Background::default();
        background.observe("test", std::future::pending());
        let started = tokio::time::Instant::now();
        let asked = std::cell::Cell::new(0);
        let late = || {
            asked.set(asked.get() + 1);
            "plugin (hook)".to_owned()
        };
        background.settle(Duration::from_secs(30), late).await;
        assert_eq!((started.elapsed(), asked.get()), (Duration::from_secs(30), 1));
    }

    #[tokio::test]
    async fn a_flood_of_observers_is_cut_but_clean_up_is_not() {
        let background = Background::default();
        for _ in 0..MAX_PENDING + 10 {
            background.observe("test", std::future::pending());
        }
        assert_eq!(background.state().tasks.len(), MAX_PENDING);
        assert!(background.finish(async {}));
        assert_eq!(background.state().tasks.len(), MAX_PENDING + 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn observers_start_in_order_and_none_waits_for_the_end_of_another() {
        let background = Background::default();
        let order: Arc<Mutex<Vec<usize>>> = Arc::default();
        let last_one: Arc<tokio::sync::Notify> = Arc::default();
        for number in 0..200 {
            let (order, last_one) = (Arc::clone(&order), Arc::clone(&last_one));
            background.observe("test", async move {
                order.lock().unwrap_or_else(PoisonError::into_inner).push(number);
                match number {
                    7 => std::panic::resume_unwind(Box::new("a panic stops no other")),
                    50 => last_one.notified().await,
                    199 => last_one.notify_one(),
                    _ => {}
                }
            });
        }
        background.settle(Duration::from_secs(60), String::new).await;
        assert_eq!(*order.lock().unwrap_or_else(PoisonError::into_inner), (0..200).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn settling_waits_for_what_a_task_starts() {
        let background: Arc<Background> = Arc::default();
        let (told, hears) = oneshot::channel();
        let inner = Arc::clone(&background);
        background.finish(async move {
            tokio::task::yield_now().await;
            inner.observe("test", async move {
                let _ = told.send(());
            });
        });
        background.settle(Duration::from_secs(30), String::new).await;
        assert_eq!(hears.await, Ok(()));
    }

    #[test]
    fn without_a_runtime_nothing_is_started() {
        let background = Background::default();
        background.observe("test", async {});
        assert!(!background.finish(async {}));
    }
}
