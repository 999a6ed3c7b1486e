//! A thread that owns a database connection and works off jobs in order. SQLite blocks, so no async task ever touches a connection.
//! A job that panics, or a thread that is gone, is an error of the caller, never a hang. Knows nothing of what the jobs do.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

/// Jobs that may wait for one thread. A caller beyond that waits itself, so that a slow disk slows the writers down instead of
/// filling the memory with rows.
const WAITING_JOBS: usize = 256;

type Job = Box<dyn FnOnce(&mut Connection) + Send>;

/// A handle to the thread. When it is dropped, the thread works off what waits and ends by itself.
#[derive(Debug)]
pub(crate) struct Worker {
    orders: mpsc::Sender<Order>,
}

enum Order {
    Run(Job),
    /// Ends the thread; answers when the connection is closed.
    Close(oneshot::Sender<()>),
}

/// Why a job has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoAnswer {
    /// The thread has ended.
    #[error("it was closed, because creel is shutting down")]
    Closed,
    /// The job panicked, or the thread was closed before it came to it.
    #[error("the operation was given up by an internal fault, and nothing of it was stored; the log has the details")]
    Panicked,
}

impl Worker {
    /// Starts a thread, which opens its own connection, and waits until it is open.
    pub(crate) async fn start<E, F>(name: &str, path: &Path, open: F) -> Result<Self, E>
    where
        E: From<std::io::Error> + Send + 'static,
        F: FnOnce(&Path) -> Result<Connection, E> + Send + 'static,
    {
        let (orders, inbox) = mpsc::channel(WAITING_JOBS);
        let (opened, is_open) = oneshot::channel();
        let path = path.to_owned();
        std::thread::Builder::new().name(name.to_owned()).spawn(move || match open(&path) {
            Ok(connection) => {
                if opened.send(Ok(())).is_ok() {
                    serve(connection, inbox, &path);
                }
            }
            Err(error) => drop(opened.send(Err(error))),
        })?;
        is_open.await.unwrap_or_else(|_| Err(std::io::Error::other("opening it panicked; the log has the details").into()))?;
        Ok(Self { orders })
    }

    /// Runs a job on the thread. A caller that goes away after the job was queued does not take it back.
    pub(crate) async fn call<T, F>(&self, job: F) -> Result<T, NoAnswer>
    where
        T: Send + 'static,
        F: FnOnce(&mut Connection) -> T + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        // Nobody listens if the caller went away; what the job did stays done.
        let job: Job = Box::new(move |connection| drop(answer.send(job(connection))));
        self.orders.send(Order::Run(job)).await.map_err(|_| NoAnswer::Closed)?;
        answered.await.map_err(|_| if self.orders.is_closed() { NoAnswer::Closed } else { NoAnswer::Panicked })
    }

    /// Works off what was queued before, closes the connection and ends the thread. Later calls are refused.
    pub(crate) async fn close(&self) {
        let (closed, is_closed) = oneshot::channel();
        if self.orders.send(Order::Close(closed)).await.is_ok() {
            // An error means that somebody else's order closed it first.
            let _ = is_closed.await;
        }
    }
}

fn serve(mut connection: Connection, mut inbox: mpsc::Receiver<Order>, path: &Path) {
    let mut closing = None;
    while let Some(order) = inbox.blocking_recv() {
        match order {
            Order::Run(job) => run(job, &mut connection, path),
            Order::Close(closed) => {
                closing = Some(closed);
                break;
            }
        }
    }
    inbox.close();
    if let Err((_, error)) = connection.close() {
        tracing::warn!(database = %path.display(), %error, "could not close the database; it stays usable");
    }
    drop(inbox);
    if let Some(closed) = closing {
        let _ = closed.send(());
    }
}

/// A panic rolls the job's transaction back while it unwinds, so the connection stays good for the next job.
fn run(job: Job, connection: &mut Connection, path: &Path) {
    if catch_unwind(AssertUnwindSafe(|| job(connection))).is_err() {
        tracing::error!(database = %path.display(), "a database operation panicked; it was rolled back");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;

    async fn memory() -> Worker {
        Worker::start("test", Path::new(":memory:"), |_| {
            Connection::open_in_memory().map_err(|error| std::io::Error::other(error.to_string()))
        })
        .await
        .unwrap()
    }

    #[tokio::test]
    async fn a_panic_is_rolled_back_and_costs_nobody_else_anything() {
        let worker = memory().await;
        worker.call(|c| c.execute_batch("CREATE TABLE t (x INTEGER)").unwrap()).await.unwrap();
        let answer: Result<(), NoAnswer> = worker
            .call(|c| {
                let tx = c.transaction().unwrap();
                tx.execute("INSERT INTO t VALUES (1)", []).unwrap();
                panic!("staged")
            })
            .await;
        assert_eq!(answer, Err(NoAnswer::Panicked));
        let count: i64 = worker.call(|c| c.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()).await.unwrap();
        assert_eq!(count, 0);
    }

    #[tokio::test]
    async fn closing_works_off_what_waits_and_refuses_what_comes_later() {
        let worker = std::sync::Arc::new(memory().await);
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let busy = tokio::spawn({
            let worker = std::sync::Arc::clone(&worker);
            async move { worker.call(move |_| wait.recv().is_ok()).await }
        });
        tokio::task::yield_now().await;
        let mut close = std::pin::pin!(worker.close());
        tokio::select! {
            biased;
            () = &mut close => panic!("closed while a job was running"),
            () = tokio::task::yield_now() => {}
        }
        go.send(()).unwrap();
        close.await;
        assert_eq!(busy.await.unwrap(), Ok(true));
        assert_eq!(worker.call(|_| ()).await, Err(NoAnswer::Closed));
        worker.close().await;
    }

    #[tokio::test]
    async fn an_open_that_fails_or_panics_is_an_error() {
        let failed = Worker::start("test", Path::new("x"), |_| Err(std::io::Error::other("no"))).await;
        assert_eq!(failed.unwrap_err().to_string(), "no");
        let panicked = Worker::start::<std::io::Error, _>("test", Path::new("x"), |_| panic!("staged")).await;
        assert!(panicked.unwrap_err().to_string().contains("panicked"));
    }

    #[tokio::test]
    async fn a_full_queue_makes_the_caller_wait() {
        let worker = std::sync::Arc::new(memory().await);
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let mut jobs = vec![tokio::spawn({
            let worker = std::sync::Arc::clone(&worker);
            async move { worker.call(move |_| wait.recv().is_ok()).await }
        })];
        for _ in 0..WAITING_JOBS + 10 {
            let worker = std::sync::Arc::clone(&worker);
            jobs.push(tokio::spawn(async move { worker.call(|_| true).await }));
        }
        while worker.orders.capacity() > 0 {
            tokio::task::yield_now().await;
        }
        go.send(()).unwrap();
        for job in jobs {
            assert_eq!(job.await.unwrap(), Ok(true));
        }
    }
}
