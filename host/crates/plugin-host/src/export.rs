//! The hooks as exports of a component: one row per hook ties the host's point to the interface that carries it, so that a hook that
//! is missing on either side does not compile. The functions here look things up, check types and call; they know nothing of
//! deadlines or pools.

use std::future::Future;

use hooks::{Fault, FaultKind, HookCall, HookId, HookPoint, HookReply, catalogue as point};
use wasmtime::Store;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ComponentExportIndex, Instance, InstancePre};

use crate::bindings::creel::plugin::types as wit_types;
use crate::bindings::exports::creel::plugin as exports;
use crate::convert::{Arena, FromAnswer, ToRecord};
use crate::state::State;

/// One hook as an export.
pub(crate) trait Export: HookPoint {
    /// Where the function is in a component.
    type Indices: Clone + Send + Sync + 'static;
    /// The function of an instance.
    type Guest: Clone + Send + Sync + 'static;

    /// Event and context of a call, if it is one of this hook.
    fn unpack<'a>(call: &HookCall<'a>) -> Option<(&'a Self::Event, &'a Self::Context)>;

    /// Wraps an answer.
    fn reply(answer: Option<Box<Self::Answer>>) -> HookReply;

    /// Looks the function up in a component.
    fn indices(pre: &InstancePre<State>) -> wasmtime::Result<Self::Indices>;

    /// The function of an instance, looked up once and then kept.
    fn guest(
        indices: &Self::Indices,
        guests: &mut Guests,
        store: &mut Store<State>,
        instance: &Instance,
    ) -> wasmtime::Result<Self::Guest>;

    /// Calls the function.
    fn ask<'a>(
        guest: &'a Self::Guest,
        store: &'a mut Store<State>,
        handler: &'a str,
        event: &'a Self::Event,
        context: &'a Self::Context,
    ) -> impl Future<Output = wasmtime::Result<Result<Option<Box<Self::Answer>>, Fault>>> + Send + 'a;
}

/// What `handle` of a hook that decides returns.
type Decides<P> = Result<Option<<<P as HookPoint>::Answer as FromAnswer>::Wit>, String>;

/// What `handle` of a hook that watches returns.
type Watches = Result<(), String>;

/// What `handle` takes.
type Handle<P> = (
    &'static str,
    <<P as HookPoint>::Event as ToRecord<'static>>::Record,
    <<P as HookPoint>::Context as ToRecord<'static>>::Record,
);

pub(crate) fn decided<A: FromAnswer>(returned: Result<Option<A::Wit>, String>) -> Result<Option<Box<A>>, Fault> {
    match returned {
        Ok(Some(answer)) if !A::is_silent(&answer) => A::from_answer(answer).map(|answer| Some(Box::new(answer))),
        Ok(_) => Ok(None),
        Err(text) => Err(Fault::new(FaultKind::Guest, text)),
    }
}

fn watched(returned: Watches) -> Result<Option<Box<()>>, Fault> {
    returned.map(|()| None).map_err(|text| Fault::new(FaultKind::Guest, text))
}

/// Type of what `handle` returns, and the function that checks it.
macro_rules! returned {
    (type decides $point:ident) => { Decides<point::$point> };
    (type watches $point:ident) => { Watches };
    (check decides) => { decided };
    (check watches) => { watched };
}

/// Visits a hook with its type.
pub(crate) trait Visitor {
    /// What the visit gives.
    type Output;
    /// Visits.
    fn visit<E: Export>(self) -> Self::Output;
}

macro_rules! exports {
    ($($point:ident: $module:ident = $interface:literal $kind:ident;)*) => {
        /// Functions of one instance that were looked up so far.
        #[derive(Default)]
        pub(crate) struct Guests {
            $($module: Option<exports::$module::Guest>,)*
        }

        $(
            impl Export for point::$point {
                type Indices = exports::$module::GuestIndices;
                type Guest = exports::$module::Guest;

                fn unpack<'a>(call: &HookCall<'a>) -> Option<(&'a Self::Event, &'a Self::Context)> {
                    match *call {
                        HookCall::$point(event, context) => Some((event, context)),
                        _ => None,
                    }
                }

                fn reply(answer: Option<Box<Self::Answer>>) -> HookReply {
                    HookReply::$point(answer)
                }

                fn indices(pre: &InstancePre<State>) -> wasmtime::Result<Self::Indices> {
                    exports::$module::GuestIndices::new(pre)
                }

                fn guest(
                    indices: &Self::Indices,
                    guests: &mut Guests,
                    store: &mut Store<State>,
                    instance: &Instance,
                ) -> wasmtime::Result<Self::Guest> {
                    if let Some(guest) = &guests.$module {
                        return Ok(guest.clone());
                    }
                    let guest = indices.load(store, instance)?;
                    guests.$module = Some(guest.clone());
                    Ok(guest)
                }

                async fn ask<'a>(
                    guest: &'a Self::Guest,
                    store: &'a mut Store<State>,
                    handler: &'a str,
                    event: &'a Self::Event,
                    context: &'a Self::Context,
                ) -> wasmtime::Result<Result<Option<Box<Self::Answer>>, Fault>> {
                    let arena = Arena::new();
                    let event = event.to_record(&arena);
                    let context = context.to_record(&arena);
                    let returned = guest.call_handle(store, handler, event, context).await?;
                    Ok(returned!(check $kind)(returned))
                }
            }
        )*

        /// The interface that carries a hook.
        pub(crate) fn interface(hook: HookId) -> &'static str {
            match hook {
                $(HookId::$point => concat!("creel:plugin/", $interface, "@0.1.0"),)*
            }
        }

        /// Visits a hook with its type.
        pub(crate) fn visit<V: Visitor>(hook: HookId, visitor: V) -> V::Output {
            match hook {
                $(HookId::$point => visitor.visit::<point::$point>(),)*
            }
        }

        /// Compares the type of an exported function with that of the contract.
        fn typecheck_handle(hook: HookId, func: &ComponentFunc, component: &Component) -> wasmtime::Result<()> {
            let ty = component.component_type();
            match hook {
                $(HookId::$point => func.typecheck::<Handle<point::$point>, (returned!(type $kind $point),)>(&ty.instance_type()),)*
            }
        }
    };
}

