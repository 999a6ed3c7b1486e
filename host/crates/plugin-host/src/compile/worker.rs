//! The worker's side of a compilation: limits itself, reads one component, writes its code, ends. It opens no file and no socket.

use std::io::{self, BufRead, Read, Write};

use rustix::process::{Resource, Rlimit, Signal, setrlimit};

use super::Job;
use crate::engine;
use crate::inspect::MAX_COMPONENT_BYTES;

/// Exit code of a worker that refuses a component; the reason is on its standard error. `EX_DATAERR` of `sysexits.h`.
pub(super) const MALFORMED: i32 = 65;

/// Threads that compile.
pub(super) const THREADS: usize = 4;

/// Longest first line, in bytes.
const MAX_JOB_BYTES: u64 = 1024;

/// By how much the worker is nicer than the host: agents that run answer meanwhile.
const NICENESS: i32 = 10;

/// Why there is no code.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Nobody who knows the form speaks to it.
    #[error("this command is started by creel itself; what it read is no job: {0}")]
    NoJob(String),
    /// The limits cannot be set, so nothing is compiled.
    #[error("the limits of this process cannot be set: {0}")]
    Limits(io::Error),
    /// The component is refused.
    #[error("{0:#}")]
    Component(wasmtime::Error),
    /// The host is gone.
    #[error("the code cannot be written: {0}")]
    Write(io::Error),
}

impl WorkerError {
    /// Exit code of a worker that ends with it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Component(_) => 65,
            _ => 70,
        }
    }
}

/// Reads one job and its component, limits this process, and writes the compiled code.
///
/// # Errors
/// [`WorkerError`]. A process that is out of memory aborts, one out of time is killed.
pub fn serve(input: impl Read, mut output: impl Write) -> Result<(), WorkerError> {
    let mut input = io::BufReader::new(input);
    let job = job(&mut input).map_err(WorkerError::NoJob)?;
    limit(&job).map_err(WorkerError::Limits)?;
    let mut component = Vec::new();
    input.take(job.component_bytes).read_to_end(&mut component).map_err(|error| WorkerError::NoJob(error.to_string()))?;
    let engine = wasmtime::Engine::new(&engine::config(job.stack_bytes, job.reservation)).map_err(WorkerError::Component)?;
    let code = engine.precompile_component(&component).map_err(WorkerError::Component)?;
    output.write_all(&code).and_then(|()| output.flush()).map_err(WorkerError::Write)
}

fn job(input: &mut impl BufRead) -> Result<Job, String> {
    let mut line = Vec::new();
    input.take(MAX_JOB_BYTES).read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
    let job: Job = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
    if job.component_bytes > MAX_COMPONENT_BYTES as u64 {
        return Err(format!("a component of {} bytes", job.component_bytes));
    }
    Ok(job)
}

fn limit(job: &Job) -> io::Result<()> {
    let at_most = |resource, limit| setrlimit(resource, Rlimit { current: Some(limit), maximum: Some(limit) });
    // Of data, not of address space: what is only reserved costs nothing.
    at_most(Resource::Data, job.memory_bytes)?;
    at_most(Resource::Core, 0)?;
    at_most(Resource::Fsize, 0)?;
    setrlimit(Resource::Cpu, Rlimit { current: Some(job.cpu_seconds), maximum: Some(job.cpu_seconds.saturating_add(1)) })?;
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    rustix::process::nice(NICENESS)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn what_is_no_job_is_refused_before_anything_is_limited() {
        for input in [
            &b""[..],
            b"{}\n",
            b"hello",
            &[b'x'; 5000],
            br#"{"component_bytes":99999999999,"memory_bytes":1,"cpu_seconds":1,"stack_bytes":1,"reservation":1}"#,
        ] {
            let error = serve(input, Vec::new()).unwrap_err();
            assert!(matches!(error, WorkerError::NoJob(_)), "{error}");
            assert_eq!(error.exit_code(), 70);
        }
    }
}
