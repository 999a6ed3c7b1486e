//! The one wasmtime engine of the process: how guests are compiled, where their memory comes from, and how many may live. It knows
//! neither plugins nor hooks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::limits::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_MEMORY_BYTES, MAX_TABLE_ELEMENTS, MAX_TABLES, size};
use crate::ticker::{REVIVAL, Ticker, TickerError};

/// Instances that may live at the same time, in all plugins and runs together, if nobody names a number: ten plugins in 25 runs.
/// An untouched one costs address space only, a used one some 50 KiB beside its memory.
pub const DEFAULT_LIVE_INSTANCES: u32 = 256;

/// Time between two ticks of the guests' clock: the longest that a guest holds a thread, and the most by which one outlives its
/// deadline. Shorter ticks cost wake-ups of an idle host.
pub const DEFAULT_TICK: Duration = Duration::from_millis(5);

/// Address space of one memory slot, so that a 32-bit guest needs no bounds checks.
const RESERVATION: u64 = 4 << 30;

/// Memory of one guest where address space is scarce, in bytes.
const SCARCE_MEMORY_BYTES: usize = 256 << 20;

/// Native stack of guest code, in bytes, if nobody names a size: some thousand frames of compiled code.
pub const DEFAULT_STACK_BYTES: usize = 512 << 10;

/// Largest native stack of guest code, in bytes; each live instance has room for one.
pub const MAX_STACK_BYTES: usize = 8 << 20;

/// Smallest native stack of guest code, in bytes.
pub const MIN_STACK_BYTES: usize = 64 << 10;

/// Stack that the host functions which a guest calls need below it, in bytes.
const HOST_STACK: usize = 512 << 10;

/// Of a memory that goes back to the pool, the part that is cleared by writing instead of by the kernel.
const KEEP_RESIDENT: usize = 1 << 20;

/// Frames of a backtrace that are kept; a fault text shows the first of them.
const BACKTRACE_FRAMES: usize = 16;

/// What can be tuned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineSettings {
    /// Instances that may live at the same time.
    pub live_instances: u32,
    /// Time between two ticks.
    pub tick: Duration,
    /// Native stack of guest code, in bytes.
    pub stack_bytes: usize,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self { live_instances: DEFAULT_LIVE_INSTANCES, tick: DEFAULT_TICK, stack_bytes: DEFAULT_STACK_BYTES }
    }
}

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// wasmtime refused.
    #[error("the WebAssembly engine could not be started: {0:#}")]
    Start(wasmtime::Error),
    /// There is no clock.
    #[error(transparent)]
    Ticker(#[from] TickerError),
}

/// Why a call could not be given an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Saturated {
    #[error("all {0} plugin instances of the host are in use")]
    Host(u32),
    #[error("the clock that stops runaway plugins stands still; restart the host")]
    NoClock,
}

/// Engine, clock and the count of live instances.
pub(crate) struct PluginEngine {
    // The clock goes first, so that its thread is gone before the engine is.
    ticker: Ticker,
    engine: Engine,
    live: Arc<Semaphore>,
    live_limit: u32,
    stack_bytes: usize,
    reservation: u64,
}

impl PluginEngine {
    pub(crate) fn start(settings: EngineSettings) -> Result<Self, EngineError> {
        let live_limit = settings.live_instances.clamp(1, 10_000);
        let stack_bytes = settings.stack_bytes.clamp(MIN_STACK_BYTES, MAX_STACK_BYTES);
        let (engine, reservation) = build(live_limit, stack_bytes)?;
        let ticker = Ticker::start(engine.weak(), settings.tick.clamp(Duration::from_millis(1), Duration::from_millis(50)))?;
        Ok(Self { ticker, engine, live: Arc::new(Semaphore::new(live_limit as usize)), live_limit, stack_bytes, reservation })
    }

    pub(crate) fn wasmtime(&self) -> &Engine {
        &self.engine
    }

    /// Native stack of guest code, in bytes.
    pub(crate) fn stack_bytes(&self) -> usize {
        self.stack_bytes
    }

    /// Address space of one memory slot, in bytes.
    pub(crate) fn reservation(&self) -> u64 {
        self.reservation
    }

    pub(crate) fn tick(&self) -> Duration {
        self.ticker.period()
    }

    #[cfg(test)]
    pub(crate) fn stop_clock(&self) {
        self.ticker.stop();
    }

    /// Refuses if the clock stands still, after it had a moment to go on. `now`: the time of a moment ago, if it is known; asking for
    /// it costs as much as the rest of this.
    pub(crate) async fn require_clock(&self, now: Option<Instant>) -> Result<(), Saturated> {
        if now.is_some_and(|now| self.ticker.was_alive_at(now.into_std())) || self.ticker.is_alive() {
            return Ok(());
        }
        let patience = Instant::now() + REVIVAL;
        while Instant::now() < patience {
            tokio::time::sleep(self.tick()).await;
            if self.ticker.is_alive() {
                return Ok(());
            }
        }
        Err(Saturated::NoClock)
    }

