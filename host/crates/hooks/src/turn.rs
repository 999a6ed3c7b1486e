//! One call of one handler in a dispatch: whether it is made at all, how long it may take, which fields it is told, and what its end means
//! for later calls. What the answer means to the dispatch is not known here.

use tokio::time::Instant;

use crate::allowance::Allowance;
use crate::budget;
use crate::dispatch::Scope;
use crate::fault::{Fault, FaultKind};
use crate::handler::HookInvocation;
use crate::point::HookPoint;
use crate::registry::Entry;

/// The turn of one handler in a dispatch.
pub(crate) struct Turn<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) scope: &'a Scope,
    pub(crate) allowance: &'a Allowance<'a>,
    pub(crate) started: Instant,
}

impl Turn<'_> {
    /// Makes the call, if the time of the dispatch and the circuit of the handler allow it. The handler enforces its deadline by itself;
    /// the timer here is the second line, and dropping the call throws away whatever it was working on.
    pub(crate) async fn call<H: HookPoint>(
        &self,
        event: &H::Event,
        context: &H::Context,
        check: impl Fn(&H::Answer) -> Result<(), Fault>,
    ) -> Result<Option<Box<H::Answer>>, Fault> {
        let Self { entry, scope, allowance, started } = *self;
        let limit = allowance.limit(started, entry.budget)?;
        let pass = entry.admit()?;
        let invocation = HookInvocation {
            handler: &entry.handler_name,
            deadline: limit.deadline,
            budget: limit.budget,
            run: scope.run.as_ref(),
            session_key: scope.session_key.as_ref(),
            cancel: &scope.cancel,
            chain: &scope.chain,
            trace: scope.trace.as_ref(),
        };
        let told = entry.options.fields.map(|fields| fields.apply(event, context));
        let (event, context) = told.as_deref().map_or((event, context), |(event, context)| (event, context));
        let call = entry.handler.call(H::call(event, context), &invocation);
        let called = match budget::within(limit.deadline, call).await {
            Some(Ok(reply)) => H::answer(reply).and_then(|answer| match &answer {
                Some(given) => check(given).map(|()| answer),
                None => Ok(None),
            }),
            Some(Err(fault)) => Err(fault),
            None => Err(Fault::new(FaultKind::Timeout, format!("no answer within {} ms", limit.budget.as_millis()))),
        };
        let called = match called {
            Ok(answer) => Ok(answer),
            Err(fault) => Err(allowance.explain(fault, limit, &entry.plugin, started)),
        };
        if let Some(pass) = pass
            && let Some(changed) = pass.ended(&entry.handler_name, called.as_ref().err(), &scope.cancel)
        {
            // Boxed, so that calls that change nothing do not carry its future around.
            Box::pin(changed.save()).await;
        }
        called
    }
}
