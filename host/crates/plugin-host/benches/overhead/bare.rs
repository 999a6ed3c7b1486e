//! The side of wasmtime alone: the same component called as the documentation of wasmtime has it, with the settings of the host's
//! engine and none of its care: no limits, no log, no deadline.

use std::time::{Duration, Instant};

use hooks::context::ToolContext;
use hooks::events::before_tool_call::Event;
use wasmtime::component::{Component, InstancePre, Linker, ResourceTable};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use self::bindings::creel::plugin::types::Requester;
use self::bindings::exports::creel::plugin::before_tool_call as wit;

mod bindings {
    #![allow(missing_docs, unreachable_pub, dead_code, elided_lifetimes_in_paths, clippy::all, reason = "generated code")]

    wasmtime::component::bindgen!({
        world: "all-hooks",
        path: "../../../wit",
        exports: { default: async },
        ownership: Borrowing { duplicate_if_necessary: true },
    });
}

/// What a store needs for the imports of a language runtime.
pub(crate) struct Imports {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Imports {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// The component, ready to be instantiated.
pub(crate) struct Bare {
    engine: Engine,
    component: Component,
    pre: InstancePre<Imports>,
    indices: wit::GuestIndices,
}

/// One instance.
pub(crate) struct Instance {
    store: Store<Imports>,
    guest: wit::Guest,
}

impl Bare {
    pub(crate) fn new(component: &[u8]) -> Self {
        let engine = Engine::new(&config()).unwrap();
        let component = Component::new(&engine, component).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        linker.instance("creel:plugin/types@0.1.0").unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        let indices = wit::GuestIndices::new(&pre).unwrap();
        Self { engine, component, pre, indices }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The compiled code.
    pub(crate) fn code(&self) -> Vec<u8> {
        self.component.serialize().unwrap()
    }

    /// A new instance in a store of its own, which nothing stops.
    pub(crate) async fn instance(&self) -> Instance {
        let imports = Imports { wasi: WasiCtx::builder().build(), table: ResourceTable::new() };
        let mut store = Store::new(&self.engine, imports);
        // Far away: a tick that comes while the instance starts must not end it.
        store.set_epoch_deadline(1 << 40);
        let instance = self.pre.instantiate_async(&mut store).await.unwrap();
        let guest = self.indices.load(&mut store, &instance).unwrap();
        Instance { store, guest }
    }
}

impl Instance {
    /// Asks the guest. Nobody doubts that it has no opinion.
    pub(crate) async fn call(&mut self, event: &Event, context: &ToolContext) {
        assert!(self.try_call(event, context).await.unwrap().is_none());
    }

    /// Asks a guest that does not answer; true: a deadline, looked at at each tick, ended it.
    pub(crate) async fn call_until(&mut self, budget: Duration, event: &Event, context: &ToolContext) -> bool {
        let deadline = Instant::now() + budget;
        self.store.epoch_deadline_callback(move |_| {
            Ok(if Instant::now() < deadline { UpdateDeadline::Yield(1) } else { UpdateDeadline::Interrupt })
        });
        self.store.set_epoch_deadline(1);
        let ended = self.try_call(event, context).await;
        ended.is_err_and(|error| error.downcast_ref() == Some(&wasmtime::Trap::Interrupt))
    }

    async fn try_call(&mut self, event: &Event, context: &ToolContext) -> wasmtime::Result<Option<wit::Answer>> {
        let paths: Vec<&str> = event.derived_paths.iter().map(String::as_str).collect();
        let requester = context.requester.as_ref().unwrap();
        let wit_event = wit::Event {
            tool_name: &event.tool_name,
            params: event.params.as_str(),
            tool_call_id: event.tool_call_id.as_str(),
            tool_kind: None,
            tool_input_kind: None,
            derived_paths: &paths,
            vetoed: None,
        };
        let wit_context = wit::ToolContext {
            agent_id: context.agent_id.as_str(),
            session_key: context.session_key.as_str(),
            session_id: context.session_id.as_str(),
            run_id: context.run_id.as_str(),
            channel_id: context.channel_id.as_deref(),
            requester: Some(Requester {
                channel: requester.channel.as_deref(),
                account_id: requester.account_id.as_deref(),
                sender_id: requester.sender_id.as_deref(),
                sender_is_owner: requester.sender_is_owner,
                role_ids: None,
            }),
            policy_phase: None,
            extra: &[],
        };
        let returned = self.guest.call_handle(&mut self.store, "", wit_event, wit_context).await?;
        Ok(returned.expect("the guest reports no errors"))
    }
}

/// The settings of the host's engine, as far as they cost or save time.
fn config() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(256)
        .total_core_instances(256 * 8)
        .total_memories(256 * 2)
        .total_tables(256 * 4)
        .total_stacks(256)
        .table_elements(20_000)
        .linear_memory_keep_resident(1 << 20)
        .table_keep_resident(1 << 20)
        .pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .max_wasm_stack(512 << 10)
        .async_stack_size(1 << 20)
        .async_stack_zeroing(true)
        .memory_reservation(4 << 30)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}