    /// A place in the pool, waited for until `deadline`.
    pub(crate) async fn place(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Saturated> {
        if let Ok(place) = Arc::clone(&self.live).try_acquire_owned() {
            return Ok(place);
        }
        match tokio::time::timeout_at(deadline, Arc::clone(&self.live).acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(Saturated::Host(self.live_limit)),
        }
    }

    /// Places in the pool that are taken.
    pub(crate) fn live_instances(&self) -> u32 {
        self.live_limit.saturating_sub(u32::try_from(self.live.available_permits()).unwrap_or(u32::MAX))
    }

    /// Whether idle instances should be dropped rather than kept, so that they never fill the pool.
    pub(crate) fn is_crowded(&self) -> bool {
        self.live.available_permits() < (self.live_limit as usize).div_ceil(4)
    }
}

/// Tries the full reservation first. A host with little address space (a container with a limit on virtual memory) gets smaller
/// slots, and is told.
fn build(live: u32, stack: usize) -> Result<(Engine, u64), EngineError> {
    let full = pooled(live, stack, RESERVATION, size(MAX_MEMORY_BYTES));
    let error = match Engine::new(&full) {
        Ok(engine) => return Ok((engine, RESERVATION)),
        Err(error) => error,
    };
    tracing::warn!(
        "address space is scarce: plugins get at most {} MiB of memory each and run slower; raise the limit on virtual memory \
         (`ulimit -v`) to change that ({error:#})",
        SCARCE_MEMORY_BYTES >> 20
    );
    let scarce = SCARCE_MEMORY_BYTES as u64;
    let engine = Engine::new(&pooled(live, stack, scarce, SCARCE_MEMORY_BYTES)).map_err(EngineError::Start)?;
    Ok((engine, scarce))
}

fn pooled(live: u32, stack: usize, reservation: u64, memory_bytes: usize) -> Config {
    let mut config = config(stack, reservation);
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(live, memory_bytes)));
    config
}

/// What decides how code is compiled, the same for an engine that runs it and for one that only compiles.
pub(crate) fn config(stack: usize, reservation: u64) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // Component-model async costs every call, and no interface of the contract uses it.
        .concurrency_support(false)
        .epoch_interruption(true)
        // Epochs stop a guest for a fifth of what fuel costs.
        .consume_fuel(false)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false)
        .max_wasm_stack(stack)
        .async_stack_size(stack + HOST_STACK)
        .async_stack_zeroing(true)
        .memory_init_cow(true)
        .memory_reservation(reservation)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(BACKTRACE_FRAMES));
    config
}

/// Sizes of the pool. Each live instance has a store of its own, so it needs one component, one stack, and as many core instances,
/// memories and tables as one may have: if there were fewer, plugins with many would keep others out. What is not touched is address
/// space only.
fn pool(live: u32, memory_bytes: usize) -> PoolingAllocationConfig {
    let per_component = |limit: u64| u32::try_from(limit).unwrap_or(u32::MAX);
    let total = |limit: u64| live.saturating_mul(per_component(limit));
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(live)
        .total_core_instances(total(MAX_CORE_INSTANCES))
        .total_memories(total(MAX_MEMORIES))
        .total_tables(total(MAX_TABLES))
        .total_stacks(live)
        .max_core_instances_per_component(per_component(MAX_CORE_INSTANCES))
        .max_memories_per_component(per_component(MAX_MEMORIES))
        .max_tables_per_component(per_component(MAX_TABLES))
        .max_tables_per_module(per_component(MAX_TABLES))
        .max_memories_per_module(per_component(MAX_MEMORIES))
        .max_memory_size(memory_bytes)
        .table_elements(size(MAX_TABLE_ELEMENTS))
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(KEEP_RESIDENT)
        .pagemap_scan(Enabled::Auto);
    pool
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[tokio::test]
    async fn a_stopped_clock_refuses_calls_and_a_running_one_does_not() {
        let engine = PluginEngine::start(EngineSettings::default()).unwrap();
        engine.require_clock(None).await.unwrap();
        engine.stop_clock();
        while engine.ticker.is_alive() {
            tokio::task::yield_now().await;
        }
        assert_eq!(engine.require_clock(None).await, Err(Saturated::NoClock));
    }

    #[tokio::test]
    async fn the_pool_has_as_many_places_as_it_says() {
        let engine = PluginEngine::start(EngineSettings { live_instances: 2, ..EngineSettings::default() }).unwrap();
        let deadline = Instant::now();
        let first = engine.place(deadline).await.unwrap();
        assert!(!engine.is_crowded());
        let _second = engine.place(deadline).await.unwrap();
        assert!(engine.is_crowded());
        assert_eq!(engine.place(deadline).await.unwrap_err(), Saturated::Host(2));
        drop(first);
        assert!(engine.place(deadline).await.is_ok());
    }

    #[test]
    fn scarce_address_space_still_gives_an_engine() {
        Engine::new(&pooled(16, DEFAULT_STACK_BYTES, SCARCE_MEMORY_BYTES as u64, SCARCE_MEMORY_BYTES)).unwrap();
    }
}
