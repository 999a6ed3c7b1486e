//! Writes to stdout and stderr, and moves the spinner, from one thread, so that a slow terminal never slows a run and texts keep their
//! order. What waits is bounded: pieces of one stream are joined, and what may be left out is refused once too much waits.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::{Output, Spinner, undisturbed};

/// Most bytes that wait before texts that may be left out are refused. Some screens full: who reads more slowly has lost touch anyway.
pub(super) const MAX_WAITING_BYTES: usize = 64 * 1024;

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// What is done to the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Act {
    /// Writes a text, as it is.
    Write(Stream, String),
    /// Shows a spinner with a text in place of the one before; none: takes it away.
    Spin(Option<String>),
}

/// What to do next.
#[derive(Debug)]
enum Job {
    Act(Act),
    Answer(oneshot::Sender<io::Result<()>>),
}

/// What waits to be done.
#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Bytes in it.
    bytes: usize,
    is_closed: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    has_work: Condvar,
}

/// A thread that writes. When it is dropped the thread writes what waits and ends; [`Printer::barrier`] waits for it.
pub struct Printer {
    shared: Arc<Shared>,
}

impl Printer {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub fn start(output: Output) -> io::Result<Self> {
        let mut spinner = None;
        Self::acting(move |act| match act {
            Act::Write(Stream::Out, text) => undisturbed(|| write(io::stdout().lock(), text)),
            Act::Write(Stream::Err, text) => undisturbed(|| write(io::stderr().lock(), text)),
            Act::Spin(text) => {
                // The one before must be gone when the next one is drawn.
                drop(spinner.take());
                spinner = text.as_deref().map(|text| Spinner::start(&output, text));
                Ok(())
            }
        })
    }

    /// Starts the thread with something that acts.
    pub(super) fn acting(act: impl FnMut(&Act) -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        std::thread::Builder::new().name("creel-printer".to_owned()).spawn(move || own.work_off(act))?;
        Ok(Self { shared })
    }

    /// Queues text that must be written, as it is. Whoever queues much of it waits for [`Printer::barrier`] before the next.
    pub fn write(&self, stream: Stream, text: &str) {
        self.shared.queue().push(stream, text);
        self.shared.has_work.notify_one();
    }

    /// Queues text that may be left out. False: too much waits already, and it was left out.
    pub fn offer(&self, stream: Stream, text: &str) -> bool {
        let mut queue = self.shared.queue();
        let has_room = queue.bytes + text.len() <= MAX_WAITING_BYTES;
        if has_room {
            queue.push(stream, text);
            self.shared.has_work.notify_one();
        }
        has_room
    }

    /// Queues a spinner, or its end.
    pub fn spin(&self, text: Option<String>) {
        self.shared.queue().spin(text);
        self.shared.has_work.notify_one();
    }

    /// Waits until everything that was queued is written.
    ///
    /// # Errors
    /// The first failure of stdout, for example a closed pipe.
    pub async fn barrier(&self) -> io::Result<()> {
        let (done, waiting) = oneshot::channel();
        self.shared.queue().jobs.push_back(Job::Answer(done));
        self.shared.has_work.notify_one();
        waiting.await.unwrap_or_else(|_| Err(io::Error::other("the printer has stopped")))
    }
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.shared.queue().is_closed = true;
        self.shared.has_work.notify_one();
    }
}

impl Queue {
    fn push(&mut self, stream: Stream, text: &str) {
        self.bytes += text.len();
        match self.jobs.back_mut() {
            Some(Job::Act(Act::Write(last, waiting))) if *last == stream => waiting.push_str(text),
            _ => self.jobs.push_back(Job::Act(Act::Write(stream, text.to_owned()))),
        }
    }

    fn spin(&mut self, text: Option<String>) {
        match self.jobs.back_mut() {
            Some(Job::Act(Act::Spin(waiting))) => *waiting = text,
            _ => self.jobs.push_back(Job::Act(Act::Spin(text))),
        }
    }

