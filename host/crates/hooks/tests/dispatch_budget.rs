//! One budget for a whole dispatch: it is shared, it bites by the hook's failure policy, and the plugin that used it up is named.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::{AgentId, CallId, JsonText, PluginId, RunId, SessionId, SessionKey};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hooks::access::Access;
use hooks::budget::Ceilings;
use hooks::catalogue::{AgentEnd, BeforeAgentReply, BeforeModelResolve, BeforeToolCall};
use hooks::context::{AgentContext, ToolContext};
use hooks::events::{before_agent_reply, before_model_resolve, before_tool_call, observed};
use hooks::{
    CircuitSettings, Circuits, DispatchBudgets, Dispatched, Dispatcher, FailedClosed, Fault, FaultKind, Handler, HandlerOptions,
    HookCall, HookId, HookInvocation, HookReply, Registration, RegistryBuilder, Scope,
};
use tokio::time::{Instant, sleep};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// Takes its time and has no opinion; remembers what budget it was told.
struct Slow {
    name: &'static str,
    takes: Duration,
    told: Told,
}

/// Handlers that were called, with their budgets.
type Told = Arc<Mutex<Vec<(&'static str, Duration)>>>;

impl Handler for Slow {
    fn call<'a>(&'a self, call: HookCall<'a>, invocation: &'a HookInvocation<'a>) -> BoxFuture<'a, Result<HookReply, Fault>> {
        self.told.lock().unwrap().push((self.name, invocation.budget));
        let hook = call.id();
        async move {
            sleep(self.takes).await;
            Ok(match hook {
                HookId::BeforeToolCall => HookReply::BeforeToolCall(None),
                HookId::BeforeModelResolve => HookReply::BeforeModelResolve(None),
                HookId::BeforeAgentReply => HookReply::BeforeAgentReply(None),
                HookId::AgentEnd => HookReply::AgentEnd(None),
                other => panic!("{other}"),
            })
        }
        .boxed()
    }
}

struct Host {
    hooks: Dispatcher,
    told: Told,
}

impl Host {
    /// Plugins with the times that they take, in the order in which they run.
    fn new(hook: HookId, budgets: DispatchBudgets, plugins: &[(&'static str, u64)]) -> Self {
        let told = Told::default();
        let circuits = Circuits::in_memory(CircuitSettings { failures: 2, cooldown: MS(60_000) });
        let mut builder = RegistryBuilder::new(Ceilings::default()).with_dispatch_budgets(budgets).with_circuits(circuits);
        for (name, takes) in plugins {
            let access = Access { allow_conversation: Some(true), ..Access::default() };
            let handler = Arc::new(Slow { name, takes: MS(*takes), told: Arc::clone(&told) });
            let options = HandlerOptions { timeout_ms: Some(200), ..HandlerOptions::default() };
            let registration = Registration { hook, handler_name: String::new(), options, handler };
            builder.add_plugin(&PluginId::new(*name), &access, vec![registration]);
        }
        Self { hooks: Dispatcher::new(Arc::new(builder.build().0)), told }
    }

    fn called(&self) -> Vec<(&'static str, Duration)> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }

    async fn guard(&self) -> Result<(), FailedClosed> {
        let event = before_tool_call::Event {
            tool_name: "exec".into(),
            params: JsonText::empty_object(),
            tool_call_id: CallId::new("c"),
            tool_kind: None,
            tool_input_kind: None,
            derived_paths: Vec::new(),
            vetoed: None,
        };
        let context = ToolContext {
            agent_id: AgentId::main(),
            session_key: SessionKey::main(&AgentId::main()),
            session_id: SessionId::new("s"),
            run_id: RunId::new("r"),
            channel_id: None,
            requester: None,
            is_preflight: false,
            extra: Vec::new(),
        };
        self.hooks.decide::<BeforeToolCall>(&event, &context, &Scope::default()).await.map(drop)
    }

    async fn resolve(&self) -> Dispatched<before_model_resolve::Answer> {
        let event = before_model_resolve::Event::default();
        self.hooks.decide::<BeforeModelResolve>(&event, &agent_context(), &Scope::default()).await.unwrap()
    }
}

fn agent_context() -> AgentContext {
    AgentContext::new(AgentId::main(), SessionKey::main(&AgentId::main()), SessionId::new("s"))
}

fn all(ms: u64) -> DispatchBudgets {
    DispatchBudgets { all: Some(MS(ms)), ..DispatchBudgets::default() }
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_has_no_time_left_blocks_and_names_the_one_that_took_it() {
    let plugins = [("quick", 10), ("hog", 180), ("last", 100)];
    let host = Host::new(HookId::BeforeToolCall, all(200), &plugins);
    let started = Instant::now();
    let failed = host.guard().await.unwrap_err();
    assert_eq!(started.elapsed(), MS(200));
    assert_eq!(host.called(), [("quick", MS(200)), ("hog", MS(190)), ("last", MS(10))]);
    assert_eq!((failed.plugin.as_str(), failed.fault.kind()), ("last", FaultKind::Timeout));
    assert_eq!(failed.fault.text(), "the 200 ms of the whole dispatch are used up; plugin `hog` took most of it, 180 ms");

    let generous = Host::new(HookId::BeforeToolCall, all(290), &plugins);
    assert!(generous.guard().await.is_ok(), "with more time it passes");
    let without = Host::new(HookId::BeforeToolCall, DispatchBudgets::default(), &plugins);
    assert!(without.guard().await.is_ok(), "without a shared budget each has its own");
}

#[tokio::test(start_paused = true)]
async fn where_a_hook_fails_open_the_rest_is_skipped() {
    let host = Host::new(HookId::BeforeModelResolve, all(100), &[("hog", 150), ("next", 1), ("last", 1)]);
    let done = host.resolve().await;
    assert_eq!(host.called(), [("hog", MS(100))]);
    let skipped: Vec<&str> = done.skipped.iter().map(|skipped| skipped.plugin.as_str()).collect();
    assert_eq!(skipped, ["hog", "next", "last"]);
    for skipped in &done.skipped {
        assert!(skipped.fault.text().contains("plugin `hog` took most of it, 100 ms"), "{}", skipped.fault);
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_one_that_took_most_is_blamed() {
    let host = Host::new(HookId::BeforeModelResolve, all(100), &[("hog", 90), ("small", 50), ("last", 1)]);
    for _ in 0..5 {
        host.resolve().await;
    }
    let called: Vec<&str> = host.called().iter().map(|(name, _)| *name).collect();
    assert_eq!(called, ["hog", "small"].repeat(5), "no circuit opens against those that came too late");

    let host = Host::new(HookId::BeforeModelResolve, all(100), &[("hog", 150), ("last", 1)]);
    host.resolve().await;
    host.resolve().await;
    host.called();
    host.resolve().await;
    assert_eq!(host.called(), [("last", MS(100))], "the circuit of the one that took all of it is open, and the rest has time");
}

#[tokio::test(start_paused = true)]
async fn a_hook_of_its_own_budget_differs_from_all_others() {
    let by_hook = BTreeMap::from([(HookId::BeforeModelResolve, MS(20))]);
    let budgets = DispatchBudgets { by_hook, all: Some(MS(150)) };
    let host = Host::new(HookId::BeforeModelResolve, budgets.clone(), &[("a", 30)]);
    assert_eq!((host.resolve().await.skipped.len(), host.called()), (1, vec![("a", MS(20))]));
    let host = Host::new(HookId::BeforeToolCall, budgets, &[("a", 30)]);
    assert!(host.guard().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn claims_and_observers_share_one_too() {
    let host = Host::new(HookId::BeforeAgentReply, all(100), &[("hog", 150), ("last", 1)]);
    let event = before_agent_reply::Event { cleaned_body: String::new(), heartbeat_event_queue_session_key: None };
    assert!(host.hooks.claim::<BeforeAgentReply>(&event, &agent_context(), &Scope::default()).await.is_none());
    assert_eq!(host.called(), [("hog", MS(100))]);

    let host = Host::new(HookId::AgentEnd, all(100), &[("hog", 150), ("other", 50)]);
    let event = observed::AgentEnd { messages: Arc::from([]), success: true, error: None, duration_ms: None };
    let started = Instant::now();
    host.hooks.observe::<AgentEnd>(&event, &agent_context(), &Scope::default()).await;
    assert_eq!(started.elapsed(), MS(100), "they run together, and none outlives the dispatch");
    assert_eq!(host.called().len(), 2);
}
