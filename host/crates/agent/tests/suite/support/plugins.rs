//! Plugins as closures: typed per hook, so that a test says only what its handler answers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use domain::PluginId;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hooks::access::Access;
use hooks::budget::Ceilings;
use hooks::catalogue as hook;
use hooks::{
    Dispatcher, Fault, Handler, HandlerOptions, HookCall, HookId, HookInvocation, HookPoint, HookReply, Registration,
    RegistryBuilder,
};

use super::Journal;

/// What a handler does.
pub(crate) enum Verdict<A> {
    Answers(Option<A>),
    Faults(Fault),
    Hangs,
    After(Duration, Option<A>),
}

impl<A> From<Option<A>> for Verdict<A> {
    fn from(answer: Option<A>) -> Self {
        Self::Answers(answer)
    }
}

/// A hook point whose calls can be opened and answered by type.
pub(crate) trait Point: HookPoint {
    fn open<'a>(call: HookCall<'a>) -> Option<(&'a Self::Event, &'a Self::Context)>;
    fn reply(answer: Option<Self::Answer>) -> HookReply;
}

macro_rules! points {
    ($($point:ident),* $(,)?) => {
        $(impl Point for hook::$point {
            fn open<'a>(call: HookCall<'a>) -> Option<(&'a Self::Event, &'a Self::Context)> {
                match call {
                    HookCall::$point(event, context) => Some((event, context)),
                    _ => None,
                }
            }

            fn reply(answer: Option<Self::Answer>) -> HookReply {
                HookReply::$point(answer.map(Box::new))
            }
        })*

        /// The hooks that a run can reach.
        const ALL: &[HookId] = &[$(HookId::$point),*];

        fn no_opinion(hook: HookId) -> HookReply {
            match hook {
                $(HookId::$point => HookReply::$point(None),)*
                other => unreachable!("{other} is not fired by a run"),
            }
        }
    };
}

points!(
    MessageReceived,
    BeforeReset,
    SessionStart,
    SessionEnd,
    BeforeAgentReply,
    BeforeModelResolve,
    BeforeAgentStart,
    AgentTurnPrepare,
    BeforePromptBuild,
    BeforeAgentRun,
    LlmInput,
    ModelCallStarted,
    ModelCallEnded,
    LlmOutput,
    BeforeToolCall,
    ApprovalResolved,
    ResolveExecEnv,
    AfterToolCall,
    ToolResultPersist,
    BeforeMessageWrite,
    BeforeAgentFinalize,
    AgentEnd,
    ReplyPayloadSending,
    MessageSending,
    MessageSent,
);

struct Native<H: Point, F> {
    answer: F,
    point: std::marker::PhantomData<fn() -> H>,
}

impl<H, F, V> Handler for Native<H, F>
where
    H: Point,
    F: Fn(&H::Event, &H::Context, &HookInvocation<'_>) -> V + Send + Sync,
    V: Into<Verdict<H::Answer>>,
{
    fn call<'a>(&'a self, call: HookCall<'a>, invocation: &'a HookInvocation<'a>) -> BoxFuture<'a, Result<HookReply, Fault>> {
        let (event, context) = H::open(call).expect("a handler is called for its own hook");
        let verdict = (self.answer)(event, context, invocation).into();
        async move {
            match verdict {
                Verdict::Answers(answer) => Ok(H::reply(answer)),
                Verdict::Faults(fault) => Err(fault),
                Verdict::Hangs => std::future::pending().await,
                Verdict::After(pause, answer) => {
                    tokio::time::sleep(pause).await;
                    Ok(H::reply(answer))
                }
            }
        }
        .boxed()
    }
}

/// Notes each call and has no opinion.
struct Recorder(Journal);

impl Handler for Recorder {
    fn call<'a>(&'a self, call: HookCall<'a>, _invocation: &'a HookInvocation<'a>) -> BoxFuture<'a, Result<HookReply, Fault>> {
        let hook = call.id();
        self.0.note(hook.name());
        async move { Ok(no_opinion(hook)) }.boxed()
    }
}

/// Plugins in load order.
#[derive(Default)]
pub(crate) struct Plugins(Vec<Plugin>);

struct Plugin {
    id: PluginId,
    required: bool,
    registrations: Vec<Registration>,
}

impl Plugins {
    fn plugin(&mut self, id: &str) -> &mut Plugin {
        let position = self.0.iter().position(|plugin| plugin.id.as_str() == id).unwrap_or_else(|| {
            self.0.push(Plugin { id: PluginId::new(id), required: false, registrations: Vec::new() });
            self.0.len() - 1
        });
        &mut self.0[position]
    }

    pub(crate) fn add<H, V>(
        &mut self,
        plugin: &str,
        options: HandlerOptions,
        answer: impl Fn(&H::Event, &H::Context, &HookInvocation<'_>) -> V + Send + Sync + 'static,
    ) where
        H: Point,
        V: Into<Verdict<H::Answer>> + 'static,
    {
        let handler = Arc::new(Native::<H, _> { answer, point: std::marker::PhantomData });
        self.plugin(plugin).registrations.push(Registration { hook: H::ID, handler_name: String::new(), options, handler });
    }

    pub(crate) fn require(&mut self, plugin: &str) {
        self.plugin(plugin).required = true;
    }

    /// A plugin that watches every hook.
    pub(crate) fn record_all(&mut self, journal: &Journal) {
        for hook in ALL {
            let (options, handler) = (HandlerOptions::default(), Arc::new(Recorder(journal.clone())));
            let registration = Registration { hook: *hook, handler_name: String::new(), options, handler };
            self.plugin("recorder").registrations.push(registration);
        }
    }

    pub(crate) fn dispatcher(self) -> Dispatcher {
        let mut builder = RegistryBuilder::new(Ceilings::default());
        for plugin in self.0 {
            let access = Access { allow_conversation: Some(true), required: plugin.required, ..Access::default() };
            builder.add_plugin(&plugin.id, &access, plugin.registrations);
        }
        Dispatcher::new(Arc::new(builder.build().0))
    }
}

/// What a handler has seen.
pub(crate) type Seen<E> = Arc<Mutex<Vec<E>>>;

/// A handler that keeps what it sees and has no opinion, and where it keeps it.
#[allow(clippy::type_complexity, reason = "a closure has no shorter type")]
pub(crate) fn seen<H>() -> (Seen<H::Event>, impl Fn(&H::Event, &H::Context, &HookInvocation<'_>) -> Option<H::Answer>)
where
    H: Point,
    H::Event: Clone,
{
    let events = Seen::default();
    let kept = Arc::clone(&events);
    let handler = move |event: &H::Event, _: &H::Context, _: &HookInvocation<'_>| {
        kept.lock().unwrap().push(event.clone());
        None
    };
    (events, handler)
}
