//! What the host adds to a call: each cost beside the same export called through bare wasmtime, in the same run, and their ratio.
//! `cargo bench -p plugin-host`. The guest does next to nothing, which is the hardest case for a ratio.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a bench")]

#[path = "../tests/suite/guest.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod guest;
#[path = "../tests/suite/ports.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod ports;

use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::ports::RunScope;
use domain::{AgentId, CallId, JsonText, PluginId, RunId, SessionId, SessionKey};
use hooks::access::Access;
use hooks::catalogue::BeforeToolCall;
use hooks::context::{Requester, ToolContext};
use hooks::events::before_tool_call::Event;
use hooks::{Dispatcher, HookId, Scope};
use plugin_host::grant::Grants;
use plugin_host::limits::Limits;
use plugin_host::manifest::{HandlerEntry, Lifetime};
use plugin_host::{HostSettings, PluginHost, ReadyPlugin};
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;
use wasmtime::component::{Component, InstancePre, Linker, ResourceTable};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

mod bare {
    #![allow(
        missing_docs,
        unreachable_pub,
        dead_code,
        unused_variables,
        elided_lifetimes_in_paths,
        clippy::all,
        reason = "generated code"
    )]
    wasmtime::component::bindgen!({
        world: "all-hooks",
        path: "../../../wit",
        exports: { default: async },
        ownership: Borrowing { duplicate_if_necessary: true },
    });
}
use bare::exports::creel::plugin::before_tool_call as wit;

/// Calls in one batch, and batches; the median batch counts.
const CALLS: u32 = 4000;
const BATCHES: usize = 15;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let component = guest::guard(&guest::answer(&[]));
    let direct = Direct::new(&component);

    let bare = direct.warm(&runtime);
    let one = dispatch(&runtime, &component, 1, Kept::Run);
    let ten = dispatch(&runtime, &component, 10, Kept::Run);
    report("dispatch_warm, 1 handler", one, bare, 1.5);
    report("dispatch_warm, 10 handlers", ten, bare * 10, 1.5);

    let bare = direct.fresh(&runtime);
    let fresh = dispatch(&runtime, &component, 1, Kept::Nothing);
    report("instantiate_and_call", fresh, bare, 1.3);

    load_from_cache(&runtime, &component, &direct);
}

fn report(what: &str, ours: Duration, bare: Duration, bar: f64) {
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    let verdict = if ratio <= bar { "within" } else { "ABOVE" };
    println!("{what:<28} {ours:>10.2?}   bare wasmtime {bare:>10.2?}   ratio {ratio:.2}, {verdict} the bar of {bar}");
}

/// Median of several batches, per call.
fn median(mut batch: impl FnMut() -> Duration) -> Duration {
    batch();
    let mut batches: Vec<Duration> = (0..BATCHES).map(|_| batch()).collect();
    batches.sort_unstable();
    batches[BATCHES / 2]
}