exports! {
    BeforeModelResolve: before_model_resolve = "before-model-resolve" decides;
    AgentTurnPrepare: agent_turn_prepare = "agent-turn-prepare" decides;
    BeforePromptBuild: before_prompt_build = "before-prompt-build" decides;
    BeforeAgentStart: before_agent_start = "before-agent-start" decides;
    BeforeAgentReply: before_agent_reply = "before-agent-reply" decides;
    BeforeAgentRun: before_agent_run = "before-agent-run" decides;
    BeforeAgentFinalize: before_agent_finalize = "before-agent-finalize" decides;
    AgentEnd: agent_end = "agent-end" watches;
    LlmInput: llm_input = "llm-input" watches;
    LlmOutput: llm_output = "llm-output" watches;
    ModelCallStarted: model_call_started = "model-call-started" watches;
    ModelCallEnded: model_call_ended = "model-call-ended" watches;
    BeforeToolCall: before_tool_call = "before-tool-call" decides;
    ApprovalResolved: approval_resolved = "approval-resolved" watches;
    AfterToolCall: after_tool_call = "after-tool-call" watches;
    ResolveExecEnv: resolve_exec_env = "resolve-exec-env" decides;
    ToolResultPersist: tool_result_persist = "tool-result-persist" decides;
    MessageReceived: message_received = "message-received" watches;
    ReplyPayloadSending: reply_payload_sending = "reply-payload-sending" decides;
    MessageSending: message_sending = "message-sending" decides;
    MessageSent: message_sent = "message-sent" watches;
    SessionStart: session_start = "session-start" watches;
    SessionEnd: session_end = "session-end" watches;
    BeforeReset: before_reset = "before-reset" watches;
    BeforeCompaction: before_compaction = "before-compaction" watches;
    AfterCompaction: after_compaction = "after-compaction" watches;
    BeforeMessageWrite: before_message_write = "before-message-write" decides;
    GatewayStart: gateway_start = "gateway-start" watches;
    GatewayStop: gateway_stop = "gateway-stop" watches;
    BeforeInstall: before_install = "before-install" decides;
}

/// The interface of plugin tools.
pub(crate) const TOOLS: &str = "creel:plugin/tools@0.1.0";

/// How an export differs from the contract.
#[derive(Debug, thiserror::Error)]
#[error("its export `{interface}` does not fit: {problem}")]
pub struct Misfit {
    interface: &'static str,
    problem: String,
}

/// Checks the type of a hook's export, without running anything.
pub(crate) fn check(component: &Component, hook: HookId) -> Result<(), Misfit> {
    let interface = interface(hook);
    let Some((_, instance)) = component.get_export(None, interface) else {
        return Err(Misfit { interface, problem: "it is not there".to_owned() });
    };
    check_function(component, &instance, interface, "handle", |func| typecheck_handle(hook, func, component))
}

/// Checks the type of the export `tools`. `false`: the component does not export it.
pub(crate) fn check_tools(component: &Component) -> Result<bool, Misfit> {
    use exports::tools::{Call, Scope, Tool};
    let Some((_, instance)) = component.get_export(None, TOOLS) else { return Ok(false) };
    let ty = component.component_type();
    check_function(component, &instance, TOOLS, "list-tools", |func| {
        func.typecheck::<(Option<Scope<'_>>,), (Result<Vec<Tool>, String>,)>(&ty.instance_type())
    })?;
    check_function(component, &instance, TOOLS, "execute", |func| {
        func.typecheck::<(Call<'_>, wit_types::ToolContext<'_>), (Result<wit_types::ToolResult, String>,)>(&ty.instance_type())
    })?;
    Ok(true)
}

fn check_function(
    component: &Component,
    instance: &ComponentExportIndex,
    interface: &'static str,
    name: &str,
    typecheck: impl FnOnce(&ComponentFunc) -> wasmtime::Result<()>,
) -> Result<(), Misfit> {
    let misfit = |problem: String| Misfit { interface, problem };
    match component.get_export(Some(instance), name) {
        Some((ComponentItem::ComponentFunc(func), _)) => {
            typecheck(&func).map_err(|error| misfit(format!("in `{name}`, {error:#}")))
        }
        _ => Err(misfit(format!("it has no function `{name}`"))),
    }
}
