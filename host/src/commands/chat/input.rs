//! Lines from stdin. One is read only when it is asked for: at any other time the terminal belongs to whoever asks a question there.

use std::io::{self, BufRead, Read};
use std::sync::mpsc;

use tokio::sync::oneshot;

use crate::exit::Failure;

/// Longest message, in bytes. A message is a prompt, not a data set.
const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// What was typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// A message or a command, without the end of its line.
    Line(String),
    /// The end of the input.
    End,
}

/// Lines from stdin.
pub(super) struct Input {
    wanted: mpsc::Sender<oneshot::Sender<io::Result<Vec<u8>>>>,
    /// A line that was asked for and has not come.
    coming: Option<oneshot::Receiver<io::Result<Vec<u8>>>>,
    /// Lines of a message that goes on.
    begun: String,
}

impl Input {
    /// Starts the thread that reads. It ends with the process: a read of a terminal cannot be given up.
    pub(super) fn start() -> io::Result<Self> {
        Self::of(|| io::stdin().lock())
    }

    fn of<R: BufRead>(source: impl Fn() -> R + Send + 'static) -> io::Result<Self> {
        let (wanted, wishes) = mpsc::channel::<oneshot::Sender<io::Result<Vec<u8>>>>();
        std::thread::Builder::new().name("creel-input".to_owned()).spawn(move || {
            for wish in wishes {
                let _ = wish.send(line(&mut source()));
            }
        })?;
        Ok(Self { wanted, coming: None, begun: String::new() })
    }

    /// Whether a message has begun that the next line belongs to.
    pub(super) fn is_within(&self) -> bool {
        !self.begun.is_empty()
    }

    /// The next message. May be given up and called again; nothing is lost.
    ///
    /// # Errors
    /// When stdin cannot be read, is not UTF-8, or a message is too long.
    pub(super) async fn next(&mut self) -> Result<Typed, Failure> {
        loop {
            let coming = match &mut self.coming {
                Some(coming) => coming,
                None => {
                    let (wish, coming) = oneshot::channel();
                    // If the thread is gone, so is what would answer.
                    let _ = self.wanted.send(wish);
                    self.coming.insert(coming)
                }
            };
            let read = coming.await.unwrap_or_else(|_| Err(io::ErrorKind::UnexpectedEof.into()));
            self.coming = None;
            let bytes = read.map_err(|error| Failure::usage(format!("stdin cannot be read: {error}")))?;
            if let Some(typed) = self.take(bytes)? {
                return Ok(typed);
            }
        }
    }

    /// Adds a line; gives the message if it is whole.
    fn take(&mut self, bytes: Vec<u8>) -> Result<Option<Typed>, Failure> {
        if bytes.is_empty() {
            let rest = std::mem::take(&mut self.begun);
            return Ok(Some(if rest.is_empty() { Typed::End } else { Typed::Line(rest) }));
        }
        let line = String::from_utf8(bytes)
            .map_err(|_| Failure::usage("a line of stdin is not UTF-8").hint("convert it, for example with `iconv -t UTF-8`"))?;
        let line = line.strip_suffix('\n').unwrap_or(&line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let (line, goes_on) = line.strip_suffix('\\').map_or((line, false), |line| (line, true));
        self.begun.push_str(line);
        if self.begun.len() > MAX_MESSAGE_BYTES {
            return Err(Failure::usage(format!("a message is longer than {} MiB", MAX_MESSAGE_BYTES >> 20))
                .hint("put the material into a file of the workspace and name that file in the message"));
        }
        if goes_on {
            self.begun.push('\n');
            return Ok(None);
        }
        Ok(Some(Typed::Line(std::mem::take(&mut self.begun))))
    }
}

/// A line with its end; empty: there is no more. One that is too long comes in part, which is too long still.
fn line(source: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    source.take(MAX_MESSAGE_BYTES as u64 + 2).read_until(b'\n', &mut line)?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::io::{BufReader, Cursor};
    use std::sync::{Arc, Mutex};

    use super::*;

    /// Reads a shared text line by line, as stdin is.
    struct Shared(Arc<Mutex<Cursor<Vec<u8>>>>);

    impl Read for Shared {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            // A byte at a time, so that a buffer takes nothing of the next line.
            let one = buffer.len().min(1);
            self.0.lock().unwrap().read(&mut buffer[..one])
        }
    }

    fn input(text: impl Into<Vec<u8>>) -> Input {
        let text = Arc::new(Mutex::new(Cursor::new(text.into())));
        Input::of(move || BufReader::with_capacity(1, Shared(Arc::clone(&text)))).unwrap()
    }

    fn message(text: &str) -> Typed {
        Typed::Line(text.to_owned())
    }

    #[tokio::test]
    async fn each_line_is_a_message_and_a_backslash_goes_on() {
        let mut input = input("one\r\n\ntwo\\\nthree\nlast\\\n");
        for expected in [message("one"), message(""), message("two\nthree"), message("last\n"), Typed::End] {
            assert_eq!(input.next().await.unwrap(), expected);
        }
    }

    #[tokio::test]
    async fn a_line_that_was_given_up_comes_at_the_next_call() {
        let mut input = input("one\n");
        tokio::select! {
            biased;
            () = std::future::ready(()) => {}
            _ = input.next() => {}
        }
        assert_eq!(input.next().await.unwrap(), message("one"));
    }

    #[tokio::test]
    async fn what_is_no_message_is_refused() {
        assert!(input(b"\xff\n").next().await.unwrap_err().message.contains("UTF-8"));
        assert!(input(vec![b'x'; MAX_MESSAGE_BYTES + 1]).next().await.unwrap_err().message.contains("4 MiB"));
        assert_eq!(input(vec![b'x'; MAX_MESSAGE_BYTES]).next().await.unwrap(), message(&"x".repeat(MAX_MESSAGE_BYTES)));
    }
}
