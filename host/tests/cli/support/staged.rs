//! A process that is watched while it runs, so that a test can act at a certain point. No test sleeps: it waits for words on a stream, or
//! for a command of the run that rings a [`Bell`], and no longer than [`LIMIT`].

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use super::{Bed, LIMIT};

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
    /// Where the binary's process id is, if it is not the process that was started.
    pid_file: Option<PathBuf>,
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
        Self { child, stdin, pid_file: None, pieces, out: Vec::new(), err: Vec::new() }
    }

    /// Starts the binary on a terminal of its own, with these variables on top of the bed's. `script` of util-linux lends the terminal;
    /// stdout has what is on it, both streams in their order.
    pub(crate) fn on_terminal(bed: &Bed, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::in_shell(bed, arguments, variables, |binary| format!("exec {binary}"))
    }

    /// The same within a line for a shell, which `line` makes of the command.
    pub(crate) fn in_shell(bed: &Bed, arguments: &[&str], variables: &[(&str, &str)], line: impl FnOnce(&str) -> String) -> Self {
        let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
        let plain = bed.process(arguments);
        let words = [plain.get_program()].into_iter().chain(plain.get_args());
        let words: Vec<String> = words.map(|word| quoted(word.to_str().unwrap())).collect();
        let pid_file = bed.temporary().join("pid");
        let line = format!("echo $$ > {}; {}", quoted(pid_file.to_str().unwrap()), line(&words.join(" ")));
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env_clear().current_dir(bed.work());
        script.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        script.env("SHELL", "/bin/sh").envs(variables.iter().copied());
        let mut started = Self::start(script);
        started.pid_file = Some(pid_file);
        started
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

    /// Sends a signal to the binary.
    pub(crate) fn signal(&mut self, signal: Signal) -> &mut Self {
        let pid = match &self.pid_file {
            Some(file) => fs::read_to_string(file).unwrap().trim().parse().unwrap(),
            None => i32::try_from(self.child.id()).unwrap(),
        };
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
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

/// A pipe in the workspace that a command of a run rings with `echo > bell`, which waits until somebody hears it.
pub(crate) struct Bell(Receiver<()>);

impl Bell {
    /// Hangs the bell up; before the run starts.
    pub(crate) fn hang(bed: &Bed) -> Self {
        fs::create_dir_all(bed.workspace()).unwrap();
        let path = bed.workspace().join("bell");
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (sender, heard) = mpsc::channel();
        // The pipe ends with each command, unless the next one has opened it by then.
        thread::spawn(move || {
            while let Ok(pipe) = File::open(&path) {
                if BufReader::new(pipe).lines().any(|_| sender.send(()).is_err()) {
                    return;
                }
            }
        });
        Self(heard)
    }

    /// Waits until it is rung once more.
    pub(crate) fn wait(&self) {
        self.0.recv_timeout(LIMIT).expect("the run rings the bell in time");
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
