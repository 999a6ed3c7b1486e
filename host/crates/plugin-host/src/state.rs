//! What a store holds: the facts of the plugin, those of the call that it serves right now, and the contexts of the capabilities. The
//! call is set before guest code runs and replaced before the next one; nothing of one call is left for the next.

use std::sync::Arc;
use std::time::Duration;

use domain::cancel::Cancel;
use domain::ports::{PluginKv, SessionExtensions};
use domain::tool::ToolResult;
use domain::{PluginId, SessionKey};
use hooks::handler::TraceContext;
use tokio::sync::watch;
use tokio::time::Instant;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::capability::wasi;
use crate::grant::Grants;
use crate::guest_log::GuestLog;
use crate::limiter::Limiter;
use crate::limits::{HANDLES, Limits};

/// How long a guest may go on after its run was asked to stop, so that one that asks `is-cancelled` can leave by itself.
pub(crate) const CANCEL_GRACE: Duration = Duration::from_millis(100);

/// What stands behind the capabilities.
#[derive(Clone)]
pub struct Ports {
    /// Key-value storage.
    pub kv: Arc<dyn PluginKv>,
    /// Values inside sessions.
    pub session_extensions: Arc<dyn SessionExtensions>,
}

/// What all instances of a plugin share.
pub(crate) struct PluginFacts {
    pub(crate) id: PluginId,
    /// Its settings, a JSON object.
    pub(crate) config: String,
    pub(crate) grants: Grants,
    pub(crate) limits: Limits,
    pub(crate) ports: Ports,
}

/// Why a call was stopped by the host. Travels through wasmtime as an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stopped {
    #[error("no answer within {} ms", .0.as_millis())]
    Deadline(Duration),
    #[error("the run was asked to stop")]
    Cancelled,
}

/// The call that an instance serves.
pub(crate) struct Call {
    /// When the host stops waiting.
    pub(crate) deadline: Instant,
    /// How long that was in all; for messages.
    pub(crate) budget: Duration,
    /// The session that it belongs to.
    pub(crate) session: Option<SessionKey>,
    /// Plugin calls around it.
    pub(crate) depth: u32,
    /// Its trace.
    pub(crate) trace: Option<TraceContext>,
    /// Takes partial results; only while a tool runs.
    pub(crate) progress: Option<watch::Sender<Option<ToolResult>>>,
    /// Absent: the call cannot be cancelled, only its deadline counts.
    cancel: Option<Cancel>,
    /// End of the grace, once cancelling was seen.
    grace_ends: Option<Instant>,
}

impl Call {
    /// A call with a deadline and nothing around it.
    pub(crate) fn until(deadline: Instant, budget: Duration) -> Self {
        Self { deadline, budget, session: None, depth: 0, trace: None, progress: None, cancel: None, grace_ends: None }
    }

    /// Makes the call end soon after `cancel` is asked for. A call that starts after that was made because of it (a watcher hears
    /// that a run was aborted), so only its deadline counts.
    pub(crate) fn cancelled_by(mut self, cancel: &Cancel) -> Self {
        self.cancel = (!cancel.is_cancelled()).then(|| cancel.clone());
        self
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
    pub(crate) limiter: Limiter,
    wasi: WasiCtx,
    table: ResourceTable,
}

impl State {
    pub(crate) fn new(plugin: Arc<PluginFacts>, call: Call) -> Self {
        let log = Arc::new(GuestLog::new(plugin.id.clone(), plugin.limits.log_bytes));
        let mut table = ResourceTable::new();
        table.set_max_capacity(HANDLES);
        Self { call, limiter: Limiter::new(plugin.limits.memory_bytes), wasi: wasi::context(&log), table, log, plugin }
    }

    /// Makes the instance serve a call: its facts, and fresh budgets.
    pub(crate) fn begin(&mut self, call: Call, surface: &'static str) {
        self.log.begin(surface, call.session.as_ref());
        self.call = call;
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
        let mut call = Call::until(start + budget, budget).cancelled_by(&cancel);
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
        let call = Call::until(Instant::now() + budget, budget).cancelled_by(&cancel);
        assert!(call.cancel().is_none() && !call.is_cancelled());
    }
}
