//! The life of a circuit through real dispatches: native handlers, paused time, stores in memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::sync::atomic::AtomicUsize;

use domain::cancel::CancelReason;
use domain::test_support::{FakeClock, MemoryCircuits};
use domain::{AgentId, JsonText, SessionId, SessionKey};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::*;
use crate::access::Access;
use crate::budget::Ceilings;
use crate::catalogue::{AgentEnd, BeforeAgentReply, BeforeModelResolve, BeforeToolCall, ToolResultPersist};
use crate::context::{AgentContext, TranscriptContext};
use crate::events::{before_agent_reply, before_model_resolve, before_tool_call, observed, tool_result_persist};
use crate::record::{HandlerOutcome, HandlerRecord, RecordSink};
use crate::{Dispatcher, Handler, HandlerOptions, HookCall, HookInvocation, HookReply, Registration, RegistryBuilder, Scope};

/// Fails as long as it is told to, and counts its calls.
#[derive(Default)]
struct Fickle {
    fails: Mutex<Option<FaultKind>>,
    hangs: AtomicBool,
    calls: AtomicUsize,
}

impl Fickle {
    fn failing(kind: FaultKind) -> Arc<Self> {
        Arc::new(Self { fails: Mutex::new(Some(kind)), ..Self::default() })
    }

