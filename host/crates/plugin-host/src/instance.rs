//! Instances of one plugin, and the edge over which every call goes: one deadline for instantiation, guest code and host calls, and an
//! instance that is used again only after a clean return. A trap, a timeout, a panic of the host or a dropped call drops the store.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::ports::RunScope;
use futures_util::FutureExt;
use hooks::{Fault, FaultKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use wasmtime::component::{Instance, InstancePre};
use wasmtime::{Store, StoreContextMut, UpdateDeadline};

use crate::engine::PluginEngine;
use crate::export::Guests;
use crate::fault::{Phase, of_guest, of_panic};
use crate::guest_log::GuestLog;
use crate::limits::size;
use crate::manifest::Lifetime;
use crate::state::{CallFacts, PluginFacts, State, Stopped, stopped};
use crate::usage::PluginUsage;

/// A plugin that can be called.
pub(crate) struct Plugin {
    pub(crate) facts: Arc<PluginFacts>,
    engine: Arc<PluginEngine>,
    pre: InstancePre<State>,
    lifetime: Lifetime,
    /// Instances that may still be made.
    instances: Arc<Semaphore>,
    /// Where a run keeps the instances of this plugin.
    slot: u64,
}

/// One instance, in a store of its own.
pub(crate) struct Live {
    pub(crate) store: Store<State>,
    pub(crate) instance: Instance,
    pub(crate) guests: Guests,
    // The log is finished, and the place given back, after the store is gone.
    _log: LogEnd,
    _place: OwnedSemaphorePermit,
    _instance: OwnedSemaphorePermit,
}

/// Writes what a call left in the log, on every way in which it ends.
struct LogEnd(Arc<GuestLog>);

impl Drop for LogEnd {
    fn drop(&mut self) {
        self.0.finish();
    }
}

/// A place in every run that nobody else uses.
pub(crate) fn next_slot() -> u64 {
    static NEXT_SLOT: AtomicU64 = AtomicU64::new(0);
    NEXT_SLOT.fetch_add(1, Ordering::Relaxed)
}

impl Plugin {
    pub(crate) fn new(
        facts: Arc<PluginFacts>,
        engine: Arc<PluginEngine>,
        pre: InstancePre<State>,
        lifetime: Lifetime,
    ) -> Arc<Self> {
        let instances = Arc::new(Semaphore::new(size(facts.limits.max_instances)));
        let slot = next_slot();
        Arc::new(Self { facts, engine, pre, lifetime, instances, slot })
    }

    pub(crate) fn pre(&self) -> &InstancePre<State> {
        &self.pre
    }

    /// Leave to make one more instance, waited for until `deadline`.
    async fn leave(&self, deadline: Instant) -> Result<OwnedSemaphorePermit, Fault> {
        let instances = Arc::clone(&self.instances);
        if let Ok(leave) = Arc::clone(&instances).try_acquire_owned() {
            return Ok(leave);
        }
        match tokio::time::timeout_at(deadline, instances.acquire_owned()).await {
            Ok(Ok(leave)) => Ok(leave),
            _ => {
                let limit = self.facts.limits.max_instances;
                Err(Fault::new(FaultKind::Limit, format!("all its {limit} instances are busy (limits.maxInstances)")))
            }
        }
    }

    /// An instance that serves a call: the run's, if it has a free one, else a new one.
    pub(crate) async fn take(&self, facts: &CallFacts<'_>) -> Result<Box<Live>, Fault> {
        self.engine.require_clock(facts.deadline.checked_sub(facts.budget)).await?;
        if let Some(kept) = self.keeper(facts.run).and_then(|run| run.take(self.slot))
            && let Ok(mut live) = kept.downcast::<Live>()
        {
            live.store.data_mut().serve(facts);
            live.store.set_epoch_deadline(1);
            return Ok(live);
        }
        // Boxed, so that calls of a kept instance do not carry its large future around.
        Box::pin(self.start(facts)).await
    }

    /// Gives an instance back after a clean return. Guest memory is a cache: when the pool fills up, or the plugin nears its limit, idle
    /// instances go first, so that calls of other runs never wait for runs that rest.
    pub(crate) fn give_back(&self, run: Option<&RunScope>, live: Box<Live>) {
        live.store.data().log.finish();
        if let Some(run) = self.keeper(run).filter(|_| !self.engine.is_crowded() && !self.is_crowded()) {
            run.keep(self.slot, live);
        }
    }

    /// What it holds right now.
    pub(crate) fn usage(&self) -> PluginUsage {
        let free = u64::try_from(self.instances.available_permits()).unwrap_or(u64::MAX);
        let instances = u32::try_from(self.facts.limits.max_instances.saturating_sub(free)).unwrap_or(u32::MAX);
        PluginUsage { plugin: self.facts.id.clone(), instances, memory_bytes: self.facts.memory.bytes() }
    }

    /// Whether its idle instances should be dropped rather than kept.
    fn is_crowded(&self) -> bool {
        self.instances.available_permits() < size(self.facts.limits.max_instances).div_ceil(4)
    }

    /// Outside a run, and for plugins that want it so, no instance is kept.
    fn keeper<'r>(&self, run: Option<&'r RunScope>) -> Option<&'r RunScope> {
        run.filter(|_| self.lifetime != Lifetime::Call)
    }

    async fn start(&self, facts: &CallFacts<'_>) -> Result<Box<Live>, Fault> {
        let leave = self.leave(facts.deadline).await?;
        let place = self.engine.place(facts.deadline).await?;
        let state = State::new(Arc::clone(&self.facts), facts);
        let log = LogEnd(Arc::clone(&state.log));
        let mut store = Store::new(self.engine.wasmtime(), state);
        store.limiter(|state| &mut state.limiter);
        store.set_hostcall_fuel(size(self.facts.limits.output_bytes));
        store.set_max_component_handles(size(self.facts.limits.handles));
        store.epoch_deadline_callback(at_tick);
        // Before instantiation: start functions are guest code.
        store.set_epoch_deadline(1);
        match self.pre.instantiate_async(&mut store).await {
            Ok(instance) => {
                Ok(Box::new(Live { store, instance, guests: Guests::default(), _log: log, _place: place, _instance: leave }))
            }
            Err(error) => {
                let refused = store.data_mut().limiter.take_refusal();
                Err(of_guest(&error, refused, &store.data().log.tail(), Phase::Start))
            }
        }
    }
}

