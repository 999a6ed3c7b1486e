//! Reads the answer to one question from the terminal. Stdin is touched only while a question is open: what is typed at any other time
//! belongs to whoever reads after this process, mostly the shell.

use std::io::{self, PipeReader};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::oneshot;

/// Longest line that a terminal hands out at once, in bytes.
const MAX_LINE_BYTES: usize = 4096;

/// Asks, and gives the line that is typed then. What was typed before is an answer to nothing and goes. A question that is given up takes
/// nothing of what is typed later.
///
/// # Errors
/// When the question cannot be shown, or stdin is at its end or no terminal.
pub(super) async fn to(ask: impl FnOnce() -> io::Result<()>) -> io::Result<String> {
    // The thread that waits hears the end of this pipe when this future is dropped.
    let (given_up, _question) = io::pipe()?;
    tcflush(io::stdin(), QueueSelector::IFlush)?;
    ask()?;
    let (line, typed) = oneshot::channel();
    let wait = move || drop(line.send(line_unless(&given_up)));
    std::thread::Builder::new().name("creel-question".to_owned()).spawn(wait)?;
    typed.await.unwrap_or_else(|_| Err(io::ErrorKind::Interrupted.into()))
}

/// Waits for a line. A terminal is shared with other processes, so it stays in blocking mode and is read only when something is there.
fn line_unless(given_up: &PipeReader) -> io::Result<String> {
    let stdin = io::stdin();
    loop {
        let mut waiting = [PollFd::new(given_up, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut waiting, None) {
            Err(Errno::INTR) => continue,
            polled => polled?,
        };
        match waiting.map(|one| !one.revents().is_empty()) {
            [true, _] => return Err(io::ErrorKind::Interrupted.into()),
            [false, true] => return read_line(),
            [false, false] => {}
        }
    }
}

/// One read of a terminal is one line. Past the buffer of the standard library, which would take more.
fn read_line() -> io::Result<String> {
    let mut line = [0; MAX_LINE_BYTES];
    match rustix::io::read(io::stdin(), &mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        count => Ok(String::from_utf8_lossy(&line[..count]).into_owned()),
    }
}