/// A tool call of about 1 kB, with everything that a chat run fills in.
fn event() -> (Event, ToolContext) {
    let event = Event {
        tool_name: "exec".to_owned(),
        params: JsonText::parse(format!(r#"{{"command":"{}"}}"#, "x".repeat(1000))).unwrap(),
        tool_call_id: CallId::new("call_0123456789abcdef"),
        tool_kind: None,
        tool_input_kind: None,
        derived_paths: vec!["src/main.rs".to_owned(), "Cargo.toml".to_owned()],
        vetoed: None,
    };
    let context = ToolContext {
        agent_id: AgentId::main(),
        session_key: session(),
        session_id: SessionId::new("0198c0de-0000-7000-8000-000000000001"),
        run_id: RunId::new("0198c0de-0000-7000-8000-000000000002"),
        channel_id: Some("C0123456789".to_owned()),
        requester: Some(Requester {
            channel: Some("chat".to_owned()),
            account_id: Some("main".to_owned()),
            sender_id: Some("U0123456789".to_owned()),
            sender_is_owner: Some(true),
            role_ids: None,
        }),
        is_preflight: false,
        extra: Vec::new(),
    };
    (event, context)
}

fn session() -> SessionKey {
    SessionKey::parse("agent:main:chat:group:42", None, &AgentId::main()).unwrap()
}

// --- this host ------------------------------------------------------------------------------------------------------------------

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Run,
    Nothing,
}

fn plugins(component: &[u8], count: usize) -> Vec<ReadyPlugin> {
    let plugin = |index: usize| ReadyPlugin {
        id: PluginId::new(format!("p{index}")),
        digest: Sha256::digest(component).into(),
        component: component.into(),
        config: "{}".to_owned(),
        grants: Grants::default(),
        limits: Limits::default(),
        lifetime: Lifetime::Run,
        access: Access::default(),
        handlers: vec![HandlerEntry::with_defaults(HookId::BeforeToolCall)],
        tools: Vec::new(),
        optional_tools: BTreeSet::new(),
        tools_per_run: false,
    };
    (0..count).map(plugin).collect()
}

async fn dispatcher(component: &[u8], count: usize, cache: Option<&Path>) -> Dispatcher {
    let (_, ports) = ports::Memory::ports();
    let settings = HostSettings { cache_directory: cache.map(Path::to_owned), ..HostSettings::default() };
    let loaded = PluginHost::start(settings, plugins(component, count), &ports).await.unwrap();
    assert!(loaded.reports.iter().all(|report| report.error.is_none()));
    Dispatcher::new(Arc::new(loaded.registry))
}

fn dispatch(runtime: &Runtime, component: &[u8], handlers: usize, kept: Kept) -> Duration {
    let dispatcher = runtime.block_on(dispatcher(component, handlers, None));
    let (event, context) = event();
    let run = (kept == Kept::Run).then(|| RunScope::new(RunId::new("r")));
    let scope = Scope { run, session_key: Some(session()), ..Scope::default() };
    median(|| {
        runtime.block_on(async {
            let started = Instant::now();
            for _ in 0..CALLS {
                black_box(dispatcher.decide::<BeforeToolCall>(&event, &context, &scope).await.unwrap());
            }
            started.elapsed() / CALLS
        })
    })
}

/// Start of a host with one plugin whose code is in the cache; what one without plugins takes is the engine's share.
fn load_from_cache(runtime: &Runtime, component: &[u8], direct: &Direct) {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("code");
    runtime.block_on(dispatcher(component, 1, Some(&cache)));
    let start = |count| {
        median(|| {
            let started = Instant::now();
            drop(runtime.block_on(dispatcher(component, count, Some(&cache))));
            started.elapsed()
        })
    };
    let (without, with) = (start(0), start(1));
    let ours = with.saturating_sub(without);
    let bare = direct.load(directory.path());
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    println!("{:<28} {ours:>10.2?}   bare wasmtime {bare:>10.2?}   ratio {ratio:.2}, the bar is 1 ms", "load_from_cache");
    println!("{:<28} {without:>10.2?}", "start_engine");
}

// --- bare wasmtime --------------------------------------------------------------------------------------------------------------

struct Host {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// The same component, called as the documentation of wasmtime has it, with the same settings.
struct Direct {
    engine: Engine,
    component: Component,
    pre: InstancePre<Host>,
    indices: wit::GuestIndices,
}

impl Direct {
    fn new(component: &[u8]) -> Self {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(256).total_core_instances(2048).total_memories(512).total_tables(1024).total_stacks(256);
        pool.linear_memory_keep_resident(1 << 20).table_keep_resident(1 << 20).pagemap_scan(Enabled::Auto);
        let mut config = Config::new();
        config.concurrency_support(false).epoch_interruption(true).async_stack_zeroing(true);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config).unwrap();
        let component = Component::new(&engine, component).unwrap();
        let mut linker = Linker::new(&engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        linker.instance("creel:plugin/types@0.1.0").unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        let indices = wit::GuestIndices::new(&pre).unwrap();
        Self { engine, component, pre, indices }
    }

    async fn instance(&self) -> (Store<Host>, wit::Guest) {
        let host = Host { wasi: WasiCtx::builder().build(), table: ResourceTable::new() };
        let mut store = Store::new(&self.engine, host);
        store.set_epoch_deadline(1 << 40);
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::Yield(1)));
        let instance = self.pre.instantiate_async(&mut store).await.unwrap();
        let guest = self.indices.load(&mut store, &instance).unwrap();
        (store, guest)
    }

    fn warm(&self, runtime: &Runtime) -> Duration {
        let (mut store, guest) = runtime.block_on(self.instance());
        let (event, context) = event();
        median(|| {
            runtime.block_on(async {
                let started = Instant::now();
                for _ in 0..CALLS {
                    black_box(call(&mut store, &guest, &event, &context).await);
                }
                started.elapsed() / CALLS
            })
        })
    }

    fn fresh(&self, runtime: &Runtime) -> Duration {
        let (event, context) = event();
        median(|| {
            runtime.block_on(async {
                let started = Instant::now();
                for _ in 0..CALLS {
                    let (mut store, guest) = self.instance().await;
                    black_box(call(&mut store, &guest, &event, &context).await);
                }
                started.elapsed() / CALLS
            })
        })
    }

    fn load(&self, directory: &Path) -> Duration {
        let file = directory.join("bare");
        std::fs::write(&file, self.component.serialize().unwrap()).unwrap();
        median(|| {
            let started = Instant::now();
            // SAFETY: the file was written from this engine's own component a moment ago.
            black_box(unsafe { Component::deserialize_file(&self.engine, &file) }.unwrap());
            started.elapsed()
        })
    }
}

async fn call(store: &mut Store<Host>, guest: &wit::Guest, event: &Event, context: &ToolContext) -> Option<wit::Answer> {
    let paths: Vec<&str> = event.derived_paths.iter().map(String::as_str).collect();
    let wit_event = wit::Event {
        tool_name: &event.tool_name,
        params: event.params.as_str(),
        tool_call_id: event.tool_call_id.as_str(),
        tool_kind: None,
        tool_input_kind: None,
        derived_paths: &paths,
        vetoed: None,
    };
    let requester = context.requester.as_ref().unwrap();
    let wit_context = wit::ToolContext {
        agent_id: context.agent_id.as_str(),
        session_key: context.session_key.as_str(),
        session_id: context.session_id.as_str(),
        run_id: context.run_id.as_str(),
        channel_id: context.channel_id.as_deref(),
        requester: Some(bare::creel::plugin::types::Requester {
            channel: requester.channel.as_deref(),
            account_id: requester.account_id.as_deref(),
            sender_id: requester.sender_id.as_deref(),
            sender_is_owner: requester.sender_is_owner,
            role_ids: None,
        }),
        policy_phase: None,
        extra: &[],
    };
    guest.call_handle(store, "", wit_event, wit_context).await.unwrap().unwrap()
}
