//! A host with one plugin that fails in two ways, and many sessions that call it at the same time.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use domain::{AgentId, CallId, JsonText, PluginId, RunId, SessionId, SessionKey};
use hooks::access::Access;
use hooks::catalogue::{BeforeModelResolve, BeforeToolCall};
use hooks::context::{AgentContext, ToolContext};
use hooks::events::{before_model_resolve, before_tool_call};
use hooks::{Dispatcher, FaultKind, HookId, Scope};
use plugin_host::grant::Grants;
use plugin_host::limits::Limits;
use plugin_host::manifest::{HandlerEntry, Lifetime};
use plugin_host::{EngineSettings, HostSettings, Meter, PluginHost, ReadyPlugin};
use sha2::{Digest, Sha256};

use crate::footprint::Footprint;
use crate::guest::{component_with, module};
use crate::ports::Memory;

/// Sessions at the same time.
const SESSIONS: u64 = 64;

/// Budget of a call that misses its deadline, in milliseconds.
const BUDGET_MS: u64 = 1;

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The guest traps.
    Trap,
    /// It loops, or it waits, until its deadline; one as often as the other.
    Timeout,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if *self == Self::Trap { "traps" } else { "timeouts" })
    }
}

/// The host.
pub(crate) struct Host {
    dispatcher: Dispatcher,
    meter: Meter,
}

impl Host {
    pub(crate) async fn start() -> Self {
        let settings = HostSettings {
            engine: EngineSettings { tick: Duration::from_millis(1), ..EngineSettings::default() },
            ..HostSettings::default()
        };
        let loaded = PluginHost::start(settings, [plugin()], &Memory::ports().1).await.unwrap();
        assert!(loaded.reports[0].error.is_none(), "{:?}", loaded.reports);
        Self { meter: loaded.meter.clone(), dispatcher: Dispatcher::new(Arc::new(loaded.registry)) }
    }

    /// What the process holds.
    pub(crate) fn footprint(&self) -> Footprint {
        Footprint::now(&self.meter.read())
    }

    /// Makes so many failures, spread over all sessions.
    pub(crate) async fn fail(&self, failure: Failure, number: u64) {
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|session| {
                let dispatcher = self.dispatcher.clone();
                let share = number / SESSIONS + u64::from(session < number % SESSIONS);
                tokio::spawn(async move {
                    for call in 0..share {
                        match failure {
                            Failure::Trap => trap(&dispatcher).await,
                            Failure::Timeout => time_out(&dispatcher, (call + session).is_multiple_of(2)).await,
                        }
                    }
                })
            })
            .collect();
        for session in sessions {
            session.await.unwrap();
        }
    }
}

fn session() -> SessionKey {
    SessionKey::parse("main", None, &AgentId::main()).unwrap()
}

async fn trap(dispatcher: &Dispatcher) {
    let event = before_tool_call::Event {
        tool_name: "exec".to_owned(),
        params: JsonText::parse("{}").unwrap(),
        tool_call_id: CallId::new("c"),
        tool_kind: None,
        tool_input_kind: None,
        derived_paths: Vec::new(),
        vetoed: None,
    };
    let context = ToolContext {
        agent_id: AgentId::main(),
        session_key: session(),
        session_id: SessionId::new("s"),
        run_id: RunId::new("r"),
        channel_id: None,
        requester: None,
        is_preflight: false,
        extra: Vec::new(),
    };
    let failed = dispatcher.decide::<BeforeToolCall>(&event, &context, &Scope::default()).await.unwrap_err();
    assert_eq!(failed.fault.kind(), FaultKind::Trap, "{failed}");
}

async fn time_out(dispatcher: &Dispatcher, looping: bool) {
    let prompt = if looping { "loop" } else { "wait" }.to_owned();
    let event = before_model_resolve::Event { prompt, attachments: Vec::new() };
    let context = AgentContext::new(AgentId::main(), session(), SessionId::new("s"));
    let done = dispatcher.decide::<BeforeModelResolve>(&event, &context, &Scope::default()).await.unwrap();
    let [skipped] = &*done.skipped else { panic!("a call that kept its deadline") };
    assert_eq!(skipped.fault.kind(), FaultKind::Timeout, "{}", skipped.fault);
}

/// Traps as a gate; loops or waits, as the prompt says, when it is asked for a model.
fn plugin() -> ReadyPlugin {
    let handler = |hook: &str, body: &str| {
        format!(r#"(func (export "creel:plugin/{hook}@0.1.0#handle") (param $args i32) (result i32) {body} unreachable)"#)
    };
    let imports = r#"(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $sleep (param i64) (result i32)))
        (import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))"#;
    let late = "(if (i32.eq (i32.load8_u (i32.load offset=8 (local.get $args))) (i32.const 0x6c))
        (then (loop $again (br $again)))
        (else (call $block (call $sleep (i64.const -1)))))";
    let core = module(&[handler("before-tool-call", ""), handler("before-model-resolve", late)].concat());
    let packages = "package test:other;
        package wasi:io@0.2.0 { interface poll { resource pollable { block: func(); } } }
        package wasi:clocks@0.2.0 {
            interface monotonic-clock { use wasi:io/poll@0.2.0.{pollable}; subscribe-duration: func(when: u64) -> pollable; }
        }";
    let world = "import wasi:io/poll@0.2.0; import wasi:clocks/monotonic-clock@0.2.0;
        export creel:plugin/before-tool-call@0.1.0; export creel:plugin/before-model-resolve@0.1.0;";
    let component = component_with(packages, world, &core.replacen("(memory", &format!("{imports} (memory"), 1));

    let mut late = HandlerEntry::with_defaults(HookId::BeforeModelResolve);
    late.options.timeout_ms = Some(BUDGET_MS);
    ReadyPlugin {
        id: PluginId::new("fails"),
        digest: Sha256::digest(&component).into(),
        component: component.into(),
        config: "{}".to_owned(),
        grants: Grants::default(),
        limits: Limits { max_instances: SESSIONS, ..Limits::default() },
        lifetime: Lifetime::Run,
        access: Access { allow_conversation: Some(true), ..Access::default() },
        handlers: vec![HandlerEntry::with_defaults(HookId::BeforeToolCall), late],
        tools: Vec::new(),
        optional_tools: BTreeSet::new(),
        tools_per_run: false,
    }
}
