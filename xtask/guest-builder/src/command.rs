//! Runs other programs: with a time limit, without a terminal, each line told to the caller. Never goes through a shell.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::progress::{Progress, Report};

/// How many of the last lines an error quotes: enough for one compiler error.
const QUOTED_LINES: usize = 40;

/// How long a program that has ended may keep us waiting for more output. A child of it may hold the pipe open for ever.
const SILENCE: Duration = Duration::from_millis(200);

/// Why a program did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It is not installed, or may not be run.
    #[error("cannot start `{program}`")]
    Start {
        /// The program.
        program: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// It reported a failure.
    #[error("`{command}` failed with {status}:\n{output}")]
    Failed {
        /// The command, as one would type it.
        command: String,
        /// Its exit status.
        status: ExitStatus,
        /// The last lines that it printed.
        output: String,
    },
    /// It took too long and was ended.
    #[error("`{command}` did not end within {seconds} s and was stopped", seconds = limit.as_secs())]
    TimedOut {
        /// The command, as one would type it.
        command: String,
        /// The time that it had.
        limit: Duration,
    },
    /// The system lost track of it.
    #[error("cannot wait for `{command}`")]
    Wait {
        /// The command, as one would type it.
        command: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// What the standard output of a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stdout {
    /// An answer for us: returned, not told.
    Answer,
    /// Talk for people: told like standard error.
    Talk,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

/// Runs `command` to its end and returns its standard output. It gets no input.
pub(crate) fn run(mut command: Command, stdout: Stdout, limit: Duration, report: Report<'_>) -> Result<String, CommandError> {
    let typed = typed(&command);
    let deadline = Instant::now() + limit;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| CommandError::Start { program: program(&command), source })?;
    let lines = lines_of(&mut child);

    let mut answer = String::new();
    let mut tail = VecDeque::new();
    let status = wait(&mut child, &lines, deadline, |stream, line| {
        if stream == Stream::Out {
            answer.push_str(&line);
            answer.push('\n');
            if stdout == Stdout::Answer {
                return;
            }
        }
        report(Progress::Output(&line));
        if tail.len() == QUOTED_LINES {
            tail.pop_front();
        }
        tail.push_back(line);
    });
    match status {
        Ok(Some(status)) if status.success() => Ok(answer),
        Ok(Some(status)) => Err(CommandError::Failed { command: typed, status, output: Vec::from(tail).join("\n") }),
        Ok(None) => Err(CommandError::TimedOut { command: typed, limit }),
        Err(source) => Err(CommandError::Wait { command: typed, source }),
    }
}

/// The command as one would type it, without its environment.
pub(crate) fn typed(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

fn program(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

fn lines_of(child: &mut Child) -> Receiver<(Stream, String)> {
    let (sender, lines) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        forward(out, Stream::Out, sender.clone());
    }
    if let Some(err) = child.stderr.take() {
        forward(err, Stream::Err, sender);
    }
    lines
}

/// Sends each line of `pipe` until the pipe is closed or nobody listens any more.
fn forward(pipe: impl Read + Send + 'static, stream: Stream, sender: Sender<(Stream, String)>) {
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        while pipe.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            if sender.send((stream, text)).is_err() {
                break;
            }
            line.clear();
        }
    });
}

/// `None` if the deadline passed; the child has ended in every case.
fn wait(
    child: &mut Child,
    lines: &Receiver<(Stream, String)>,
    deadline: Instant,
    mut each: impl FnMut(Stream, String),
) -> std::io::Result<Option<ExitStatus>> {
    let mut open = true;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        match next(lines, open, left.min(SILENCE)) {
            Ok((stream, line)) => each(stream, line),
            Err(silence) => {
                open &= silence == RecvTimeoutError::Timeout;
                if let Some(status) = child.try_wait()? {
                    return Ok(Some(status));
                }
            }
        }
    }
}

/// The next line. Once both pipes are closed there is only the end of the program to wait for, which is a matter of moments.
fn next(lines: &Receiver<(Stream, String)>, open: bool, limit: Duration) -> Result<(Stream, String), RecvTimeoutError> {
    if !open {
        thread::sleep(limit.min(Duration::from_millis(5)));
        return Err(RecvTimeoutError::Disconnected);
    }
    lines.recv_timeout(limit)
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::cell::RefCell;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn answer_is_returned_and_only_talk_is_told() {
        let heard = RefCell::new(Vec::new());
        let report = |progress: Progress<'_>| heard.borrow_mut().push(format!("{progress:?}"));
        let answer = run(shell("echo one; echo talk >&2; echo two"), Stdout::Answer, LONG, &report).unwrap();
        assert_eq!(answer, "one\ntwo\n");
        assert_eq!(*heard.borrow(), [r#"Output("talk")"#]);
    }

    #[test]
    fn talk_on_standard_output_is_told() {
        let heard = RefCell::new(Vec::new());
        let report = |progress: Progress<'_>| heard.borrow_mut().push(format!("{progress:?}"));
        run(shell("echo one"), Stdout::Talk, LONG, &report).unwrap();
        assert_eq!(*heard.borrow(), [r#"Output("one")"#]);
    }

    #[test]
    fn failure_quotes_the_last_lines() {
        let error =
            run(shell("for i in $(seq 100); do echo line $i >&2; done; exit 3"), Stdout::Answer, LONG, &|_| {}).unwrap_err();
        let CommandError::Failed { status, output, .. } = error else { unreachable!("{error}") };
        assert_eq!(status.code(), Some(3));
        assert!(output.starts_with("line 61\n") && output.ends_with("line 100"), "{output}");
    }

    #[test]
    fn program_that_never_ends_is_stopped() {
        let error = run(shell("exec tail -f /dev/null"), Stdout::Answer, Duration::from_millis(30), &|_| {}).unwrap_err();
        assert!(matches!(error, CommandError::TimedOut { .. }), "{error}");
    }

    #[test]
    fn child_that_keeps_the_pipe_open_does_not_hold_us_up() {
        let answer = run(shell("tail -f /dev/null & echo $!"), Stdout::Answer, LONG, &|_| {}).unwrap();
        let mut kill = Command::new("kill");
        kill.arg(answer.trim());
        run(kill, Stdout::Answer, LONG, &|_| {}).unwrap();
    }

    #[test]
    fn missing_program_is_named() {
        let error = run(Command::new("no-such-program"), Stdout::Answer, LONG, &|_| {}).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `no-such-program`");
    }
}
