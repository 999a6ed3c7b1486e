//! Calls handlers: selects them, runs them in order under their budgets, folds their answers, reports and logs. What answers mean is
//! in the folds, what a fault means is one `match` here; an emitter sees the decision and nothing of the rest.

use std::sync::Arc;

use domain::cancel::Cancel;
use domain::ports::RunScope;
use domain::{PluginId, SessionKey};
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::budget;
use crate::catalogue::{FailurePolicy, HookId};
use crate::fault::{Fault, FaultKind};
use crate::handler::{HookInvocation, MAX_CHAIN_DEPTH, TraceContext};
use crate::point::{Claim, Fold, HookPoint, Observe, Who};
use crate::record::{HandlerOutcome, HandlerRecord, RecordSink};
use crate::registry::{Entry, Registry};

/// What surrounds a dispatch.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// The run.
    pub run: Option<RunScope>,
    /// The session.
    pub session_key: Option<SessionKey>,
    /// Asks the run to stop.
    pub cancel: Cancel,
    /// Plugins whose calls are around this dispatch, outermost first.
    pub chain: Vec<PluginId>,
    /// The trace.
    pub trace: Option<TraceContext>,
}

/// A fault of one handler that did not stop the dispatch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedHandler {
    /// The plugin.
    pub plugin: PluginId,
    /// Whether the operator marked it as required.
    pub required: bool,
    /// What went wrong.
    pub fault: Fault,
}

/// The end of a dispatch that was not aborted.
#[derive(Debug)]
pub struct Dispatched<D> {
    /// The merged decision; its default if nobody answered.
    pub decision: D,
    /// Handlers that failed and were skipped.
    pub skipped: Vec<SkippedHandler>,
}

impl<D> Dispatched<D> {
    /// The first handler of a required plugin that failed.
    pub fn failed_required(&self) -> Option<&SkippedHandler> {
        self.skipped.iter().find(|skipped| skipped.required)
    }
}

/// A dispatch of a fail-closed hook that a fault aborted: the operation is blocked (plugin-hooks 1.8).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plugin `{plugin}` failed in {hook} ({fault}), so the operation is blocked")]
pub struct FailedClosed {
    /// The hook.
    pub hook: HookId,
    /// The plugin.
    pub plugin: PluginId,
    /// What went wrong.
    pub fault: Fault,
}

/// A claim and who made it.
#[derive(Debug)]
pub struct Claimed<A> {
    /// The plugin.
    pub plugin: PluginId,
    /// What it answered.
    pub answer: A,
}

/// Calls the handlers of a registry.
#[derive(Clone)]
pub struct Dispatcher {
    registry: Arc<Registry>,
    sink: Option<Arc<dyn RecordSink>>,
}

impl Dispatcher {
    /// A dispatcher over these handlers.
    pub fn new(registry: Arc<Registry>) -> Self {
        Self { registry, sink: None }
    }

