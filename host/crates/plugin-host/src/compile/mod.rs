//! Compiling components, which are hostile input for a compiler: in a process of its own with limits on memory and time (`process` here,
//! `worker` there), so that a component that is made to exhaust a compiler takes nothing from the host. Never on the path of a request:
//! components are compiled when plugins are loaded. Nothing here keeps code, that is the work of `cache`.

mod process;
mod worker;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::engine::PluginEngine;
use crate::limits::Limits;

pub use worker::{WorkerError, serve};

/// Where components are compiled.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Compiler {
    /// In this process, without limits: for tools and tests that made their components themselves.
    #[default]
    InProcess,
    /// In a process that calls [`serve`].
    Process {
        /// The program.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<OsString>,
    },
}

/// Why a component was not compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// It is not valid, or uses what this host does not have.
    #[error("{0}")]
    Invalid(String),
    /// It takes too long.
    #[error("compiling takes longer than {} s (limits.compileMs)", .0.as_secs_f32())]
    Time(Duration),
    /// It takes too much memory.
    #[error("compiling takes more than {} MiB of memory (limits.compileMemoryBytes)", .0 >> 20)]
    Memory(u64),
    /// The process that compiles could not be started, or ended without an answer.
    #[error("the process that compiles plugins failed: {0}")]
    Process(String),
}

/// First line of what a worker reads; the component follows.
#[derive(Debug, Serialize, Deserialize)]
struct Job {
    component_bytes: u64,
    memory_bytes: u64,
    cpu_seconds: u64,
    /// What must be the same as in the engine that runs the code.
    stack_bytes: usize,
    reservation: u64,
}

impl Job {
    fn new(component: &[u8], limits: &Limits, engine: &PluginEngine) -> Self {
        Self {
            component_bytes: component.len() as u64,
            memory_bytes: limits.compile_memory_bytes,
            // Of all threads together; the host's own clock ends it earlier.
            cpu_seconds: limits.compile_budget().as_secs().saturating_add(1).saturating_mul(worker::THREADS as u64),
            stack_bytes: engine.stack_bytes(),
            reservation: engine.reservation(),
        }
    }
}

impl Compiler {
    /// Compiles a component for `engine`.
    pub(crate) async fn compile(
        &self,
        engine: &Arc<PluginEngine>,
        component: &Arc<[u8]>,
        limits: &Limits,
    ) -> Result<Vec<u8>, CompileError> {
        match self {
            Self::InProcess => {
                let (engine, component) = (engine.wasmtime().clone(), Arc::clone(component));
                tokio::task::spawn_blocking(move || engine.precompile_component(&component))
                    .await
                    .map_err(|error| CompileError::Process(error.to_string()))?
                    .map_err(|error| CompileError::Invalid(format!("{error:#}")))
            }
            Self::Process { program, arguments } => {
                let job = Job::new(component, limits, engine);
                process::compile(program, arguments, &job, Arc::clone(component), limits.compile_budget()).await
            }
        }
    }
}
