//! The host's side of a compilation: starts the worker, hands it the component, takes the code, and ends it when its time is up. It never
//! trusts what the worker says about an error beyond showing it, in one bounded line.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use hooks::fault::one_line;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::worker::{MALFORMED, THREADS};
use super::{CompileError, Job};

/// Most compiled code that is taken, in bytes: some ten times the largest component.
const MAX_CODE_BYTES: u64 = 640 << 20;

/// Most text of an error that is read, in bytes.
const MAX_ERROR_BYTES: u64 = 16 << 10;

/// Text of an error that is shown, in bytes.
const SHOWN_BYTES: usize = 1024;

pub(super) async fn compile(
    program: &Path,
    arguments: &[OsString],
    job: &Job,
    component: Arc<[u8]>,
    budget: Duration,
) -> Result<Vec<u8>, CompileError> {
    // Dropping the child kills it, so a load that is given up leaves nothing behind.
    let child = start(program, arguments).map_err(|error| CompileError::Process(format!("{}: {error}", program.display())))?;
    match tokio::time::timeout(budget, talk(child, job, &component)).await {
        Ok(Ok(ended)) => ended.result(job.memory_bytes, budget),
        Ok(Err(error)) => Err(CompileError::Process(error.to_string())),
        Err(_) => Err(CompileError::Time(budget)),
    }
}

fn start(program: &Path, arguments: &[OsString]) -> std::io::Result<Child> {
    Command::new(program)
        .args(arguments)
        .env_clear()
        // Of both the process would otherwise reserve memory per core of the machine.
        .env("RAYON_NUM_THREADS", THREADS.to_string())
        .env("MALLOC_ARENA_MAX", "2")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// How a worker ended.
struct Ended {
    status: ExitStatus,
    code: Vec<u8>,
    error: String,
}

async fn talk(mut child: Child, job: &Job, component: &[u8]) -> std::io::Result<Ended> {
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let send = async {
        if let Some(mut stdin) = stdin {
            let mut first_line = serde_json::to_vec(job)?;
            first_line.push(b'\n');
            // A worker that ends early says why; that it does not read on is no news.
            let _ = stdin.write_all(&first_line).await;
            let _ = stdin.write_all(component).await;
        }
        std::io::Result::Ok(())
    };
    let (sent, code, error) = tokio::join!(send, read(stdout, MAX_CODE_BYTES), read(stderr, MAX_ERROR_BYTES));
    sent?;
    let (code, error) = (code?, error?);
    let status = child.wait().await?;
    Ok(Ended { status, code, error: String::from_utf8_lossy(&error).into_owned() })
}

/// Reads to the end, and keeps the first `most` bytes.
async fn read(from: Option<impl AsyncRead + Unpin>, most: u64) -> std::io::Result<Vec<u8>> {
    let mut kept = Vec::new();
    if let Some(mut from) = from {
        (&mut from).take(most).read_to_end(&mut kept).await?;
        tokio::io::copy(&mut from, &mut tokio::io::sink()).await?;
    }
    Ok(kept)
}

impl Ended {
    fn result(self, memory_bytes: u64, budget: Duration) -> Result<Vec<u8>, CompileError> {
        let text = || one_line(self.error.trim(), SHOWN_BYTES);
        match (self.status.code(), self.status.signal()) {
            (Some(0), _) if !self.code.is_empty() && (self.code.len() as u64) < MAX_CODE_BYTES => Ok(self.code),
            (Some(MALFORMED), _) => Err(CompileError::Invalid(text())),
            (_, Some(libc::SIGXCPU)) => Err(CompileError::Time(budget)),
            // What Rust and the system do when there is no more memory.
            (_, Some(libc::SIGABRT)) if self.error.contains("memory allocation of") => Err(CompileError::Memory(memory_bytes)),
            (_, Some(libc::SIGKILL)) => Err(CompileError::Memory(memory_bytes)),
            _ => Err(CompileError::Process(format!("{}; {}", self.status, text()))),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    async fn shell(script: &str, budget: Duration) -> Result<Vec<u8>, CompileError> {
        let job = Job { component_bytes: 3, memory_bytes: 1 << 30, cpu_seconds: 10, stack_bytes: 0, reservation: 0 };
        let arguments = ["-c".into(), script.into()];
        compile(Path::new("/bin/sh"), &arguments, &job, Arc::from(&b"abc"[..]), budget).await
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn a_worker_gets_the_component_and_gives_code() {
        assert_eq!(shell("read -r job; cat", LONG).await.unwrap(), b"abc");
        let inherited = shell("env | grep -v -e ^RAYON -e ^MALLOC -e ^PWD -e ^OLDPWD -e ^SHLVL -e ^_= ; echo end", LONG).await;
        assert_eq!(inherited.unwrap(), b"end\n");
    }

    #[tokio::test]
    async fn every_end_of_a_worker_is_told_as_what_it_is() {
        let gone = |status: &str| CompileError::Process(status.to_owned());
        for (script, error) in [
            ("echo 'bad\nbody' >&2; exit 65", CompileError::Invalid("bad body".to_owned())),
            ("echo 'memory allocation of 9 bytes failed' >&2; kill -ABRT $$", CompileError::Memory(1 << 30)),
            ("kill -KILL $$", CompileError::Memory(1 << 30)),
            ("kill -XCPU $$", CompileError::Time(LONG)),
            ("exit 3", gone("exit status: 3; ")),
            ("exit 0", gone("exit status: 0; ")),
        ] {
            assert_eq!(shell(script, LONG).await.unwrap_err(), error, "{script}");
        }
    }

    #[tokio::test]
    async fn a_worker_that_takes_too_long_is_ended() {
        let short = Duration::from_millis(50);
        assert_eq!(shell("exec sleep 600", short).await.unwrap_err(), CompileError::Time(short));
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_named() {
        let job = Job { component_bytes: 0, memory_bytes: 0, cpu_seconds: 1, stack_bytes: 0, reservation: 0 };
        let error = compile(Path::new("/nowhere"), &[], &job, Arc::from(&b""[..]), LONG).await.unwrap_err();
        assert!(error.to_string().contains("/nowhere: "), "{error}");
    }
}
