//! The socket of one process, `control/<pid>-<random>.sock` in the state directory. Only its owner can reach it: the directory is private. It ends,
//! and the file goes, with the value.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::protocol::{Answer, MAX_REQUEST_BYTES, RELOAD, Request};

/// Requests that wait at once; more wait in the socket.
const WAITING: usize = 8;

/// How long whoever connects may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// Somebody asks for plugins to be loaded again.
#[derive(Debug)]
pub struct ReloadRequest {
    /// Takes what became of it.
    pub answer: oneshot::Sender<Answer>,
}

/// The socket of this process.
#[derive(Debug)]
pub struct Listener {
    path: PathBuf,
    requests: mpsc::Receiver<ReloadRequest>,
    accepting: JoinHandle<()>,
}

impl Listener {
    /// Opens the socket.
    ///
    /// # Errors
    /// When the directory cannot be made private, or the path is too long for a socket.
    pub fn open(state_dir: &Path) -> io::Result<Self> {
        let directory = super::directory(state_dir);
        DirBuilder::new().recursive(true).mode(0o700).create(&directory)?;
        std::fs::set_permissions(&directory, Permissions::from_mode(0o700))?;
        // Two containers that share the directory may have processes of one number.
        // Short, because the whole path has about a hundred bytes.
        let random = hex::encode(&uuid::Uuid::now_v7().as_bytes()[8..]);
        let name = format!("{}-{random}.sock", std::process::id());
        let path = directory.join(name);
        let listener = UnixListener::bind(&path)?;
        let (sender, requests) = mpsc::channel(WAITING);
        Ok(Self { path, requests, accepting: tokio::spawn(accept(listener, sender)) })
    }

    /// The next request. Pending for ever once the socket has failed.
    pub async fn next(&mut self) -> ReloadRequest {
        match self.requests.recv().await {
            Some(request) => request,
            None => std::future::pending().await,
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepting.abort();
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn accept(listener: UnixListener, requests: mpsc::Sender<ReloadRequest>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(tokio::spawn(serve(stream, requests.clone()))),
            Err(error) => {
                tracing::warn!("`creel plugins reload` does not reach this process any more: {error}");
                return;
            }
        }
    }
}

/// Serves one request. Who goes away before the answer is not missed: the reload is done all the same.
async fn serve(mut stream: UnixStream, requests: mpsc::Sender<ReloadRequest>) {
    let answer = match tokio::time::timeout(PATIENCE, request(&mut stream)).await {
        Ok(Ok(())) => reload(&requests).await,
        Ok(Err(problem)) => Answer::refused(problem),
        Err(_) => return,
    };
    let Ok(mut line) = serde_json::to_vec(&answer) else { return };
    line.push(b'\n');
    let _ = stream.write_all(&line).await;
}

async fn request(stream: &mut UnixStream) -> Result<(), String> {
    let mut line = Vec::new();
    let read = BufReader::new(stream).take(MAX_REQUEST_BYTES).read_until(b'\n', &mut line).await;
    read.map_err(|error| format!("the request cannot be read: {error}"))?;
    let request: Request = serde_json::from_slice(&line).map_err(|error| format!("that is no request: {error}"))?;
    if request.command == RELOAD { Ok(()) } else { Err("this version of creel does not know the request".to_owned()) }
}

async fn reload(requests: &mpsc::Sender<ReloadRequest>) -> Answer {
    let (answer, answered) = oneshot::channel();
    let ended = || Answer::refused("the process is ending");
    if requests.send(ReloadRequest { answer }).await.is_err() {
        return ended();
    }
    answered.await.unwrap_or_else(|_| ended())
}
