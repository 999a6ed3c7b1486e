//! Calls handlers: selects them, runs them in order under their budgets, folds their answers, reports and logs. What answers mean is
//! in the folds, what a fault means is one `match` here; an emitter sees the decision and nothing of the rest.

use std::sync::Arc;
use std::time::Duration;

use domain::cancel::Cancel;
use domain::ports::RunScope;
use domain::{PluginId, SessionKey};
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::catalogue::{FailurePolicy, HookId, Kind};
use crate::fault::{Fault, FaultKind, one_line};
use crate::handler::{MAX_CHAIN_DEPTH, TraceContext};
use crate::point::{Claim, Fold, Observe, Who};
use crate::record::{HandlerOutcome, HandlerRecord, RecordSink};
use crate::registry::{Entry, Registry};
use crate::turn::Turn;

/// Longest text about one handler call in the log, in bytes. Answers hold words of plugins.
const MAX_LOGGED_BYTES: usize = 400;

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
        let mut allowance = self.registry.allowance(H::ID);
        for entry in self.registry.entries(H::ID) {
            let newest = refreshed.as_ref().unwrap_or(event);
            if !H::selects(newest, context, &entry.options) || self.is_nested(H::ID, entry, scope) {
                continue;
            }
            let started = Instant::now();
            let turn = Turn { entry, scope, allowance: &allowance, started };
            let called = turn.call::<H>(newest, context, |answer| H::check(newest, answer)).await;
            allowance.took(&entry.plugin, started);
            let outcome = match called {
                Ok(Some(answer)) => {
                    let described = self.is_watched().then(|| H::describe(&answer)).flatten();
                    let who = Who { plugin: &entry.plugin, handler: &entry.handler_name, options: &entry.options };
                    decision = H::fold(decision, *answer, who);
                    if H::is_terminal(&decision) {
                        self.record(H::ID, entry, scope, started, HandlerOutcome::Decided(described.unwrap_or_default()));
                        break;
                    }
                    refreshed = H::refresh(newest, &decision).or(refreshed);
                    described.map_or(HandlerOutcome::Quiet, HandlerOutcome::Answered)
                }
                Ok(None) => HandlerOutcome::Quiet,
                Err(fault) => {
                    let outcome = failure(H::ID, entry, &fault);
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
        let mut allowance = self.registry.allowance(H::ID);
        for entry in self.registry.entries(H::ID) {
            if !H::selects(event, context, &entry.options) || self.is_nested(H::ID, entry, scope) {
                continue;
            }
            let started = Instant::now();
            let turn = Turn { entry, scope, allowance: &allowance, started };
            let called = turn.call::<H>(event, context, |_| Ok(())).await;
            allowance.took(&entry.plugin, started);
            match called {
                Ok(Some(answer)) if H::claims(&answer) => {
                    self.record(H::ID, entry, scope, started, HandlerOutcome::Decided(H::describe(&answer)));
                    return Some(Claimed { plugin: entry.plugin.clone(), answer: *answer });
                }
                Ok(_) => self.record(H::ID, entry, scope, started, HandlerOutcome::Quiet),
                Err(fault) => self.record(H::ID, entry, scope, started, failure(H::ID, entry, &fault)),
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
        let allowance = &self.registry.allowance(H::ID);
        join_all(selected.map(|entry| async move {
            let _watching = entry.watch();
            let started = Instant::now();
            let turn = Turn { entry, scope, allowance, started };
            let outcome = match turn.call::<H>(event, context, |()| Ok(())).await {
                Ok(_) => HandlerOutcome::Quiet,
                Err(fault) => failure(H::ID, entry, &fault),
            };
            self.record(H::ID, entry, scope, started, outcome);
        }))
        .await;
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

    /// Whether anybody wants to know what handlers do. Nothing is put into words for nobody: a warm call takes microseconds.
    fn is_watched(&self) -> bool {
        self.sink.is_some() || tracing::enabled!(tracing::Level::DEBUG)
    }

    /// Tells what a handler did: one line of the log for each call, who decided and at which priority among them (1.2), and a record.
    fn record(&self, hook: HookId, entry: &Entry, scope: &Scope, started: Instant, outcome: HandlerOutcome) {
        if !self.is_watched() {
            return;
        }
        let elapsed = started.elapsed();
        // That a handler is left out was told once, when its circuit opened.
        if outcome != HandlerOutcome::SkippedCircuit {
            log(hook, entry, &outcome, elapsed);
        }
        let Some(sink) = &self.sink else { return };
        sink.handled(HandlerRecord {
            hook,
            plugin: entry.plugin.clone(),
            handler: entry.handler_name.clone(),
            outcome,
            elapsed,
            run_id: scope.run.as_ref().map(|run| run.run_id().clone()),
        });
    }
}

fn log(hook: HookId, entry: &Entry, outcome: &HandlerOutcome, elapsed: Duration) {
    let words = match outcome {
        HandlerOutcome::Quiet if hook.row().kind == Kind::Observe => "watched".to_owned(),
        _ => one_line(&outcome.to_string(), MAX_LOGGED_BYTES),
    };
    tracing::debug!(
        %hook,
        plugin = %entry.plugin,
        handler = (!entry.handler_name.is_empty()).then_some(entry.handler_name.as_str()),
        priority = entry.options.priority,
        ?elapsed,
        "handler called: {words}"
    );
}

/// What a fault is in the record; logs it. A handler that only is left out while its circuit is open did not fail again.
fn failure(hook: HookId, entry: &Entry, fault: &Fault) -> HandlerOutcome {
    if fault.kind() == FaultKind::Circuit && hook.row().policy != FailurePolicy::Closed {
        return HandlerOutcome::SkippedCircuit;
    }
    tracing::warn!(hook = %hook, plugin = %entry.plugin, cause = fault.kind().as_str(), "plugin handler failed: {}", fault.text());
    HandlerOutcome::Faulted(fault.kind(), fault.text().to_owned())
}