impl Live {
    /// A fault of the guest during a call, told with what its limits kept from it.
    pub(crate) fn fault(&mut self, error: &wasmtime::Error) -> Fault {
        let refused = self.store.data_mut().limiter.take_refusal();
        of_guest(error, refused, &self.store.data().log.tail(), Phase::Call)
    }
}

/// At each tick of the clock: the guest gives the thread back, or ends.
fn at_tick(mut store: StoreContextMut<'_, State>) -> wasmtime::Result<UpdateDeadline> {
    store.data_mut().call.check(Instant::now())?;
    // tokio's own yield lets timers and sockets have their turn too.
    Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
}

/// The edge of every call: its deadline, its cancelling, and panics of the host. `work` should be pinned where it was made: the future
/// of a guest call is large, and each move of it would be a copy.
pub(crate) async fn at_the_edge<T>(facts: &CallFacts<'_>, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    // What the work holds when it panics is dropped with it, and nothing outside sees a half-done change.
    let work = AssertUnwindSafe(work).catch_unwind();
    let done = tokio::select! {
        biased;
        done = work => done.unwrap_or_else(|panic| Err(of_panic(&*panic)))?,
        stopped = stopped(facts.deadline, facts.budget, facts.cancel) => return Err(stopped.into()),
    };
    // An answer that comes too late does not count, however little (plugin-hooks 1.7).
    if Instant::now() >= facts.deadline { Err(Stopped::Deadline(facts.budget).into()) } else { Ok(done) }
}
