//! From the bytes of a component to something that can be instantiated: compiled code (from the cache, or made), then the type of every
//! export, then the link. No guest code runs here.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::PluginId;
use tokio::sync::Semaphore;
use wasmtime::component::{Component, InstancePre};

use crate::cache::{CacheError, CodeCache, ComponentDigest};
use crate::compile::Compiler;
use crate::engine::PluginEngine;
use crate::error::StartError;
use crate::export;
use crate::linker::Linkers;
use crate::ready::ReadyPlugin;
use crate::state::State;

/// A page of linear memory, in bytes.
const WASM_PAGE: u64 = 64 << 10;

/// What was loaded.
pub(crate) struct Loaded {
    pub(crate) pre: InstancePre<State>,
    pub(crate) has_tools: bool,
}

/// Something that takes long, for a progress display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadStep<'a> {
    /// A plugin is being compiled.
    CompileStarted {
        /// The plugin.
        plugin: &'a PluginId,
        /// Size of its component.
        bytes: usize,
    },
    /// It was compiled, or it did not compile.
    CompileFinished {
        /// The plugin.
        plugin: &'a PluginId,
        /// How long it took.
        elapsed: Duration,
    },
}

/// Takes steps. Must not block.
pub type LoadProgress = Arc<dyn Fn(LoadStep<'_>) + Send + Sync>;

/// Loads components.
pub(crate) struct Loader {
    engine: Arc<PluginEngine>,
    linkers: Linkers,
    cache: Option<Arc<CodeCache>>,
    compiler: Compiler,
    progress: Option<LoadProgress>,
    /// One compilation at a time: each one uses all cores by itself, and much memory.
    compiling: Semaphore,
}

impl Loader {
    pub(crate) fn new(
        engine: &Arc<PluginEngine>,
        cache: Option<&Path>,
        compiler: Compiler,
        progress: Option<LoadProgress>,
    ) -> Self {
        let cache = cache.and_then(|directory| match CodeCache::open(directory, engine.wasmtime()) {
            Ok(cache) => Some(Arc::new(cache)),
            Err(error) => {
                warn_no_cache(&error);
                None
            }
        });
        let linkers = Linkers::new(engine.wasmtime());
        Self { engine: Arc::clone(engine), linkers, cache, compiler, progress, compiling: Semaphore::new(1) }
    }

    /// Loads a component.
    ///
    /// # Errors
    /// [`StartError`]: a sentence that says what is wrong with the plugin.
    pub(crate) async fn load(&self, source: &ReadyPlugin) -> Result<Loaded, StartError> {
        check_size(source)?;
        let component = self.component(source).await?;
        check_types(&component, source)?;
        check_needs(&component, source)?;
        let linker = self.linkers.for_grants(&source.grants).map_err(StartError::Link)?;
        let pre = linker.instantiate_pre(&component).map_err(StartError::Link)?;
        Ok(Loaded { pre, has_tools: export::check_tools(&component)? })
    }

    /// Compiled code from the cache, else compiled now. Both leave the threads of the runtime alone.
    async fn component(&self, source: &ReadyPlugin) -> Result<Component, StartError> {
        // An entry that is there and of no use is not looked at twice, unless somebody may have replaced it.
        let was_there = self.cache.as_ref().is_some_and(|cache| cache.has(&source.digest));
        if let Some(component) = self.kept(source).await? {
            return Ok(component);
        }
        // The semaphore is never closed.
        let _turn = self.compiling.acquire().await;
        let _turn_of_processes = match &self.cache {
            Some(cache) => {
                let turn = cache.turn(source.limits.compile_budget()).await;
                if (turn.has_waited || !was_there)
                    && let Some(component) = self.kept(source).await?
                {
                    return Ok(component);
                }
                Some(turn)
            }
            None => None,
        };
        self.tell(LoadStep::CompileStarted { plugin: &source.id, bytes: source.component.len() });
        let started = Instant::now();
        let code = self.compiler.compile(&self.engine, &source.component, &source.limits).await;
        self.tell(LoadStep::CompileFinished { plugin: &source.id, elapsed: started.elapsed() });
        let (code, cache, engine, digest) = (code?, self.cache.clone(), self.engine.wasmtime().clone(), source.digest);
        blocking(move || keep(&engine, code, &digest, cache.as_deref())).await?.map_err(StartError::Code)
    }

    async fn kept(&self, source: &ReadyPlugin) -> Result<Option<Component>, StartError> {
        let Some(cache) = &self.cache else { return Ok(None) };
        let (cache, engine, digest) = (Arc::clone(cache), self.engine.wasmtime().clone(), source.digest);
        blocking(move || cache.load(&engine, &digest)).await
    }

    fn tell(&self, step: LoadStep<'_>) {
        if let Some(progress) = &self.progress {
            progress(step);
        }
    }
}

fn warn_no_cache(error: &CacheError) {
    let cause = std::error::Error::source(error).map(|cause| format!(" ({cause})")).unwrap_or_default();
    tracing::warn!("plugins are compiled at every start: {error}{cause}");
}

/// Keeps the code. Code that was kept is mapped from the file, so that its pages are shared and can be dropped.
fn keep(
    engine: &wasmtime::Engine,
    code: Vec<u8>,
    digest: &ComponentDigest,
    cache: Option<&CodeCache>,
) -> wasmtime::Result<Component> {
    if let Some(cache) = cache {
        match cache.store(digest, &code) {
            Ok(()) => {
                if let Some(component) = cache.load(engine, digest) {
                    return Ok(component);
                }
            }
            Err(error) => tracing::warn!("compiled code of a plugin could not be kept, it is compiled at every start: {error}"),
        }
    }
    // SAFETY: our own compiler made the code a moment ago, and nobody else could write to it.
    unsafe { Component::deserialize(engine, code) }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, StartError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| StartError::Lost(error.to_string()))
}

/// Every export that is called has the contract's type.
fn check_types(component: &Component, source: &ReadyPlugin) -> Result<(), StartError> {
    for entry in &source.handlers {
        export::check(component, entry.hook)?;
    }
    Ok(())
}

/// Refuses what is larger than the plugin's limit before anything is done with it.
fn check_size(source: &ReadyPlugin) -> Result<(), StartError> {
    within(source, "bytes", source.component.len() as u64, source.limits.component_bytes, "componentBytes")
}

/// What a component needs before its first instruction is known, so an instance that cannot start is not even tried.
fn check_needs(component: &Component, source: &ReadyPlugin) -> Result<(), StartError> {
    let Some(needs) = component.resources_required() else { return Ok(()) };
    let (limits, pages) = (&source.limits, needs.max_initial_memory_size.unwrap_or(0));
    let memory = pages.saturating_mul(WASM_PAGE);
    within(source, "bytes of memory at its start", memory, limits.memory_bytes, "memoryBytes")?;
    within(source, "memories", needs.num_memories.into(), limits.memories, "memories")?;
    within(source, "tables", needs.num_tables.into(), limits.tables, "tables")?;
    let elements = needs.max_initial_table_size.unwrap_or(0);
    within(source, "table elements at its start", elements, limits.table_elements, "tableElements")
}

fn within(source: &ReadyPlugin, what: &'static str, needed: u64, limit: u64, key: &'static str) -> Result<(), StartError> {
    if needed <= limit {
        return Ok(());
    }
    Err(StartError::Needs { plugin: source.id.to_string(), what, needed, limit, key })
}
