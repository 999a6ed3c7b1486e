//! The side of this host: plugins made of the guest, and dispatches to them as the agent makes them.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::PluginId;
use domain::ports::RunScope;
use hooks::access::Access;
use hooks::catalogue::BeforeToolCall;
use hooks::context::ToolContext;
use hooks::events::before_tool_call::Event;
use hooks::{CircuitSettings, Circuits, Dispatched, Dispatcher, FailedClosed, HookId, Scope};
use plugin_host::grant::Grants;
use plugin_host::limits::Limits;
use plugin_host::manifest::{HandlerEntry, Lifetime};
use plugin_host::{HostSettings, LoadedPlugins, PluginHost, ReadyPlugin};
use sha2::{Digest, Sha256};

use crate::{Bench, call, ports};

/// What a dispatch gives.
pub(crate) type Decided = Result<Dispatched<hooks::events::before_tool_call::Decision>, FailedClosed>;

/// A host whose plugins are loaded.
pub(crate) struct Host {
    dispatcher: Dispatcher,
    scope: Scope,
}

impl Host {
    /// With some plugins, each with one handler; `budget`: that of a handler, else the default.
    pub(crate) fn new(bench: &Bench, plugins: usize, budget: Option<Duration>) -> Self {
        let loaded = load(bench, (0..plugins).map(|index| plugin(bench, index, budget)), None);
        let scope = Scope { session_key: Some(call::session()), ..Scope::default() };
        Self { dispatcher: Dispatcher::new(Arc::new(loaded.registry)), scope }
    }

    /// Dispatches belong to a run, so that its instances serve all of them.
    pub(crate) fn in_a_run(mut self) -> Self {
        self.scope.run = Some(RunScope::new(domain::RunId::new("r")));
        self
    }

    /// One dispatch.
    pub(crate) async fn decide(&self, event: &Event, context: &ToolContext) -> Decided {
        self.dispatcher.decide::<BeforeToolCall>(event, context, &self.scope).await
    }
}

/// Starts a host.
pub(crate) fn load(bench: &Bench, plugins: impl IntoIterator<Item = ReadyPlugin>, cache: Option<&Path>) -> LoadedPlugins {
    let (_, ports) = ports::Memory::ports();
    // As a host has them; some subjects fail on purpose, so they never open.
    let circuits = Some(Circuits::in_memory(CircuitSettings { failures: u32::MAX, ..CircuitSettings::default() }));
    let settings = HostSettings { cache_directory: cache.map(Path::to_owned), circuits, ..HostSettings::default() };
    let loaded = bench.runtime.block_on(PluginHost::start(settings, plugins, &ports)).unwrap();
    assert!(loaded.reports.iter().all(|report| report.error.is_none()));
    loaded
}

/// A plugin with one handler.
pub(crate) fn plugin(bench: &Bench, index: usize, budget: Option<Duration>) -> ReadyPlugin {
    let mut handler = HandlerEntry::with_defaults(HookId::BeforeToolCall);
    handler.options.timeout_ms = budget.map(|budget| u64::try_from(budget.as_millis()).unwrap());
    ReadyPlugin {
        id: PluginId::new(format!("p{index}")),
        digest: Sha256::digest(&bench.component).into(),
        component: Arc::clone(&bench.component),
        config: "{}".to_owned(),
        grants: Grants::default(),
        limits: Limits::default(),
        lifetime: Lifetime::Run,
        access: Access::default(),
        handlers: vec![handler],
        tools: Vec::new(),
        optional_tools: BTreeSet::new(),
        tools_per_run: false,
    }
}