    fn pop(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front()?;
        if let Job::Act(Act::Write(_, text)) = &job {
            self.bytes -= text.len();
        }
        Some(job)
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Each change is one step, so a panic between two leaves nothing half done.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        loop {
            match queue.pop() {
                Some(job) => return Some(job),
                None if queue.is_closed => return None,
                None => queue = self.has_work.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn work_off(&self, mut act: impl FnMut(&Act) -> io::Result<()>) {
        let mut failed: Option<io::Error> = None;
        while let Some(job) = self.next() {
            match job {
                Job::Act(next) => {
                    let done = act(&next);
                    failed = failed.or(done.err().filter(|_| matches!(next, Act::Write(Stream::Out, _))));
                }
                Job::Answer(done) => {
                    let _ = done.send(failed.as_ref().map_or(Ok(()), |error| Err(copy(error))));
                }
            }
        }
    }
}

/// The same error once more: each barrier tells the first one.
fn copy(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

fn write(mut stream: impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::mpsc::{self, Receiver, Sender};

    use super::*;

    /// A terminal that does one thing each time it is told to.
    fn slow_terminal() -> (Printer, Sender<()>, Receiver<Act>) {
        let (go, may_go) = mpsc::channel();
        let (seen, sees) = mpsc::channel();
        let printer = Printer::acting(move |act| {
            seen.send(act.clone()).unwrap();
            may_go.recv().map_err(|_| io::ErrorKind::BrokenPipe.into())
        });
        (printer.unwrap(), go, sees)
    }

    fn out(text: &str) -> Act {
        Act::Write(Stream::Out, text.to_owned())
    }

    #[test]
    fn what_waits_is_bounded_and_joined_however_slow_the_terminal_is() {
        let (printer, go, sees) = slow_terminal();
        printer.write(Stream::Out, "first");
        assert_eq!(sees.recv().unwrap(), out("first"));
        // The terminal stands still from here on.
        let taken = (0..1_000_000).filter(|_| printer.offer(Stream::Out, "0123456789abcdef")).count();
        assert_eq!(taken * 16, MAX_WAITING_BYTES);
        assert!(!printer.offer(Stream::Err, "note"));
        assert_eq!(printer.shared.queue().jobs.len(), 1);
        printer.write(Stream::Out, "last");
        printer.write(Stream::Err, "note");
        go.send(()).unwrap();
        let joined = sees.recv().unwrap();
        assert!(
            matches!(&joined, Act::Write(Stream::Out, text) if text.len() == MAX_WAITING_BYTES + 4 && text.ends_with("last"))
        );
        go.send(()).unwrap();
        assert_eq!(sees.recv().unwrap(), Act::Write(Stream::Err, "note".to_owned()));
        assert!(printer.offer(Stream::Out, "there is room again"));
    }

    #[test]
    fn of_spinners_that_wait_only_the_newest_is_shown() {
        let (printer, go, sees) = slow_terminal();
        printer.write(Stream::Out, "first");
        assert_eq!(sees.recv().unwrap(), out("first"));
        for number in 0..1000 {
            printer.spin(Some(number.to_string()));
        }
        printer.write(Stream::Out, "text");
        printer.spin(None);
        drop(printer);
        (0..4).for_each(|_| go.send(()).unwrap());
        let rest: Vec<Act> = sees.iter().collect();
        assert_eq!(rest, [Act::Spin(Some("999".to_owned())), out("text"), Act::Spin(None)]);
    }

    #[tokio::test]
    async fn a_barrier_tells_the_first_failure_of_stdout_and_none_of_stderr() {
        let printer = Printer::acting(|act| match act {
            Act::Write(Stream::Out, text) if text == "bad" => Err(io::Error::from_raw_os_error(28)),
            Act::Write(Stream::Err, _) => Err(io::ErrorKind::BrokenPipe.into()),
            _ => Ok(()),
        })
        .unwrap();
        printer.write(Stream::Err, "nobody reads this");
        assert!(printer.barrier().await.is_ok());
        for text in ["bad", "good"] {
            printer.write(Stream::Out, text);
            let error = printer.barrier().await.unwrap_err();
            assert!(error.to_string().contains("No space left"), "{error}");
        }
    }

    #[test]
    fn what_waits_is_written_after_the_drop() {
        let (printer, go, sees) = slow_terminal();
        printer.write(Stream::Out, "one");
        printer.write(Stream::Err, "two");
        drop(printer);
        (0..2).for_each(|_| go.send(()).unwrap());
        let all: Vec<Act> = sees.iter().collect();
        assert_eq!(all, [out("one"), Act::Write(Stream::Err, "two".to_owned())]);
    }
}