    fn fail(&self, kind: Option<FaultKind>) {
        *self.fails.lock().unwrap() = kind;
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Handler for Fickle {
    fn call<'a>(&'a self, call: HookCall<'a>, _invocation: &'a HookInvocation<'a>) -> BoxFuture<'a, Result<HookReply, Fault>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if self.hangs.load(Ordering::Relaxed) {
            return std::future::pending().boxed();
        }
        let reply = match *self.fails.lock().unwrap() {
            Some(kind) => Err(Fault::new(kind, "unreachable")),
            None => Ok(match call.id() {
                HookId::BeforeToolCall => HookReply::BeforeToolCall(None),
                HookId::BeforeModelResolve => HookReply::BeforeModelResolve(None),
                HookId::BeforeAgentReply => HookReply::BeforeAgentReply(None),
                HookId::ToolResultPersist => HookReply::ToolResultPersist(None),
                HookId::AgentEnd => HookReply::AgentEnd(None),
                other => panic!("{other}"),
            }),
        };
        async move { reply }.boxed()
    }
}

#[derive(Default)]
struct Records(Mutex<Vec<HandlerRecord>>);

impl RecordSink for Records {
    fn handled(&self, record: HandlerRecord) {
        self.0.lock().unwrap().push(record);
    }
}

fn settings(failures: u32, cooldown_ms: u64) -> CircuitSettings {
    CircuitSettings { failures, cooldown: Duration::from_millis(cooldown_ms) }
}

fn registration(hook: HookId, name: &str, handler: &Arc<Fickle>) -> Registration {
    let (handler_name, options) = (name.to_owned(), HandlerOptions::default());
    Registration { hook, handler_name, options, handler: Arc::clone(handler) as Arc<dyn Handler> }
}

fn dispatcher_of(circuits: &Circuits, access: Access, registrations: Vec<Registration>) -> Dispatcher {
    let access = Access { allow_conversation: Some(true), ..access };
    let mut builder = RegistryBuilder::new(Ceilings::default()).with_circuits(circuits.clone());
    builder.add_plugin(&PluginId::new("p"), &access, registrations);
    Dispatcher::new(Arc::new(builder.build().0))
}

fn dispatcher(circuits: &Circuits, hook: HookId, handler: &Arc<Fickle>) -> Dispatcher {
    dispatcher_of(circuits, Access::default(), vec![registration(hook, "", handler)])
}

fn agent_context() -> AgentContext {
    AgentContext::new(AgentId::main(), SessionKey::main(&AgentId::main()), SessionId::new("s"))
}

fn tool_event() -> before_tool_call::Event {
    before_tool_call::Event {
        tool_name: "exec".into(),
        params: JsonText::empty_object(),
        tool_call_id: domain::CallId::new("c"),
        tool_kind: None,
        tool_input_kind: None,
        derived_paths: Vec::new(),
        vetoed: None,
    }
}

async fn guard_in(dispatcher: &Dispatcher, scope: &Scope) -> Result<(), Fault> {
    let context = crate::context::ToolContext {
        agent_id: AgentId::main(),
        session_key: SessionKey::main(&AgentId::main()),
        session_id: SessionId::new("s"),
        run_id: domain::RunId::new("r"),
        channel_id: None,
        requester: None,
        is_preflight: false,
        extra: Vec::new(),
    };
    dispatcher.decide::<BeforeToolCall>(&tool_event(), &context, scope).await.map(drop).map_err(|failed| failed.fault)
}

async fn guard(dispatcher: &Dispatcher) -> Result<(), FaultKind> {
    guard_in(dispatcher, &Scope::default()).await.map_err(|fault| fault.kind())
}

async fn after(ms: u64) {
    tokio::time::advance(Duration::from_millis(ms)).await;
}

const TRAP: Result<(), FaultKind> = Err(FaultKind::Trap);
const OPEN: Result<(), FaultKind> = Err(FaultKind::Circuit);

#[tokio::test(start_paused = true)]
async fn a_guard_that_fails_again_and_again_blocks_without_being_called_until_it_works() {
    let handler = Fickle::failing(FaultKind::Trap);
    let hooks = dispatcher(&Circuits::in_memory(settings(3, 1000)), HookId::BeforeToolCall, &handler);
    for _ in 0..3 {
        assert_eq!(guard(&hooks).await, TRAP);
    }
    assert_eq!((guard(&hooks).await, handler.calls()), (OPEN, 3));
    after(600).await;
    let text = guard_in(&hooks, &Scope::default()).await.unwrap_err().to_string();
    assert_eq!(
        text,
        "circuit open: after 3 faults in a row, the last one: trap: unreachable; it is tried again in 400 ms, or after `creel \
         plugins reset p --hook before_tool_call`"
    );
    after(400).await;
    assert_eq!((guard(&hooks).await, guard(&hooks).await, handler.calls()), (TRAP, OPEN, 4), "one probe, in vain");
    after(1000).await;
    assert_eq!(guard(&hooks).await, OPEN, "the cool-down has doubled");
    handler.fail(None);
    after(1000).await;
    assert_eq!((guard(&hooks).await, guard(&hooks).await, handler.calls()), (Ok(()), Ok(()), 6));
    handler.fail(Some(FaultKind::Trap));
    for _ in 0..3 {
        assert_eq!(guard(&hooks).await, TRAP, "after a success it counts from zero");
    }
    after(1000).await;
    assert_eq!(guard(&hooks).await, TRAP, "and the first cool-down is the short one again");
}

#[tokio::test(start_paused = true)]
async fn the_cool_down_doubles_up_to_its_limit() {
    let handler = Fickle::failing(FaultKind::Timeout);
    let hooks = dispatcher(&Circuits::in_memory(settings(1, 250_000)), HookId::BeforeToolCall, &handler);
    assert_eq!(guard(&hooks).await, Err(FaultKind::Timeout));
    for cooldown in [250_000, 500_000, 600_000, 600_000] {
        after(cooldown - 1).await;
        assert_eq!(guard(&hooks).await, OPEN, "{cooldown}");
        after(1).await;
        assert_eq!(guard(&hooks).await, Err(FaultKind::Timeout), "{cooldown}");
    }
}

#[tokio::test(start_paused = true)]
async fn successes_between_faults_keep_it_closed() {
    let handler = Fickle::failing(FaultKind::Guest);
    let hooks = dispatcher(&Circuits::in_memory(settings(2, 1000)), HookId::BeforeToolCall, &handler);
    for _ in 0..10 {
        handler.fail(Some(FaultKind::Guest));
        assert_eq!(guard(&hooks).await, Err(FaultKind::Guest));
        handler.fail(None);
        assert_eq!(guard(&hooks).await, Ok(()));
    }
}

#[tokio::test(start_paused = true)]
async fn only_faults_of_the_plugin_itself_count() {
    for (kind, counts) in [
        (FaultKind::Trap, true),
        (FaultKind::Timeout, true),
        (FaultKind::Limit, true),
        (FaultKind::Malformed, true),
        (FaultKind::Guest, true),
        (FaultKind::Host, false),
        (FaultKind::Cancelled, false),
    ] {
        let handler = Fickle::failing(kind);
        let hooks = dispatcher(&Circuits::in_memory(settings(2, 1000)), HookId::BeforeToolCall, &handler);
        for _ in 0..3 {
            assert!(guard(&hooks).await.is_err());
        }
        assert_eq!(handler.calls() == 2, counts, "{kind:?}");
    }
    let handler = Fickle::failing(FaultKind::Guest);
    let hooks = dispatcher(&Circuits::in_memory(settings(1, 1000)), HookId::BeforeToolCall, &handler);
    let stopped = Scope::default();
    stopped.cancel.cancel(CancelReason::User);
    for _ in 0..3 {
        assert!(guard_in(&hooks, &stopped).await.is_err());
    }
    assert_eq!(handler.calls(), 3, "an error with which a plugin answers a request to stop is none");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_given_up_leaves_the_next_call_to_probe() {
    let handler = Fickle::failing(FaultKind::Trap);
    let hooks = dispatcher(&Circuits::in_memory(settings(1, 1000)), HookId::BeforeToolCall, &handler);
    assert_eq!(guard(&hooks).await, TRAP);
    after(1000).await;
    handler.hangs.store(true, Ordering::Relaxed);
    {
        let mut probe = std::pin::pin!(guard(&hooks));
        assert!(futures_util::poll!(&mut probe).is_pending());
        assert_eq!(guard(&hooks).await, OPEN, "one probe at a time");
    }
    handler.hangs.store(false, Ordering::Relaxed);
    handler.fail(None);
    assert_eq!((guard(&hooks).await, handler.calls()), (Ok(()), 3));
}

#[tokio::test(start_paused = true)]
async fn a_late_end_of_an_older_call_neither_closes_nor_prolongs_an_open_circuit() {
    let slow = Arc::new(Fickle::default());
    slow.hangs.store(true, Ordering::Relaxed);
    let hooks = dispatcher(&Circuits::in_memory(settings(2, 20_000)), HookId::BeforeToolCall, &slow);
    let mut early = std::pin::pin!(guard(&hooks));
    assert!(futures_util::poll!(&mut early).is_pending());
    after(10_000).await;
    slow.hangs.store(false, Ordering::Relaxed);
    slow.fail(Some(FaultKind::Trap));
    assert_eq!((guard(&hooks).await, guard(&hooks).await), (TRAP, TRAP));
    assert_eq!(early.await, Err(FaultKind::Timeout));
    after(14_999).await;
    assert_eq!(guard(&hooks).await, OPEN);
    after(1).await;
    assert_eq!(guard(&hooks).await, TRAP, "the cool-down counts from the opening");
}

#[tokio::test(start_paused = true)]
async fn a_healthy_sibling_does_not_hide_a_broken_handler() {
    let (good, bad) = (Arc::new(Fickle::default()), Fickle::failing(FaultKind::Trap));
    let hook = HookId::BeforeModelResolve;
    let circuits = Circuits::in_memory(settings(3, 1000));
    let hooks =
        dispatcher_of(&circuits, Access::default(), vec![registration(hook, "good", &good), registration(hook, "bad", &bad)]);
    let ask = async || {
        let event = before_model_resolve::Event::default();
        hooks.decide::<BeforeModelResolve>(&event, &agent_context(), &Scope::default()).await.unwrap();
    };
    for _ in 0..5 {
        ask().await;
    }
    assert_eq!((good.calls(), bad.calls()), (3, 3));
    after(1000).await;
    ask().await;
    ask().await;
    assert_eq!((good.calls(), bad.calls()), (4, 4), "the sibling is the probe, and the next fault opens it at once");
}

#[tokio::test(start_paused = true)]
async fn where_a_hook_fails_open_the_handler_is_left_out_and_recorded() {
    let handler = Fickle::failing(FaultKind::Trap);
    let records = Arc::new(Records::default());
    let circuits = Circuits::in_memory(settings(1, 1000));
    for hook in [HookId::BeforeModelResolve, HookId::BeforeAgentReply, HookId::ToolResultPersist, HookId::AgentEnd] {
        records.0.lock().unwrap().clear();
        let access = Access { required: true, ..Access::default() };
        let hooks = dispatcher_of(&circuits, access, vec![registration(hook, "", &handler)]);
        let hooks = hooks.with_sink(Arc::clone(&records) as Arc<dyn RecordSink>);
        let before = handler.calls();
        for _ in 0..3 {
            fire(&hooks, hook).await;
        }
        assert_eq!(handler.calls() - before, 1, "{hook}");
        let outcomes: Vec<HandlerOutcome> = records.0.lock().unwrap().iter().map(|record| record.outcome.clone()).collect();
        let failed = HandlerOutcome::Faulted(FaultKind::Trap, "unreachable".to_owned());
        assert_eq!(outcomes, [failed, HandlerOutcome::SkippedCircuit, HandlerOutcome::SkippedCircuit], "{hook}");
    }
}

/// One dispatch of a hook that fails open. A required redactor that is left out counts as failed, so that a placeholder is stored.
async fn fire(hooks: &Dispatcher, hook: HookId) {
    let scope = Scope::default();
    match hook {
        HookId::BeforeModelResolve => {
            let event = before_model_resolve::Event::default();
            let done = hooks.decide::<BeforeModelResolve>(&event, &agent_context(), &scope).await.unwrap();
            assert!(done.failed_required().is_some());
        }
        HookId::ToolResultPersist => {
            let message = domain::message::ToolResultMessage {
                tool_call_id: domain::CallId::new("c"),
                tool_name: String::new(),
                content: Vec::new(),
                details: None,
                is_error: false,
                timestamp: 0,
                extra: serde_json::Map::new(),
            };
            let (tool_name, tool_call_id) = (String::new(), domain::CallId::new("c"));
            let event = tool_result_persist::Event { message, tool_name, tool_call_id, is_synthetic: false };
            let context = TranscriptContext { agent_id: AgentId::main(), session_key: SessionKey::main(&AgentId::main()) };
            let done = hooks.decide::<ToolResultPersist>(&event, &context, &scope).await.unwrap();
            assert!(done.failed_required().is_some(), "the placeholder rule holds");
        }
        HookId::BeforeAgentReply => {
            let event = before_agent_reply::Event { cleaned_body: String::new(), heartbeat_event_queue_session_key: None };
            assert!(hooks.claim::<BeforeAgentReply>(&event, &agent_context(), &scope).await.is_none());
        }
        HookId::AgentEnd => {
            let event = observed::AgentEnd { messages: Arc::from([]), success: true, error: None, duration_ms: None };
            hooks.observe::<AgentEnd>(&event, &agent_context(), &scope).await;
        }
        other => panic!("{other}"),
    }
}

fn access_of(component: &str) -> Access {
    Access { component: component.to_owned(), ..Access::default() }
}

/// A host that lives for one dispatch, as a command line does.
async fn one_turn(
    store: &Arc<MemoryCircuits>,
    clock: &Arc<FakeClock>,
    component: &str,
    handler: &Arc<Fickle>,
) -> Result<(), FaultKind> {
    let circuits = Circuits::kept(settings(3, 1000), Arc::clone(store) as _, Arc::clone(clock) as _).await;
    let hooks = dispatcher_of(&circuits, access_of(component), vec![registration(HookId::BeforeToolCall, "", handler)]);
    guard(&hooks).await
}

#[tokio::test]
async fn faults_in_processes_one_after_another_open_it() {
    let (store, clock) = (Arc::new(MemoryCircuits::default()), Arc::new(FakeClock::at(1_000_000)));
    let handler = Fickle::failing(FaultKind::Trap);
    for _ in 0..3 {
        assert_eq!(one_turn(&store, &clock, "a", &handler).await, TRAP);
    }
    assert_eq!((one_turn(&store, &clock, "a", &handler).await, handler.calls(), store.writes()), (OPEN, 3, 3));
    let record = store.records().remove(0);
    assert_eq!((record.failures, record.open.unwrap().probe_at), (3, 1_001_000));
    clock.advance(1000);
    handler.fail(None);
    assert_eq!(one_turn(&store, &clock, "a", &handler).await, Ok(()));
    assert_eq!(store.records(), [], "a plugin that works again has no record");
    let writes = store.writes();
    assert_eq!(one_turn(&store, &clock, "a", &handler).await, Ok(()));
    assert_eq!(store.writes(), writes, "a healthy call writes nothing");
}

#[tokio::test]
async fn another_component_starts_with_a_clean_sheet() {
    let (store, clock) = (Arc::new(MemoryCircuits::default()), Arc::new(FakeClock::at(0)));
    let handler = Fickle::failing(FaultKind::Trap);
    for _ in 0..3 {
        assert_eq!(one_turn(&store, &clock, "a", &handler).await, TRAP);
    }
    assert_eq!(one_turn(&store, &clock, "a", &handler).await, OPEN);
    assert_eq!(one_turn(&store, &clock, "b", &handler).await, TRAP);
}

#[tokio::test]
async fn registries_of_one_component_share_a_circuit_and_a_reset_closes_it_for_the_next_host() {
    let (store, clock) = (Arc::new(MemoryCircuits::default()), Arc::new(FakeClock::at(0)));
    let handler = Fickle::failing(FaultKind::Trap);
    let circuits = Circuits::kept(settings(2, 1000), Arc::clone(&store) as _, Arc::clone(&clock) as _).await;
    let with = |component: &str| {
        dispatcher_of(&circuits, access_of(component), vec![registration(HookId::BeforeToolCall, "", &handler)])
    };
    let (first, reloaded) = (with("a"), with("a"));
    assert_eq!((guard(&first).await, guard(&reloaded).await, guard(&first).await), (TRAP, TRAP, OPEN));
    assert_eq!(guard(&with("b")).await, TRAP, "a reload of another component does not inherit its faults");
    store.forget(&PluginId::new("p"), None).await.unwrap();
    assert_eq!(one_turn(&store, &clock, "a", &handler).await, TRAP);
}

#[tokio::test]
async fn without_its_store_a_circuit_still_opens() {
    let (store, clock) = (Arc::new(MemoryCircuits::default()), Arc::new(FakeClock::at(0)));
    store.break_down();
    let handler = Fickle::failing(FaultKind::Trap);
    let circuits = Circuits::kept(settings(2, 1000), store as _, clock as _).await;
    let hooks = dispatcher(&circuits, HookId::BeforeToolCall, &handler);
    assert_eq!((guard(&hooks).await, guard(&hooks).await, guard(&hooks).await), (TRAP, TRAP, OPEN));
}

#[test]
fn an_operator_changes_one_plugin_and_cannot_leave_the_bounds() {
    let all = CircuitSettings::default();
    assert_eq!((all.failures, all.cooldown), (5, Duration::from_secs(60)));
    let own = CircuitOverride { failures: Some(2), cooldown: None };
    assert_eq!(own.over(all), CircuitSettings { failures: 2, ..all });
    let odd = CircuitOverride { failures: Some(0), cooldown: Some(Duration::from_secs(9999)) };
    assert_eq!(odd.over(all), CircuitSettings { failures: 1, cooldown: MAX_COOLDOWN });
}
