//! What a store holds: the facts of the plugin, those of the call that it serves right now, and the contexts of the capabilities. The
//! call is set before guest code runs and replaced before the next one; nothing of one call is left for the next.

use std::sync::{Arc, Weak};
use std::time::Duration;

use domain::cancel::Cancel;
use domain::ports::{PluginKv, RunScope, SessionExtensions};
use domain::services::RunServices;
use domain::session::SessionReader;
use domain::tool::ToolResult;
use domain::{PluginId, SessionKey};
use egress::{Egress, Network};
use hooks::handler::TraceContext;
use tokio::sync::watch;
use tokio::time::Instant;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::capability::files::{DataDirectory, FilesState};
use crate::capability::http::HttpState;
use crate::capability::secrets::SecretsState;
use crate::capability::wasi;
use crate::grant::Grants;
use crate::guest_log::GuestLog;
use crate::limiter::{Limiter, TotalMemory};
use crate::limits::{Limits, size};
use crate::log_rate::LogRate;
use crate::told::Told;

/// How long a guest may go on after its run was asked to stop, so that one that asks `is-cancelled` can leave by itself.
pub(crate) const CANCEL_GRACE: Duration = Duration::from_millis(100);

/// What stands behind the capabilities.
#[derive(Clone)]
pub struct Ports {
    /// Key-value storage.
    pub kv: Arc<dyn PluginKv>,
    /// Values inside sessions.
    pub session_extensions: Arc<dyn SessionExtensions>,
    /// Sessions and transcripts, to read.
    pub sessions: Arc<dyn SessionReader>,
    /// What HTTP requests go through.
    pub network: Network,
}

/// What all instances of a plugin share.
pub(crate) struct PluginFacts {
    pub(crate) id: PluginId,
    /// Its settings, a JSON object.
    pub(crate) config: String,
    pub(crate) grants: Grants,
    pub(crate) limits: Limits,
    pub(crate) ports: Ports,
    pub(crate) memory: Arc<TotalMemory>,
    pub(crate) log_rate: Arc<LogRate>,
    /// The way out; none: HTTP is not granted.
    pub(crate) egress: Option<Egress>,
    /// Its files; none: they are not granted.
    pub(crate) files: Option<DataDirectory>,
    /// Where a run keeps what it was told of this plugin.
    pub(crate) told_slot: u64,
}

/// Why a call was stopped by the host. Travels through wasmtime as an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stopped {
    #[error("no answer within {} ms", .0.as_millis())]
    Deadline(Duration),
    #[error("the run was asked to stop")]
    Cancelled,
}

/// A call as its maker knows it; copied into the store only where guest code may ask for it.
#[derive(Clone, Copy)]
pub(crate) struct CallFacts<'a> {
    /// What is called: a hook, or a function of `tools`.
    pub(crate) surface: &'static str,
    /// When the host stops waiting.
    pub(crate) deadline: Instant,
    /// How long that is in all; for messages.
    pub(crate) budget: Duration,
    /// The run, which keeps instances.
    pub(crate) run: Option<&'a RunScope>,
    /// The session that it belongs to.
    pub(crate) session: Option<&'a SessionKey>,
    /// Plugins whose calls are around it, outermost first.
    pub(crate) chain: &'a [PluginId],
    /// Its trace.
    pub(crate) trace: Option<&'a TraceContext>,
    /// Absent: the call cannot be cancelled, only its deadline counts.
    pub(crate) cancel: Option<&'a Cancel>,
}

impl<'a> CallFacts<'a> {
    /// A call with a deadline and nothing around it.
    pub(crate) fn until(surface: &'static str, deadline: Instant, budget: Duration) -> Self {
        Self { surface, deadline, budget, run: None, session: None, chain: &[], trace: None, cancel: None }
    }

    /// Makes the call end soon after `cancel` is asked for. A call that starts after that was made because of it (a watcher hears
    /// that a run was aborted), so only its deadline counts.
    pub(crate) fn cancelled_by(self, cancel: &'a Cancel) -> Self {
        Self { cancel: (!cancel.is_cancelled()).then_some(cancel), ..self }
    }
}

/// The call that an instance serves.
pub(crate) struct Call {
    /// What is called.
    pub(crate) surface: &'static str,
    /// When the host stops waiting.
    pub(crate) deadline: Instant,
    /// The session that it belongs to.
    pub(crate) session: Option<SessionKey>,
    /// Plugins whose calls are around it, outermost first.
    pub(crate) chain: Vec<PluginId>,
    /// What its run does for plugins. None: it belongs to no run. Not kept alive by this: the run keeps the instance.
    pub(crate) services: Option<Weak<dyn RunServices>>,
    /// Its trace.
    pub(crate) trace: Option<TraceContext>,
    /// Takes partial results; only while a tool runs.
    pub(crate) progress: Option<watch::Sender<Option<ToolResult>>>,
    budget: Duration,
    cancel: Option<Cancel>,
    /// End of the grace, once cancelling was seen.
    grace_ends: Option<Instant>,
}

impl Call {
    fn new(facts: &CallFacts<'_>) -> Self {
        Self {
            surface: facts.surface,
            deadline: facts.deadline,
            session: facts.session.cloned(),
            chain: facts.chain.to_vec(),
            services: facts.run.and_then(RunScope::services).cloned(),
            trace: facts.trace.cloned(),
            progress: None,
            budget: facts.budget,
            cancel: facts.cancel.cloned(),
            grace_ends: None,
        }
    }

    /// Takes the place of the call before. Calls of one run share their session, so that mostly stays.
    fn renew(&mut self, facts: &CallFacts<'_>) {
        let session = self.session.take().filter(|session| Some(session) == facts.session);
        *self = Self { session: session.or_else(|| facts.session.cloned()), ..Self::new(&CallFacts { session: None, ..*facts }) };
    }