    /// Reports each handler call to a sink.
    #[must_use]
    pub fn with_sink(mut self, sink: Arc<dyn RecordSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Whether any handler is registered, so that an emitter can spare itself building an event.
    pub fn has(&self, hook: HookId) -> bool {
        self.registry.has(hook)
    }

    /// The handlers.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Asks the handlers of a hook that decides, one after another, and merges what they say (1.4, modify, gate and sync).
    ///
    /// # Errors
    /// When a handler of a fail-closed hook fails; answers collected so far are discarded.
    pub async fn decide<H: Fold>(
        &self,
        event: &H::Event,
        context: &H::Context,
        scope: &Scope,
    ) -> Result<Dispatched<H::Decision>, FailedClosed> {
        let mut decision = H::Decision::default();
        let mut skipped = Vec::new();
        let mut refreshed: Option<H::Event> = None;
        for entry in self.registry.entries(H::ID) {
            let newest = refreshed.as_ref().unwrap_or(event);
            if !H::selects(newest, context, &entry.options) || self.is_nested(H::ID, entry, scope) {
                continue;
            }
            let started = Instant::now();
            let outcome = match self.call::<H>(entry, newest, context, scope, started).await {
                Ok(Some(answer)) => {
                    let described = self.sink.as_ref().and_then(|_| H::describe(&answer));
                    let who = Who { plugin: &entry.plugin, handler: &entry.handler_name, options: &entry.options };
                    decision = H::fold(decision, *answer, who);
                    if H::is_terminal(&decision) {
                        self.record(H::ID, entry, scope, started, HandlerOutcome::Decided(described.unwrap_or_default()));
                        tracing::debug!(hook = %H::ID, plugin = %entry.plugin, priority = entry.options.priority, "terminal decision");
                        break;
                    }
                    refreshed = H::refresh(newest, &decision).or(refreshed);
                    described.map_or(HandlerOutcome::Quiet, HandlerOutcome::Answered)
                }
                Ok(None) => HandlerOutcome::Quiet,
                Err(fault) => {
                    let outcome = HandlerOutcome::Faulted(fault.kind(), fault.text().to_owned());
                    log_fault(H::ID, entry, &fault);
                    match H::ID.row().policy {
                        FailurePolicy::Closed => {
                            self.record(H::ID, entry, scope, started, outcome);
                            return Err(FailedClosed { hook: H::ID, plugin: entry.plugin.clone(), fault });
                        }
                        FailurePolicy::Open | FailurePolicy::OpenOrPlaceholder => {
                            let plugin = entry.plugin.clone();
                            skipped.push(SkippedHandler { plugin, required: entry.required, fault });
                        }
                    }
                    outcome
                }
            };
            self.record(H::ID, entry, scope, started, outcome);
        }
        Ok(Dispatched { decision, skipped })
    }

    /// Asks the handlers one after another until one claims (1.4, claim). A handler that fails is passed over.
    pub async fn claim<H: Claim>(&self, event: &H::Event, context: &H::Context, scope: &Scope) -> Option<Claimed<H::Answer>> {
        for entry in self.registry.entries(H::ID) {
            if !H::selects(event, context, &entry.options) || self.is_nested(H::ID, entry, scope) {
                continue;
            }
            let started = Instant::now();
            match self.call_unchecked::<H>(entry, event, context, scope, started).await {
                Ok(Some(answer)) if H::claims(&answer) => {
                    self.record(H::ID, entry, scope, started, HandlerOutcome::Decided(H::describe(&answer)));
                    return Some(Claimed { plugin: entry.plugin.clone(), answer: *answer });
                }
                Ok(_) => self.record(H::ID, entry, scope, started, HandlerOutcome::Quiet),
                Err(fault) => {
                    log_fault(H::ID, entry, &fault);
                    let outcome = HandlerOutcome::Faulted(fault.kind(), fault.text().to_owned());
                    self.record(H::ID, entry, scope, started, outcome);
                }
            }
        }
        None
    }

    /// Tells all handlers of a hook that only watches, all at once, and waits for them (1.4, observe). An emitter that does not
    /// want to wait runs this in a task of its own.
    pub async fn observe<H: Observe>(&self, event: &H::Event, context: &H::Context, scope: &Scope) {
        self.observe_some::<H>(event, context, scope, |_| true).await;
    }

    /// Tells the handlers of one plugin only.
    pub async fn observe_plugin<H: Observe>(&self, plugin: &PluginId, event: &H::Event, context: &H::Context, scope: &Scope) {
        self.observe_some::<H>(event, context, scope, |entry| entry.plugin == *plugin).await;
    }

    async fn observe_some<H: Observe>(
        &self,
        event: &H::Event,
        context: &H::Context,
        scope: &Scope,
        wanted: impl Fn(&Entry) -> bool,
    ) {
        let selected =
            self.registry.entries(H::ID).iter().filter(|entry| {
                wanted(entry) && H::selects(event, context, &entry.options) && !self.is_nested(H::ID, entry, scope)
            });
        join_all(selected.map(|entry| async move {
            let started = Instant::now();
            let outcome = match self.call_unchecked::<H>(entry, event, context, scope, started).await {
                Ok(_) => HandlerOutcome::Quiet,
                Err(fault) => {
                    log_fault(H::ID, entry, &fault);
                    HandlerOutcome::Faulted(fault.kind(), fault.text().to_owned())
                }
            };
            self.record(H::ID, entry, scope, started, outcome);
        }))
        .await;
    }

    async fn call<H: Fold>(
        &self,
        entry: &Entry,
        event: &H::Event,
        context: &H::Context,
        scope: &Scope,
        started: Instant,
    ) -> Result<Option<Box<H::Answer>>, Fault> {
        let answer = self.call_unchecked::<H>(entry, event, context, scope, started).await?;
        if let Some(answer) = &answer {
            H::check(event, answer)?;
        }
        Ok(answer)
    }

    /// One call under its budget. The handler enforces the deadline by itself; the timer here is the second line, and dropping the
    /// call throws away whatever it was working on.
    async fn call_unchecked<H: HookPoint>(
        &self,
        entry: &Entry,
        event: &H::Event,
        context: &H::Context,
        scope: &Scope,
        started: Instant,
    ) -> Result<Option<Box<H::Answer>>, Fault> {
        let deadline = started + entry.budget;
        let invocation = HookInvocation {
            handler: &entry.handler_name,
            deadline,
            budget: entry.budget,
            run: scope.run.as_ref(),
            session_key: scope.session_key.as_ref(),
            cancel: &scope.cancel,
            chain: &scope.chain,
            trace: scope.trace.as_ref(),
        };
        let call = entry.handler.call(H::call(event, context), &invocation);
        match budget::within(deadline, call).await {
            Some(reply) => H::answer(reply?),
            None => Err(Fault::new(FaultKind::Timeout, format!("no answer within {} ms", entry.budget.as_millis()))),
        }
    }

    /// Leaves out handlers of plugins that already stand in this chain, and all handlers where the chain is as deep as allowed.
    fn is_nested(&self, hook: HookId, entry: &Entry, scope: &Scope) -> bool {
        let outcome = if scope.chain.contains(&entry.plugin) {
            HandlerOutcome::SkippedNested
        } else if scope.chain.len() >= MAX_CHAIN_DEPTH {
            HandlerOutcome::SkippedTooDeep
        } else {
            return false;
        };
        self.record(hook, entry, scope, Instant::now(), outcome);
        true
    }

    fn record(&self, hook: HookId, entry: &Entry, scope: &Scope, started: Instant, outcome: HandlerOutcome) {
        let Some(sink) = &self.sink else { return };
        sink.handled(HandlerRecord {
            hook,
            plugin: entry.plugin.clone(),
            handler: entry.handler_name.clone(),
            outcome,
            elapsed: started.elapsed(),
            run_id: scope.run.as_ref().map(|run| run.run_id().clone()),
        });
    }
}

fn log_fault(hook: HookId, entry: &Entry, fault: &Fault) {
    tracing::warn!(hook = %hook, plugin = %entry.plugin, cause = fault.kind().as_str(), "plugin handler failed: {}", fault.text());
}
