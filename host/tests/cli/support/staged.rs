//! A process that is watched while it runs, so that a test can act at a certain point. No test sleeps: it waits for words on a stream,
//! and no longer than [`LIMIT`].

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::LIMIT;

/// One of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

/// A running process. Killed when dropped.
pub(crate) struct Staged {
    child: Child,
    stdin: Option<ChildStdin>,
    pieces: Receiver<(Stream, Vec<u8>)>,
    out: Vec<u8>,
    err: Vec<u8>,
}

/// A process that ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Staged {
    /// Starts a process.
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, pieces) = mpsc::channel();
        forward(Stream::Out, child.stdout.take().unwrap(), sender.clone());
        forward(Stream::Err, child.stderr.take().unwrap(), sender);
        let stdin = child.stdin.take();
        Self { child, stdin, pieces, out: Vec::new(), err: Vec::new() }
    }

    /// Waits until stdout holds a text.
    pub(crate) fn until_stdout(&mut self, text: &str) -> &mut Self {
        self.until(Stream::Out, text)
    }

    /// Waits until stderr holds a text.
    pub(crate) fn until_stderr(&mut self, text: &str) -> &mut Self {
        self.until(Stream::Err, text)
    }

    fn until(&mut self, stream: Stream, text: &str) -> &mut Self {
        let deadline = Instant::now() + LIMIT;
        while !self.seen(stream).contains(text) {
            match self.pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(piece) => self.take(piece),
                Err(RecvTimeoutError::Timeout) => panic!("no `{text}` on {stream:?} in time; {}", self.all()),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended without `{text}` on {stream:?}; {}", self.all()),
            }
        }
        self
    }

    /// What came on stdout until now.
    pub(crate) fn stdout(&self) -> String {
        self.seen(Stream::Out)
    }

    /// Writes a line to its stdin.
    pub(crate) fn answer(&mut self, line: &str) -> &mut Self {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
        stdin.flush().unwrap();
        self
    }

    pub(crate) fn signal(&mut self, signal: Signal) -> &mut Self {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        self
    }

    /// Waits for the end.
    pub(crate) fn end(mut self) -> Ended {
        let deadline = Instant::now() + LIMIT;
        // Both streams end when the process does; a process that it leaves behind would keep them open.
        loop {
            match self.pieces.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(piece) => self.take(piece),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end; {}", self.all()),
            }
        }
        let status = self.child.wait().unwrap();
        Ended { status, stdout: self.seen(Stream::Out), stderr: self.seen(Stream::Err) }
    }

    fn take(&mut self, (stream, bytes): (Stream, Vec<u8>)) {
        match stream {
            Stream::Out => self.out.extend(bytes),
            Stream::Err => self.err.extend(bytes),
        }
    }

    fn seen(&self, stream: Stream) -> String {
        let bytes = match stream {
            Stream::Out => &self.out,
            Stream::Err => &self.err,
        };
        String::from_utf8_lossy(bytes).into_owned()
    }

    fn all(&self) -> String {
        format!("stdout: {}\nstderr: {}", self.seen(Stream::Out), self.seen(Stream::Err))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward(stream: Stream, mut source: impl Read + Send + 'static, pieces: Sender<(Stream, Vec<u8>)>) {
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = source.read(&mut buffer) {
            if pieces.send((stream, buffer[..count].to_vec())).is_err() {
                return;
            }
        }
    });
}
