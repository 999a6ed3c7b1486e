//! Writes to stdout and stderr from one thread, so that a slow reader never slows a run and texts keep their order.

use std::io::{self, Write};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::undisturbed;

/// What to write.
enum Job {
    Out(String),
    Err(String),
    Barrier(oneshot::Sender<io::Result<()>>),
}

/// A thread that writes. Dropping it waits until everything is written.
pub struct Printer {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Printer {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start() -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel();
        let thread = std::thread::Builder::new().name("creel-printer".to_owned()).spawn(move || write_all(&queue))?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Queues text for stdout, as it is.
    pub fn out(&self, text: impl Into<String>) {
        self.queue(Job::Out(text.into()));
    }

    /// Queues text for stderr, as it is.
    pub fn err(&self, text: impl Into<String>) {
        self.queue(Job::Err(text.into()));
    }

    /// Waits until everything that was queued is written.
    ///
    /// # Errors
    /// The first failure of stdout, for example a closed pipe.
    pub async fn barrier(&self) -> io::Result<()> {
        let (done, waiting) = oneshot::channel();
        self.queue(Job::Barrier(done));
        waiting.await.unwrap_or_else(|_| Err(io::Error::other("the printer has stopped")))
    }

    fn queue(&self, job: Job) {
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_all(queue: &mpsc::Receiver<Job>) {
    let mut failed: Option<io::ErrorKind> = None;
    while let Ok(job) = queue.recv() {
        match job {
            Job::Out(text) => {
                if let Err(error) = undisturbed(|| write(io::stdout().lock(), &text)) {
                    failed.get_or_insert(error.kind());
                }
            }
            Job::Err(text) => {
                let _ = undisturbed(|| write(io::stderr().lock(), &text));
            }
            Job::Barrier(done) => {
                let _ = done.send(failed.map_or(Ok(()), |kind| Err(kind.into())));
            }
        }
    }
}

fn write(mut stream: impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}
