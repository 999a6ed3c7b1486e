//! The session while a run owns it: begun once, given back on every way out. Who calls this, and that nobody forgets it, is the business
//! of the exit.

use std::sync::Arc;
use std::time::Duration;

use domain::session::{RunSummary, SessionStore, StoreError};
use domain::{RunId, SessionId, SessionKey};

use super::RunState;
use crate::wind_down::caught;

/// Pauses before further tries to give a session back. A session that stays owned refuses every later message.
const RETRY_PAUSES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(5), Duration::from_secs(20)];

/// A session that a run may own.
#[derive(Clone)]
pub(crate) struct Ownership {
    store: Arc<dyn SessionStore>,
    key: SessionKey,
    session_id: SessionId,
    run_id: RunId,
}

impl Ownership {
    /// The session of a run, not owned yet.
    pub(crate) fn of(run: &RunState) -> Self {
        Self {
            store: Arc::clone(&run.ports().store),
            key: run.session_key().clone(),
            session_id: run.session_id().clone(),
            run_id: run.run_id().clone(),
        }
    }

    /// Makes the run the only writer of its session. If this is dropped half way the run may own it all the same.
    pub(crate) async fn begin(&self, now: u64) -> Result<(), StoreError> {
        self.store.begin_run(&self.key, &self.session_id, &self.run_id, now).await
    }

    /// Gives the session back and stores how the run went. False: it was not possible, and [`Ownership::retry`] has to do it.
    pub(crate) async fn end(&self, summary: RunSummary) -> bool {
        let problem = match caught(self.store.end_run(&self.key, &self.run_id, summary)).await {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("BUG: the session store panicked: {}", panic.0),
        };
        tracing::error!(run = %self.run_id, session = %self.key, "the session could not be given back: {problem}");
        false
    }

    /// Tries again to give the session back.
    pub(crate) async fn retry(self, summary: RunSummary) {
        for pause in RETRY_PAUSES {
            tokio::time::sleep(pause).await;
            if self.end(summary.clone()).await {
                return;
            }
        }
        tracing::error!(run = %self.run_id, session = %self.key, "the session stays owned until this process ends");
    }
}

impl std::fmt::Debug for Ownership {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ownership").field("key", &self.key).field("run_id", &self.run_id).finish_non_exhaustive()
    }
}
