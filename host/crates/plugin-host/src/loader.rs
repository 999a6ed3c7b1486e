//! From the bytes of a component to something that can be instantiated: compiled code (from the cache, or made), then the type of every
//! export, then the link. No guest code runs here.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::PluginId;
use tokio::sync::Semaphore;
use wasmtime::component::{Component, InstancePre};

use crate::cache::{CacheError, CodeCache, ComponentDigest};
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
    progress: Option<LoadProgress>,
    /// One compilation at a time: each one uses all cores by itself, and much memory.
    compiling: Semaphore,
}

impl Loader {
    pub(crate) fn new(engine: &Arc<PluginEngine>, cache: Option<&Path>, progress: Option<LoadProgress>) -> Self {
        let cache = cache.and_then(|directory| match CodeCache::open(directory, engine.wasmtime()) {
            Ok(cache) => Some(Arc::new(cache)),
            Err(error) => {
                warn_no_cache(&error);
                None
            }
        });
        let linkers = Linkers::new(engine.wasmtime());
        Self { engine: Arc::clone(engine), linkers, cache, progress, compiling: Semaphore::new(1) }
    }

    /// Loads a component.
    ///
    /// # Errors
    /// [`StartError`]: a sentence that says what is wrong with the plugin.
    pub(crate) async fn load(&self, source: &ReadyPlugin) -> Result<Loaded, StartError> {
        let component = self.component(source).await?;
        check_types(&component, source)?;
        check_memory(&component, source)?;
        let linker = self.linkers.for_grants(&source.grants).map_err(StartError::Link)?;
        let pre = linker.instantiate_pre(&component).map_err(StartError::Link)?;
        Ok(Loaded { pre, has_tools: export::check_tools(&component)? })
    }

    /// Compiled code from the cache, else compiled now. Both leave the threads of the runtime alone.
    async fn component(&self, source: &ReadyPlugin) -> Result<Component, StartError> {
        if let Some(cache) = &self.cache {
            let (cache, engine, digest) = (Arc::clone(cache), self.engine.wasmtime().clone(), source.digest);
            if let Some(component) = blocking(move || cache.load(&engine, &digest)).await? {
                return Ok(component);
            }
        }
        // The semaphore is never closed.
        let _turn = self.compiling.acquire().await;
        self.tell(LoadStep::CompileStarted { plugin: &source.id, bytes: source.component.len() });
        let started = Instant::now();
        let (cache, engine) = (self.cache.clone(), self.engine.wasmtime().clone());
        let (bytes, digest) = (Arc::clone(&source.component), source.digest);
        let compiled = blocking(move || compile(&engine, &bytes, &digest, cache.as_deref())).await;
        self.tell(LoadStep::CompileFinished { plugin: &source.id, elapsed: started.elapsed() });
        compiled?.map_err(StartError::Compile)
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

/// Compiles, and keeps the code. Code that was kept is mapped from the file, so that its pages are shared and can be dropped.
fn compile(
    engine: &wasmtime::Engine,
    bytes: &[u8],
    digest: &ComponentDigest,
    cache: Option<&CodeCache>,
) -> wasmtime::Result<Component> {
    let Some(cache) = cache else { return Component::from_binary(engine, bytes) };
    let code = engine.precompile_component(bytes)?;
    match cache.store(digest, &code) {
        Ok(()) => {
            if let Some(component) = cache.load(engine, digest) {
                return Ok(component);
            }
        }
        Err(error) => tracing::warn!("compiled code of a plugin could not be kept, it is compiled at every start: {error}"),
    }
    // SAFETY: this engine made the code a moment ago, and it has not left this function.
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

/// What a component needs before its first instruction is known, so an instance that cannot start is not even tried.
fn check_memory(component: &Component, source: &ReadyPlugin) -> Result<(), StartError> {
    let pages = component.resources_required().and_then(|needs| needs.max_initial_memory_size).unwrap_or(0);
    let (needed, limit) = (pages.saturating_mul(WASM_PAGE), source.limits.memory_bytes as u64);
    if needed > limit {
        return Err(StartError::Memory { plugin: source.id.to_string(), needed, limit });
    }
    Ok(())
}
