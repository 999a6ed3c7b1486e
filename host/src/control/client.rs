//! Tells the processes that work with a state directory to load their plugins again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::protocol::{Answer, MAX_ANSWER_BYTES, RELOAD, Request};

/// How long one process may take: plugins may have to be compiled.
const PATIENCE: Duration = Duration::from_secs(600);

/// A process and what it answered.
#[derive(Debug)]
pub struct Told {
    /// Its id.
    pub process: u32,
    /// What it answered.
    pub answer: Answer,
}

/// Tells all processes, one after the other. Sockets of processes that were killed are taken away.
///
/// # Errors
/// When the directory cannot be read. A process that does not answer is among the answers.
pub async fn reload(state_dir: &Path) -> io::Result<Vec<Told>> {
    let mut told = Vec::new();
    for (process, path) in sockets(&super::directory(state_dir))? {
        let stream = match UnixStream::connect(&path).await {
            Ok(stream) => stream,
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let _ = std::fs::remove_file(&path);
                continue;
            }
            // It has ended since the directory was read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                told.push(Told { process, answer: Answer::refused(format!("it cannot be reached: {error}")) });
                continue;
            }
        };
        let answer = match tokio::time::timeout(PATIENCE, ask(stream)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => Answer::refused(format!("it does not answer: {error}")),
            Err(_) => Answer::refused(format!("it has not answered within {} s", PATIENCE.as_secs())),
        };
        told.push(Told { process, answer });
    }
    Ok(told)
}

async fn ask(mut stream: UnixStream) -> io::Result<Answer> {
    let mut line = serde_json::to_vec(&Request { command: RELOAD.to_owned() })?;
    line.push(b'\n');
    stream.write_all(&line).await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await?;
    if answer.is_empty() {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it ended before it answered"));
    }
    Ok(serde_json::from_slice(&answer)?)
}

/// Process ids and sockets, lowest first.
fn sockets(directory: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut sockets = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".sock"));
        if let Some(process) = name.and_then(|name| name.split('-').next()?.parse().ok()) {
            sockets.push((process, path));
        }
    }
    sockets.sort();
    Ok(sockets)
}
