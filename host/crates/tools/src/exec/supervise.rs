//! From the start of a command to its end: collects output, keeps the time limit, and stops the whole process group: first asked
//! (TERM), then, after a short grace, killed (KILL). Never waits for a process that will not go.

use std::io;
use std::ops::ControlFlow;
use std::process::ExitStatus;
use std::time::Duration;

use domain::cancel::Cancel;
use domain::tool::{Progress, ToolResult};
use rustix::process::Signal;
use tokio::io::AsyncReadExt as _;
use tokio::time::Instant;

use super::capture::Capture;
use super::process::Process;

/// How long a command may clean up after it was asked to end.
pub const STOP_GRACE: Duration = Duration::from_secs(2);
/// How long a killed command is waited for. It cannot refuse; only a process that hangs in the kernel takes longer.
pub const KILL_GRACE: Duration = Duration::from_millis(500);
/// How long output is still taken after the shell ended, while something that it left behind keeps the pipe open.
pub const DRAIN_GRACE: Duration = Duration::from_millis(250);
/// Shortest time between two partial results.
pub const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);
/// Most characters of a partial result: its newest part.
const PROGRESS_CHARS: usize = 4000;
/// Taken from the pipe at once; the size of a pipe.
const READ_BYTES: usize = 64 * 1024;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// By itself.
    Exited(ExitStatus),
    /// It ran longer than allowed.
    TimedOut,
    /// Somebody asked it to stop.
    Aborted,
}

/// What came of a command.
pub(crate) struct Outcome {
    pub(crate) ending: Ending,
    pub(crate) output: Capture,
    /// Whether it left processes behind that still held its output; they were killed.
    pub(crate) left_behind: bool,
}

/// Where a command stands.
#[derive(Debug, Clone, Copy)]
enum Phase {
    /// It works; none: without time limit.
    Running(Option<Instant>),
    /// The shell ended, its output is not closed yet.
    Draining(Instant),
    /// It was asked to end.
    Asked(Instant),
    /// It was killed.
    Killed(Instant),
}

impl Phase {
    fn until(self) -> Option<Instant> {
        match self {
            Self::Running(until) => until,
            Self::Draining(until) | Self::Asked(until) | Self::Killed(until) => Some(until),
        }
    }
}

/// Watches a command until it has ended. Dropping this kills its whole group.
pub(crate) async fn supervise(
    mut process: Process,
    limit: Option<Duration>,
    cancel: &Cancel,
    progress: &dyn Progress,
) -> io::Result<Outcome> {
    // A limit beyond what a clock can hold is none.
    let mut watch = Watch::new(limit.and_then(|limit| Instant::now().checked_add(limit)));
    let mut updates = Updates::new(progress);
    let mut output = Capture::default();
    let mut buffer = vec![0; READ_BYTES];
    while !watch.is_over() {
        // In this order: a flood of output must not keep a limit or the end from being seen.
        tokio::select! {
            biased;
            () = cancel.cancelled(), if watch.stopped.is_none() => watch.stop(Ending::Aborted, &process),
            () = sleep_until(watch.phase.until()) => {
                if watch.time_is_up(&process).is_break() {
                    break;
                }
            }
            status = process.shell.wait(), if watch.status.is_none() => watch.exited(status?),
            read = process.output.read(&mut buffer), if watch.open => match read? {
                0 => watch.open = false,
                length => {
                    output.push(&buffer[..length]);
                    updates.changed(&output);
                }
            },
            () = sleep_until(updates.due()) => updates.send(&output),
        }
    }
    Ok(Outcome { ending: watch.ending()?, output, left_behind: watch.open && watch.stopped.is_none() })
}

struct Watch {
    phase: Phase,
    status: Option<ExitStatus>,
    open: bool,
    stopped: Option<Ending>,
}

impl Watch {
    fn new(until: Option<Instant>) -> Self {
        Self { phase: Phase::Running(until), status: None, open: true, stopped: None }
    }

    fn is_over(&self) -> bool {
        self.status.is_some() && !self.open
    }

    fn stop(&mut self, why: Ending, process: &Process) {
        self.stopped = Some(why);
        process.group.signal(Signal::TERM);
        self.phase = Phase::Asked(Instant::now() + STOP_GRACE);
    }

    fn exited(&mut self, status: ExitStatus) {
        self.status = Some(status);
        if matches!(self.phase, Phase::Running(_)) {
            self.phase = Phase::Draining(Instant::now() + DRAIN_GRACE);
        }
    }

    fn time_is_up(&mut self, process: &Process) -> ControlFlow<()> {
        match self.phase {
            Phase::Running(_) => self.stop(Ending::TimedOut, process),
            Phase::Asked(_) => {
                process.group.signal(Signal::KILL);
                self.phase = Phase::Killed(Instant::now() + KILL_GRACE);
            }
            Phase::Draining(_) | Phase::Killed(_) => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    }

    fn ending(&self) -> io::Result<Ending> {
        let exited = self.status.map(Ending::Exited);
        self.stopped.or(exited).ok_or_else(|| io::Error::other("the command neither ended nor was stopped"))
    }
}

/// Partial results, not more often than [`PROGRESS_INTERVAL`].
struct Updates<'a> {
    sink: &'a dyn Progress,
    next: Instant,
    pending: bool,
}

impl<'a> Updates<'a> {
    fn new(sink: &'a dyn Progress) -> Self {
        Self { sink, next: Instant::now(), pending: false }
    }

    fn changed(&mut self, output: &Capture) {
        self.pending = true;
        if Instant::now() >= self.next {
            self.send(output);
        }
    }

    fn due(&self) -> Option<Instant> {
        self.pending.then_some(self.next)
    }

    fn send(&mut self, output: &Capture) {
        self.pending = false;
        self.next = Instant::now() + PROGRESS_INTERVAL;
        self.sink.update(&ToolResult::text(output.recent(PROGRESS_CHARS)));
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
