//! The dispatch rules over native handlers: order, selection, stops, failure policies, budgets, nesting. The same rules over real
//! components are in the system tests.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::{AgentId, CallId, JsonText, PluginId, RunId, SessionId, SessionKey};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hooks::access::Access;
use hooks::budget::Ceilings;
use hooks::catalogue::{AfterToolCall, BeforeModelResolve, BeforeToolCall, MessageSending};
use hooks::context::{AgentContext, MessageContext, ToolContext};
use hooks::events::{before_model_resolve, before_tool_call, message_sending, observed};
use hooks::record::{HandlerOutcome, HandlerRecord, RecordSink};
use hooks::{
    Dispatcher, Fault, FaultKind, Handler, HandlerOptions, HookCall, HookId, HookInvocation, HookReply, Registration, Registry,
    RegistryBuilder, Scope,
};

type Answering = dyn Fn(HookCall<'_>) -> Result<HookReply, Fault> + Send + Sync;

/// Answers by a closure and remembers that it was called.
struct Native {
    name: &'static str,
    calls: Arc<Mutex<Vec<&'static str>>>,
    answer: Box<Answering>,
}

impl Handler for Native {
    fn call<'a>(&'a self, call: HookCall<'a>, _invocation: &'a HookInvocation<'a>) -> BoxFuture<'a, Result<HookReply, Fault>> {
        self.calls.lock().unwrap().push(self.name);
        let reply = (self.answer)(call);
        async move { reply }.boxed()
    }
}

/// Never answers.
struct Hanging;

impl Handler for Hanging {
    fn call<'a>(&'a self, _call: HookCall<'a>, _invocation: &'a HookInvocation<'a>) -> BoxFuture<'a, Result<HookReply, Fault>> {
        std::future::pending().boxed()
    }
}

#[derive(Default)]
struct Records(Mutex<Vec<HandlerRecord>>);

impl RecordSink for Records {
    fn handled(&self, record: HandlerRecord) {
        self.0.lock().unwrap().push(record);
    }
}

#[derive(Default)]
struct Setup {
    calls: Arc<Mutex<Vec<&'static str>>>,
    plugins: Vec<(PluginId, Access, Vec<Registration>)>,
}

impl Setup {
    fn on(
        mut self,
        plugin: &'static str,
        hook: HookId,
        priority: f64,
        answer: impl Fn(HookCall<'_>) -> Result<HookReply, Fault> + Send + Sync + 'static,
    ) -> Self {
        let handler = Arc::new(Native { name: plugin, calls: Arc::clone(&self.calls), answer: Box::new(answer) });
        self.push(plugin, hook, HandlerOptions { priority, ..HandlerOptions::default() }, handler);
        self
    }

    fn hanging(mut self, plugin: &'static str, hook: HookId, priority: f64) -> Self {
        self.push(plugin, hook, HandlerOptions { priority, ..HandlerOptions::default() }, Arc::new(Hanging));
        self
    }

    fn push(&mut self, plugin: &str, hook: HookId, options: HandlerOptions, handler: Arc<dyn Handler>) {
        let access = Access { allow_conversation: Some(true), ..Access::default() };
        self.plugins.push((
            PluginId::new(plugin),
            access,
            vec![Registration { hook, handler_name: String::new(), options, handler }],
        ));
    }

    fn registry(self) -> Registry {
        let mut builder = RegistryBuilder::new(Ceilings::default());
        for (plugin, access, registrations) in self.plugins {
            builder.add_plugin(&plugin, &access, registrations);
        }
        let (registry, diagnostics) = builder.build();
        assert_eq!(diagnostics, []);
        registry
    }

    fn dispatcher(self) -> Dispatcher {
        Dispatcher::new(Arc::new(self.registry()))
    }
}

fn agent_context() -> AgentContext {
    AgentContext::new(AgentId::main(), SessionKey::main(&AgentId::main()), SessionId::new("s"))
}

fn tool_context() -> ToolContext {
    ToolContext {
        agent_id: AgentId::main(),
        session_key: SessionKey::main(&AgentId::main()),
        session_id: SessionId::new("s"),
        run_id: RunId::new("r"),
        channel_id: None,
        requester: None,
        is_preflight: false,
        extra: Vec::new(),
    }
}

fn tool_event() -> before_tool_call::Event {
    before_tool_call::Event {
        tool_name: "exec".into(),
        params: JsonText::empty_object(),
        tool_call_id: CallId::new("c"),
        tool_kind: None,
        tool_input_kind: None,
        derived_paths: Vec::new(),
        vetoed: None,
    }
}

fn quiet(call: HookCall<'_>) -> Result<HookReply, Fault> {
    Ok(match call.id() {
        HookId::BeforeToolCall => HookReply::BeforeToolCall(None),
        HookId::MessageSending => HookReply::MessageSending(None),
        HookId::AfterToolCall => HookReply::AfterToolCall(None),
        other => panic!("{other}"),
    })
}

fn model(name: &'static str) -> impl Fn(HookCall<'_>) -> Result<HookReply, Fault> {
    move |_| {
        let answer = before_model_resolve::Answer { model_override: Some(name.into()), ..Default::default() };
        Ok(HookReply::BeforeModelResolve(Some(Box::new(answer))))
    }
}

fn block(reason: &'static str) -> impl Fn(HookCall<'_>) -> Result<HookReply, Fault> {
    move |_| {
        let answer = before_tool_call::Answer { block: true, block_reason: Some(reason.into()), ..Default::default() };
        Ok(HookReply::BeforeToolCall(Some(Box::new(answer))))
    }
}

#[tokio::test]
async fn larger_priorities_run_first_and_ties_keep_load_order() {
    let setup = Setup::default()
        .on("zero", HookId::BeforeModelResolve, 0.0, model("zero"))
        .on("half", HookId::BeforeModelResolve, 0.5, model("half"))
        .on("ten", HookId::BeforeModelResolve, 10.0, model("ten"))
        .on("minus", HookId::BeforeModelResolve, -5.0, model("minus"))
        .on("zero-too", HookId::BeforeModelResolve, -0.0, model("zero-too"));
    let calls = Arc::clone(&setup.calls);
    let dispatched = setup
        .dispatcher()
        .decide::<BeforeModelResolve>(&before_model_resolve::Event::default(), &agent_context(), &Scope::default())
        .await
        .unwrap();
    assert_eq!(*calls.lock().unwrap(), ["ten", "half", "zero", "zero-too", "minus"]);
    assert_eq!(dispatched.decision.model_override.as_deref(), Some("ten"));
}

#[tokio::test]
async fn a_block_ends_the_dispatch_and_names_its_plugin() {
    let setup =
        Setup::default().on("blocker", HookId::BeforeToolCall, 10.0, block("no")).on("spy", HookId::BeforeToolCall, 0.0, quiet);
    let calls = Arc::clone(&setup.calls);
    let decision =
        setup.dispatcher().decide::<BeforeToolCall>(&tool_event(), &tool_context(), &Scope::default()).await.unwrap().decision;
    assert_eq!(decision.blocked_by, Some(PluginId::new("blocker")));
    assert_eq!(decision.block_reason.as_deref(), Some("no"));
    assert_eq!(*calls.lock().unwrap(), ["blocker"]);
}

#[tokio::test]
async fn a_fault_aborts_a_closed_hook_and_is_passed_over_in_an_open_one() {
    let fail = |_: HookCall<'_>| Err(Fault::new(FaultKind::Trap, "unreachable"));
    let setup = Setup::default().on("bad", HookId::BeforeToolCall, 1.0, fail).on("spy", HookId::BeforeToolCall, 0.0, quiet);
    let calls = Arc::clone(&setup.calls);
    let failed =
        setup.dispatcher().decide::<BeforeToolCall>(&tool_event(), &tool_context(), &Scope::default()).await.unwrap_err();
    assert_eq!((failed.plugin.as_str(), failed.fault.kind()), ("bad", FaultKind::Trap));
    assert_eq!(*calls.lock().unwrap(), ["bad"]);

    let rewrite = |_: HookCall<'_>| {
        let answer = message_sending::Answer { content: Some("x".into()), ..Default::default() };
        Ok(HookReply::MessageSending(Some(Box::new(answer))))
    };
    let open = Setup::default().on("bad", HookId::MessageSending, 1.0, fail).on("good", HookId::MessageSending, 0.0, rewrite);
    let event = message_sending::Event { content: "o".into(), ..Default::default() };
    let dispatched =
        open.dispatcher().decide::<MessageSending>(&event, &MessageContext::new("terminal"), &Scope::default()).await.unwrap();
    assert_eq!(dispatched.decision.content.as_deref(), Some("x"));
    assert_eq!(dispatched.skipped.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_never_answers_is_left_at_its_budget() {
    let dispatcher = Setup::default().hanging("slow", HookId::BeforeToolCall, 0.0).dispatcher();
    let started = tokio::time::Instant::now();
    let failed = dispatcher.decide::<BeforeToolCall>(&tool_event(), &tool_context(), &Scope::default()).await.unwrap_err();
    assert_eq!(failed.fault.kind(), FaultKind::Timeout);
    assert_eq!(started.elapsed(), Duration::from_secs(15));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_observer_delays_no_other() {
    let setup = Setup::default().hanging("slow", HookId::AfterToolCall, 10.0).on("quick", HookId::AfterToolCall, 0.0, quiet);
    let calls = Arc::clone(&setup.calls);
    let dispatcher = setup.dispatcher();
    let event = observed::AfterToolCall {
        tool_name: "exec".into(),
        params: JsonText::empty_object(),
        tool_call_id: CallId::new("c"),
        tool_kind: None,
        tool_input_kind: None,
        outcome: domain::tool::ToolOutcome::Ok,
        result: None,
        error: None,
        duration_ms: None,
    };
    let (context, scope) = (tool_context(), Scope::default());
    let watching = || dispatcher.registry().watching().map(|(hook, plugin)| format!("{plugin} {hook}")).collect::<Vec<_>>();
    {
        let mut observing = std::pin::pin!(dispatcher.observe::<AfterToolCall>(&event, &context, &scope));
        tokio::select! {
            () = &mut observing => panic!("the slow observer has no default budget"),
            () = tokio::time::sleep(Duration::from_millis(1)) => {}
        }
        assert_eq!(*calls.lock().unwrap(), ["quick"]);
        assert_eq!(watching(), ["slow after_tool_call"], "who keeps the others waiting is known");
    }
    assert_eq!(watching(), Vec::<String>::new(), "a call that is given up watches no more");
}

#[tokio::test]
async fn handlers_of_a_plugin_in_the_chain_are_left_out_with_a_record() {
    let records = Arc::new(Records::default());
    let setup =
        Setup::default().on("own", HookId::BeforeToolCall, 1.0, block("own")).on("other", HookId::BeforeToolCall, 0.0, quiet);
    let dispatcher = Dispatcher::new(Arc::new(setup.registry())).with_sink(Arc::clone(&records) as Arc<dyn RecordSink>);
    let scope = Scope { chain: vec![PluginId::new("own")], ..Scope::default() };
    let decision = dispatcher.decide::<BeforeToolCall>(&tool_event(), &tool_context(), &scope).await.unwrap().decision;
    assert_eq!(decision.blocked_by, None);
    let outcomes: Vec<HandlerOutcome> = records.0.lock().unwrap().iter().map(|record| record.outcome.clone()).collect();
    assert_eq!(outcomes, [HandlerOutcome::SkippedNested, HandlerOutcome::Quiet]);

    let deep = Scope { chain: ["a", "b", "c", "d"].map(PluginId::new).to_vec(), ..Scope::default() };
    let decision = dispatcher.decide::<BeforeToolCall>(&tool_event(), &tool_context(), &deep).await.unwrap().decision;
    assert_eq!(decision.blocked_by, None, "a chain is at most four deep");
}

#[test]
fn gates_and_bad_options_leave_a_registration_out_with_a_sentence() {
    let handler: Arc<dyn Handler> = Arc::new(Hanging);
    let registration = |hook, options| Registration { hook, handler_name: String::new(), options, handler: Arc::clone(&handler) };
    let mut builder = RegistryBuilder::new(Ceilings::default());
    let matcher = |names: &[&str]| HandlerOptions {
        matcher: Some(names.iter().map(|name| (*name).to_owned()).collect()),
        ..HandlerOptions::default()
    };
    builder.add_plugin(
        &PluginId::new("p"),
        &Access::default(),
        vec![
            registration(HookId::AgentEnd, HandlerOptions::default()),
            registration(HookId::BeforeToolCall, matcher(&[])),
            registration(HookId::BeforeToolCall, matcher(&["*"])),
            registration(HookId::BeforeToolCall, matcher(&["exec"])),
        ],
    );
    let (registry, diagnostics) = builder.build();
    assert!(!registry.has(HookId::AgentEnd));
    assert_eq!(registry.handlers(HookId::BeforeToolCall).count(), 1);
    let texts: Vec<&str> = diagnostics.iter().map(|diagnostic| diagnostic.text.as_str()).collect();
    assert!(texts[0].contains("plugins.entries.p.hooks.allowConversationAccess: true"), "{texts:?}");
    assert_eq!(texts.len(), 3);
}

#[test]
fn a_refused_registration_of_a_required_plugin_leaves_the_host_unguarded() {
    let handler: Arc<dyn Handler> = Arc::new(Hanging);
    let build = |required| {
        let mut builder = RegistryBuilder::new(Ceilings::default());
        let access = Access { required, ..Access::default() };
        let options = HandlerOptions::default();
        let guard =
            Registration { hook: HookId::BeforeAgentRun, handler_name: String::new(), options, handler: Arc::clone(&handler) };
        builder.add_plugin(&PluginId::new("guard"), &access, vec![guard]);
        builder.build().0
    };
    assert_eq!(build(false).unguarded(), []);
    let registry = build(true);
    assert!(registry.unguarded()[0].text.contains("allowConversationAccess"), "{:?}", registry.unguarded());
}
