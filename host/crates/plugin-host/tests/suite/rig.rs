//! A host with plugins, and tool calls and runs to put through them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use domain::cancel::Cancel;
use domain::ports::RunScope;
use domain::{AgentId, CallId, JsonText, PluginId, RunId, SessionId, SessionKey};
use hooks::access::Access;
use hooks::catalogue::{BeforeModelResolve, BeforeToolCall};
use hooks::context::{AgentContext, ToolContext};
use hooks::events::{before_model_resolve, before_tool_call};
use hooks::{Dispatcher, Fault, FaultKind, HandlerOptions, HookId, Scope};
use plugin_host::grant::Grants;
use plugin_host::limits::Limits;
use plugin_host::manifest::{HandlerEntry, Lifetime};
use plugin_host::{HostSettings, LoadedPlugins, PluginHost, ReadyPlugin};
use sha2::{Digest, Sha256};

use crate::ports::Memory;

/// Budget of handlers in tests that let one run out.
pub(crate) const SHORT: Duration = Duration::from_millis(150);

/// A plugin with defaults, and one handler per hook that it exports.
pub(crate) fn plugin(id: &str, component: Vec<u8>) -> ReadyPlugin {
    let exported = plugin_host::inspect::inspect(&component).expect("a component").hooks();
    ReadyPlugin {
        id: PluginId::new(id),
        digest: Sha256::digest(&component).into(),
        component: component.into(),
        config: "{}".to_owned(),
        grants: Grants::default(),
        limits: Limits::default(),
        lifetime: Lifetime::Run,
        access: Access { allow_conversation: Some(true), ..Access::default() },
        handlers: exported.into_iter().map(HandlerEntry::with_defaults).collect(),
        tools: Vec::new(),
        optional_tools: BTreeSet::new(),
        tools_per_run: false,
    }
}

/// The same, with a short budget for its guard.
pub(crate) fn short(id: &str, component: Vec<u8>) -> ReadyPlugin {
    ReadyPlugin { handlers: vec![entry(HookId::BeforeToolCall, SHORT)], ..plugin(id, component) }
}

pub(crate) fn entry(hook: HookId, budget: Duration) -> HandlerEntry {
    let timeout_ms = Some(u64::try_from(budget.as_millis()).unwrap());
    HandlerEntry { hook, handler_name: String::new(), options: HandlerOptions { timeout_ms, ..HandlerOptions::default() } }
}

pub(crate) async fn load(plugins: Vec<ReadyPlugin>) -> LoadedPlugins {
    load_with(HostSettings::default(), plugins).await
}

pub(crate) async fn load_with(settings: HostSettings, plugins: Vec<ReadyPlugin>) -> LoadedPlugins {
    let (_, ports) = Memory::ports();
    PluginHost::start(settings, plugins, &ports).await.expect("an engine")
}

/// The dispatcher of a host whose plugins all load.
pub(crate) fn dispatcher(loaded: LoadedPlugins) -> Dispatcher {
    for report in &loaded.reports {
        assert!(report.error.is_none(), "{}: {}", report.plugin, report.error.as_ref().unwrap());
    }
    Dispatcher::new(Arc::new(loaded.registry))
}

pub(crate) async fn start(plugins: Vec<ReadyPlugin>) -> Dispatcher {
    dispatcher(load(plugins).await)
}

pub(crate) fn session(name: &str) -> SessionKey {
    SessionKey::parse(name, None, &AgentId::main()).unwrap()
}

/// A run of a session.
pub(crate) fn run(id: &str) -> Scope {
    Scope { run: Some(RunScope::new(RunId::new(id))), session_key: Some(session("main")), ..Scope::default() }
}

/// Puts a tool call through the guards. `Ok`: the reason of a block, if any.
pub(crate) async fn call(dispatcher: &Dispatcher, scope: &Scope) -> Result<Option<String>, Fault> {
    decide(dispatcher, scope).await.map(|decision| decision.blocked_by.and(decision.block_reason))
}

pub(crate) async fn decide(dispatcher: &Dispatcher, scope: &Scope) -> Result<before_tool_call::Decision, Fault> {
    let event = before_tool_call::Event {
        tool_name: "exec".to_owned(),
        params: JsonText::parse(r#"{"command":"ls"}"#).unwrap(),
        tool_call_id: CallId::new("c1"),
        tool_kind: None,
        tool_input_kind: None,
        derived_paths: Vec::new(),
        vetoed: None,
    };
    let context = ToolContext {
        agent_id: AgentId::main(),
        session_key: session("main"),
        session_id: SessionId::new("s"),
        run_id: RunId::new("r"),
        channel_id: None,
        requester: None,
        is_preflight: false,
        extra: Vec::new(),
    };
    dispatcher.decide::<BeforeToolCall>(&event, &context, scope).await.map(|done| done.decision).map_err(|closed| closed.fault)
}

/// Asks which model to use: a hook that fails open. The faults of skipped plugins come with it.
pub(crate) async fn resolve_model(dispatcher: &Dispatcher, scope: &Scope) -> (Option<String>, Vec<(String, FaultKind)>) {
    let event = before_model_resolve::Event { prompt: "hi".to_owned(), attachments: Vec::new() };
    let context = AgentContext::new(AgentId::main(), session("main"), SessionId::new("s"));
    let done = dispatcher.decide::<BeforeModelResolve>(&event, &context, scope).await.unwrap();
    let skipped = done.skipped.iter().map(|it| (it.plugin.to_string(), it.fault.kind())).collect();
    (done.decision.model_override, skipped)
}

/// The fault of a single guard that fails.
pub(crate) async fn fault_of(plugin: ReadyPlugin) -> Fault {
    let dispatcher = start(vec![plugin]).await;
    call(&dispatcher, &Scope::default()).await.unwrap_err()
}

pub(crate) fn cancellable() -> (Scope, Cancel) {
    let scope = run("r");
    let cancel = scope.cancel.clone();
    (scope, cancel)
}
