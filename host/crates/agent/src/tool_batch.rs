//! The tool calls of one assistant message (agent-loop 14.3). Ordinarily they are prepared one after another in the model's order and
//! then run side by side; if one of their tools must run alone, each call is prepared and run before the next. Results are appended in
//! the model's order, and every call ends with exactly one, also after an abort.

use domain::message::ToolCallBlock;
use domain::session::StoreError;
use domain::tool::ToolOutcome;
use futures_util::future::join_all;

use crate::append;
use crate::executor::{self, Ended, Prepared};
use crate::run::RunState;

/// What a batch means for the rest of the run.
#[derive(Debug, Default)]
pub(crate) struct BatchEnd {
    /// Every result asked to end the turn (11.2 T7).
    pub(crate) terminate: bool,
    /// Last tool that failed, none if the last call went well.
    pub(crate) failed_tool: Option<String>,
    /// Calls decided.
    pub(crate) calls: u32,
}

/// Runs the calls and appends their results.
pub(crate) async fn run_batch(run: &RunState, calls: &[ToolCallBlock]) -> Result<BatchEnd, StoreError> {
    let must_run_alone = |call: &ToolCallBlock| run.tool(&call.name).is_some_and(|tool| tool.spec().sequential);
    let mut results = Results { run, end: BatchEnd { terminate: true, ..BatchEnd::default() }, stored: Ok(()) };
    if calls.iter().any(must_run_alone) {
        for call in calls {
            let prepared = executor::prepare(run, call).await;
            results.add(settle(run, prepared).await).await;
        }
    } else {
        let mut prepared = Vec::with_capacity(calls.len());
        for call in calls {
            prepared.push(executor::prepare(run, call).await);
        }
        for ended in join_all(prepared.into_iter().map(|call| settle(run, call))).await {
            results.add(ended).await;
        }
    }
    results.stored.map(|()| results.end)
}

async fn settle(run: &RunState, call: Prepared) -> Ended {
    match call {
        Prepared::Ready(ready) => executor::execute(run, ready).await,
        Prepared::Ended(ended) => ended,
    }
}

/// The results of a batch, in the model's order.
struct Results<'a> {
    run: &'a RunState,
    end: BatchEnd,
    stored: Result<(), StoreError>,
}

impl Results<'_> {
    /// Appends a result. If one cannot be stored the others are tried all the same: what tools did must not be lost with it.
    async fn add(&mut self, call: Ended) {
        self.end.calls += 1;
        self.end.terminate &= call.terminate;
        self.end.failed_tool = match call.outcome {
            ToolOutcome::Ok => None,
            _ => Some(call.message.tool_name.clone()),
        };
        let appended = append::append_result(self.run, call.message, call.is_synthetic).await.map(drop);
        if self.stored.is_ok() {
            self.stored = appended;
        }
    }
}