    /// What can end the call from outside.
    pub(crate) fn cancel(&self) -> Option<&Cancel> {
        self.cancel.as_ref()
    }

    /// Whether the result is not wanted any more.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_cancelled)
    }

    /// Looks at the clock, at each tick while guest code runs.
    pub(crate) fn check(&mut self, now: Instant) -> Result<(), Stopped> {
        if now >= self.deadline {
            return Err(Stopped::Deadline(self.budget));
        }
        if self.is_cancelled() && now >= *self.grace_ends.get_or_insert(now + CANCEL_GRACE) {
            return Err(Stopped::Cancelled);
        }
        Ok(())
    }
}

/// Waits until a call has to end; the counterpart of [`Call::check`] for a guest that waits for the host.
pub(crate) async fn stopped(deadline: Instant, budget: Duration, cancel: Option<&Cancel>) -> Stopped {
    let cancelled = async {
        match cancel {
            Some(cancel) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
        tokio::time::sleep(CANCEL_GRACE).await;
    };
    tokio::select! {
        biased;
        () = tokio::time::sleep_until(deadline) => Stopped::Deadline(budget),
        () = cancelled => Stopped::Cancelled,
    }
}

/// The data of one store.
pub(crate) struct State {
    pub(crate) plugin: Arc<PluginFacts>,
    pub(crate) call: Call,
    pub(crate) log: Arc<GuestLog>,
    pub(crate) http: HttpState,
    pub(crate) secrets: SecretsState,
    pub(crate) files: FilesState,
    pub(crate) told: Told,
    pub(crate) limiter: Limiter,
    wasi: WasiCtx,
    pub(crate) table: ResourceTable,
}

impl State {
    /// The data of a store that is made for a call.
    pub(crate) fn new(plugin: Arc<PluginFacts>, facts: &CallFacts<'_>) -> Self {
        let log = Arc::new(GuestLog::new(plugin.id.clone(), plugin.limits, Arc::clone(&plugin.log_rate)));
        log.begin(facts.surface, facts.session);
        let mut table = ResourceTable::new();
        table.set_max_capacity(size(plugin.limits.handles));
        let limiter = Limiter::new(plugin.limits, Arc::clone(&plugin.memory));
        let told = Told::of(facts.run, plugin.told_slot);
        Self {
            call: Call::new(facts),
            limiter,
            wasi: wasi::context(&log, &plugin.grants),
            table,
            log,
            http: HttpState::new(&told, facts.surface, facts.deadline),
            secrets: SecretsState::default(),
            files: FilesState::default(),
            told,
            plugin,
        }
    }

    /// Makes the instance serve another call: its facts, and fresh budgets.
    pub(crate) fn serve(&mut self, facts: &CallFacts<'_>) {
        self.log.begin(facts.surface, facts.session);
        self.call.renew(facts);
        self.limiter.take_refusal();
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

#[cfg(test)]
mod tests {
    use domain::cancel::CancelReason;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn cancelling_gives_grace_and_the_deadline_does_not() {
        let start = Instant::now();
        let cancel = Cancel::default();
        let budget = Duration::from_secs(1);
        let mut call = Call::new(&CallFacts::until("agent_end", start + budget, budget).cancelled_by(&cancel));
        assert_eq!(call.check(start), Ok(()));
        cancel.cancel(CancelReason::User);
        assert!(call.is_cancelled());
        assert_eq!(call.check(start), Ok(()));
        assert_eq!(call.check(start + CANCEL_GRACE), Err(Stopped::Cancelled));
        assert_eq!(call.check(start + budget), Err(Stopped::Deadline(budget)));
        assert_eq!(stopped(call.deadline, budget, Some(&cancel)).await, Stopped::Cancelled);
        assert_eq!(Instant::now(), start + CANCEL_GRACE);
        assert_eq!(stopped(call.deadline, budget, None).await, Stopped::Deadline(budget));
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_made_after_cancelling_runs_to_its_deadline() {
        let cancel = Cancel::default();
        cancel.cancel(CancelReason::User);
        let budget = Duration::from_secs(1);
        let call = Call::new(&CallFacts::until("agent_end", Instant::now() + budget, budget).cancelled_by(&cancel));
        assert!(call.cancel().is_none() && !call.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_of_a_call_is_left_for_the_next() {
        let (deadline, budget) = (Instant::now() + Duration::from_secs(1), Duration::from_secs(1));
        let key = |name: &str| SessionKey::parse(name, None, &domain::AgentId::main()).ok();
        let (first, second, chain) = (key("first"), key("second"), [PluginId::new("x")]);
        let (cancel, trace) =
            (Cancel::default(), TraceContext { trace_id: "t".into(), span_id: None, parent_span_id: None, trace_flags: None });
        let facts = CallFacts {
            session: first.as_ref(),
            chain: &chain,
            trace: Some(&trace),
            ..CallFacts::until("agent_end", deadline, budget)
        };
        let mut call = Call::new(&facts.cancelled_by(&cancel));
        cancel.cancel(CancelReason::User);
        assert_eq!(call.check(Instant::now()), Ok(()));
        for session in [first.as_ref(), second.as_ref(), None] {
            call.renew(&CallFacts { session, ..CallFacts::until("agent_end", deadline, budget) });
            assert_eq!(call.session.as_ref(), session);
        }
        assert!(call.trace.is_none() && call.progress.is_none() && call.cancel().is_none());
        assert!(call.chain.is_empty() && call.grace_ends.is_none());
    }
}
