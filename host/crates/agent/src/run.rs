//! A run: its state, its stages, and its one exit. Whatever happens in the stages (end, error, abort, deadline, panic) or to the run
//! itself (its future is dropped), the exit gives the session back, emits exactly one terminal event and tells `agent_end`
//! (agent-loop 19).

mod contexts;
mod ending;
mod exit;
mod ownership;
mod stages;
mod state;
mod watchers;

pub(crate) use state::RunState;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use domain::cancel::CancelReason;
use domain::event::{EventData, Lifecycle};

use crate::accept::AcceptedRun;
use crate::error::RunError;
use crate::outcome::RunOutcome;
use crate::wind_down::caught;
use exit::Exit;

/// How long the work of a run may go on after it was asked to stop (agent-loop 19.5). Far more than it needs: models, tools and
/// plugins are cut after [`WIND_DOWN`](crate::wind_down::WIND_DOWN), and what is left is to store the end.
pub const ABORT_GRACE: Duration = Duration::from_secs(30);

impl AcceptedRun {
    /// Runs to the end. Dropping the future stops the run and gives the session back.
    pub async fn run(self) -> RunOutcome {
        let Self { state, request } = self;
        let mut exit = Exit::new(Arc::clone(&state));
        state.emit(EventData::Lifecycle(Lifecycle::Start { started_at: state.ports().clock.now_ms() }));
        let budget = request.timeout.or(state.settings().run_timeout).filter(|budget| !budget.is_zero());
        let result = bounded(&state, budget, stages::all(&state, &request, &mut exit.progress)).await;
        exit.leave(result, budget).await
    }
}

/// Runs the work under the run's budget and, after a request to stop, under the grace.
async fn bounded(
    state: &RunState,
    budget: Option<Duration>,
    work: impl Future<Output = Result<(), RunError>>,
) -> Result<(), RunError> {
    let mut work = pin!(caught(work));
    let timer = async {
        match budget {
            Some(budget) => tokio::time::sleep(budget).await,
            None => std::future::pending().await,
        }
    };
    let finished = tokio::select! {
        biased;
        finished = &mut work => Some(finished),
        () = timer => {
            state.cancel().cancel(CancelReason::Timeout);
            None
        }
        () = state.cancel().cancelled() => None,
    };
    let finished = match finished {
        Some(finished) => finished,
        None => tokio::time::timeout(ABORT_GRACE, work).await.unwrap_or(Ok(Err(RunError::Aborted))),
    };
    finished.unwrap_or_else(|panic| Err(RunError::Panicked(panic.0)))
}
