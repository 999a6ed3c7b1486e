//! Runs the policy's command: an environment of its own, one request on standard input, one answer on standard output, and an end in any
//! case. What it leaves running ends with it.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::{Instant, timeout_at};

use super::PolicyCommand;

/// End of its standard error that is told when it fails, in bytes.
const TOLD_BYTES: usize = 400;

/// Bytes that are read at once.
const CHUNK: usize = 8 << 10;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    /// It cannot be started.
    #[error("the command cannot be started: {0}")]
    Start(#[source] io::Error),
    /// It took too long.
    #[error("the command took longer than {} ms", .0.as_millis())]
    Timeout(Duration),
    /// It said nothing for too long.
    #[error("the command wrote nothing for {} ms", .0.as_millis())]
    Silent(Duration),
    /// It said too much.
    #[error("the command wrote more than {0} bytes")]
    TooMuch(usize),
    /// It failed by itself.
    #[error("the command ended with {status}{told}")]
    Exit {
        /// How.
        status: ExitStatus,
        /// What it wrote to standard error.
        told: String,
    },
    /// A pipe broke.
    #[error("the command cannot be talked to: {0}")]
    Pipe(#[source] io::Error),
}

/// Runs the command and gives what it wrote to standard output.
pub(super) async fn run(exec: &PolicyCommand, request: Vec<u8>) -> Result<Vec<u8>, RunError> {
    let mut child = Command::new(&exec.command)
        .args(&exec.args)
        .env_clear()
        .envs(&exec.env)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(RunError::Start)?;
    let _group = Group::of(&child);
    let (output, errors) = talk(&mut child, exec, request).await?;
    let status = child.wait().await.map_err(RunError::Pipe)?;
    if status.success() { Ok(output) } else { Err(RunError::Exit { status, told: told(&errors) }) }
}

/// The process and everything that it started. Ends when this is dropped, after a good end too: nothing outlives the decision.
struct Group(Option<rustix::process::Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // That nobody is left to be killed is the usual case.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// The whole conversation, within all limits; standard output and the end of standard error.
async fn talk(child: &mut Child, exec: &PolicyCommand, request: Vec<u8>) -> Result<(Vec<u8>, Vec<u8>), RunError> {
    let (Some(mut stdin), Some(mut stdout), Some(mut stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(RunError::Pipe(io::ErrorKind::BrokenPipe.into()));
    };
    // A command that does not read its request may still answer; its answer decides.
    let writer = async move {
        let _ = stdin.write_all(&request).await;
    };
    let mut pending = std::pin::pin!(writer);
    let mut is_written = false;
    let start = Instant::now();
    let end = start + exec.timeout;
    let mut quiet_end = start + exec.no_output_timeout;
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let (mut is_open, mut errors_open) = (true, true);
    let mut seen = 0;
    let (mut buffer, mut error_buffer) = (vec![0; CHUNK], vec![0; CHUNK]);
    while is_open || errors_open {
        let turn = async {
            tokio::select! {
                () = &mut pending, if !is_written => Ok(Turn::Written),
                read = read(&mut stdout, &mut buffer), if is_open => read.map(Turn::Output),
                read = read(&mut stderr, &mut error_buffer), if errors_open => read.map(Turn::Error),
            }
        };
        let turn = timeout_at(end.min(quiet_end), turn).await;
        let count = match turn {
            Err(_) if Instant::now() >= end => return Err(RunError::Timeout(exec.timeout)),
            Err(_) => return Err(RunError::Silent(exec.no_output_timeout)),
            Ok(Err(error)) => return Err(RunError::Pipe(error)),
            Ok(Ok(Turn::Written)) => {
                is_written = true;
                continue;
            }
            Ok(Ok(Turn::Output(count))) => {
                is_open = count > 0;
                output.extend_from_slice(&buffer[..count]);
                count
            }
            Ok(Ok(Turn::Error(count))) => {
                errors_open = count > 0;
                errors.extend_from_slice(&error_buffer[..count]);
                count
            }
        };
        seen += count;
        if seen > exec.max_output_bytes {
            return Err(RunError::TooMuch(exec.max_output_bytes));
        }
        if count > 0 {
            quiet_end = Instant::now() + exec.no_output_timeout;
        }
    }
    match timeout_at(end, child.wait()).await {
        Err(_) => Err(RunError::Timeout(exec.timeout)),
        Ok(Err(error)) => Err(RunError::Pipe(error)),
        Ok(Ok(_)) => Ok((output, errors)),
    }
}

/// What happened next.
enum Turn {
    Written,
    Output(usize),
    Error(usize),
}

async fn read(from: &mut (impl AsyncRead + Unpin), buffer: &mut [u8]) -> io::Result<usize> {
    from.read(buffer).await
}

/// The end of what it wrote to standard error, as part of a sentence.
fn told(errors: &[u8]) -> String {
    let end = &errors[errors.len().saturating_sub(TOLD_BYTES)..];
    let text: String = String::from_utf8_lossy(end).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() { text } else { format!(": {text}") }
}
