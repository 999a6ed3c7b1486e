//! A hook of a plugin as a [`Handler`]: from a dispatch to the guest and back.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use hooks::{Fault, FaultKind, Handler, HookCall, HookId, HookInvocation, HookReply};

use crate::export::{self, Export, Visitor};
use crate::instance::{Live, Plugin, at_the_edge};
use crate::state::CallFacts;

/// One exported hook of a plugin.
struct HookHandler<E: Export> {
    plugin: Arc<Plugin>,
    indices: E::Indices,
}

/// The handler of a hook that the component exports.
///
/// # Errors
/// When the component does not export the hook, which the loader has checked before.
pub(crate) fn of_hook(plugin: &Arc<Plugin>, hook: HookId) -> wasmtime::Result<Arc<dyn Handler>> {
    struct Make<'a>(&'a Arc<Plugin>);

    impl Visitor for Make<'_> {
        type Output = wasmtime::Result<Arc<dyn Handler>>;

        fn visit<E: Export>(self) -> Self::Output {
            let indices = E::indices(self.0.pre())?;
            Ok(Arc::new(HookHandler::<E> { plugin: Arc::clone(self.0), indices }))
        }
    }

    export::visit(hook, Make(plugin))
}

impl<E: Export> Handler for HookHandler<E> {
    fn call<'a>(&'a self, call: HookCall<'a>, invocation: &'a HookInvocation<'a>) -> BoxFuture<'a, Result<HookReply, Fault>> {
        Box::pin(async move {
            let Some((event, context)) = E::unpack(&call) else {
                return Err(Fault::new(FaultKind::Host, format!("BUG: a handler of {} was called for {}", E::ID, call.id())));
            };
            self.answer(event, context, invocation).await.map(E::reply)
        })
    }
}

impl<E: Export> HookHandler<E> {
    async fn answer(
        &self,
        event: &E::Event,
        context: &E::Context,
        invocation: &HookInvocation<'_>,
    ) -> Result<Option<Box<E::Answer>>, Fault> {
        let facts = facts(E::ID, invocation);
        let work = pin!(async {
            let mut live = self.plugin.take(&facts).await?;
            let answer = self.ask(&mut live, invocation.handler, event, context).await?;
            self.plugin.give_back(facts.run, live);
            answer
        });
        at_the_edge(&facts, work).await
    }

    /// Asks the guest. The outer error is one after which the instance must not be used again.
    async fn ask(
        &self,
        live: &mut Live,
        handler: &str,
        event: &E::Event,
        context: &E::Context,
    ) -> Result<Result<Option<Box<E::Answer>>, Fault>, Fault> {
        let guest = match E::guest(&self.indices, &mut live.guests, &mut live.store, &live.instance) {
            Ok(guest) => guest,
            Err(error) => return Err(live.fault(&error)),
        };
        let called = E::ask(&guest, &mut live.store, handler, event, context).await;
        called.map_err(|error| live.fault(&error))
    }
}

fn facts<'a>(hook: HookId, invocation: &HookInvocation<'a>) -> CallFacts<'a> {
    let facts = CallFacts {
        run: invocation.run,
        session: invocation.session_key,
        chain: invocation.chain,
        trace: invocation.trace,
        ..CallFacts::until(hook.name(), invocation.deadline, invocation.budget)
    };
    facts.cancelled_by(invocation.cancel)
}
