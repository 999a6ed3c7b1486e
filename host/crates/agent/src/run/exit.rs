//! The one exit of a run (agent-loop 19.1): payloads, session row, terminal event, `agent_end`, delivery. It is reached on every way,
//! and when the future of the run is dropped, a task does what must be done all the same.

use std::sync::Arc;
use std::time::Duration;

use domain::cancel::CancelReason;
use domain::event::EventData;
use domain::model::ModelRef;
use domain::payload::PayloadKind;
use domain::session::{RunStatus, RunSummary};
use hooks::catalogue::AgentEnd;
use hooks::events::observed;
use tokio::time::Instant;

use super::RunState;
use super::ending::Ending;
use super::ownership::Ownership;
use super::stages::Progress;
use crate::deliver;
use crate::error::RunError;
use crate::outcome::RunOutcome;
use crate::shape::{ShapeInput, shape};

/// The way out of one run.
pub(super) struct Exit {
    run: Arc<RunState>,
    started: Instant,
    /// What the run has reached.
    pub(super) progress: Progress,
    /// How the run ended, once that is known.
    ending: Option<Ending>,
    settled: bool,
}

impl Exit {
    /// From here on the run has an exit.
    pub(super) fn new(run: Arc<RunState>) -> Self {
        Self { run, started: Instant::now(), progress: Progress::default(), ending: None, settled: false }
    }

    /// Leaves by the ordinary way.
    pub(super) async fn leave(mut self, result: Result<(), RunError>, budget: Option<Duration>) -> RunOutcome {
        let ending = Ending::of(&self.run, result, budget);
        self.ending = Some(ending.clone());
        let payloads = shape(&self.shape_input(&ending));
        give_back(&self.run, self.progress.owned.clone(), self.summary(&ending)).await;
        let duration = self.started.elapsed();
        tell(&self.run, &ending, duration);
        self.settled = true;
        let deliveries = deliver::deliver_all(&self.run, &payloads, PayloadKind::Final).await;
        let conversation = std::mem::take(&mut self.progress.conversation);
        RunOutcome {
            run_id: self.run.run_id().clone(),
            session_key: self.run.session_key().clone(),
            session_id: self.run.session_id().clone(),
            aborted: ending.is_aborted(),
            status: ending.status,
            error: ending.error,
            error_kind: ending.kind,
            payloads,
            deliveries,
            model: called_model(&self.run, conversation.model_calls).cloned(),
            usage: conversation.usage,
            last_call_usage: conversation.last_call_usage,
            model_calls: conversation.model_calls,
            tool_calls: conversation.tool_calls,
            duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// A failure comes first; that the time was up is told only if there is nothing else; of an abort its caller knows.
    fn shape_input<'a>(&'a self, ending: &'a Ending) -> ShapeInput<'a> {
        let conversation = &self.progress.conversation;
        let text = ending.user_text.as_deref();
        ShapeInput {
            answer: conversation.answer.as_ref(),
            synthetic: self.progress.synthetic.as_ref(),
            error: text.filter(|_| ending.status == RunStatus::Failed),
            notice: text.filter(|_| ending.status == RunStatus::Timeout),
            failed_tool: conversation.failed_tool.as_deref().filter(|_| ending.status == RunStatus::Done),
            report_tool_errors: self.run.settings().report_tool_errors,
        }
    }

    fn summary(&self, ending: &Ending) -> RunSummary {
        let conversation = &self.progress.conversation;
        let model = called_model(&self.run, conversation.model_calls);
        RunSummary {
            status: ending.status,
            input_tokens: conversation.usage.input.unwrap_or(0).into(),
            output_tokens: conversation.usage.output.unwrap_or(0).into(),
            provider: model.map(|model| model.provider.clone()),
            model: model.map(|model| model.model.clone()),
            now: self.run.ports().clock.now_ms(),
        }
    }
}

/// The future of the run was dropped. Nobody is there any more who would want a reply, but the session must be free and watchers must
/// hear of the end.
impl Drop for Exit {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        self.run.cancel().cancel(CancelReason::Shutdown);
        let ending = self.ending.take().unwrap_or_else(|| Ending::of(&self.run, Err(RunError::Aborted), None));
        let (summary, duration) = (self.summary(&ending), self.started.elapsed());
        let (run, owned) = (Arc::clone(&self.run), self.progress.owned.take());
        let rest = {
            let (run, ending) = (Arc::clone(&run), ending.clone());
            async move {
                give_back(&run, owned, summary).await;
                tell(&run, &ending, duration);
            }
        };
        if !run.shared().background.finish(rest) {
            tell(&run, &ending, duration);
        }
    }
}

/// Gives the session back, if the run owns it. If that fails it is tried again beside the run, which does not wait for it.
async fn give_back(run: &RunState, owned: Option<Ownership>, summary: RunSummary) {
    let Some(owned) = owned else { return };
    if !owned.end(summary.clone()).await {
        run.shared().background.finish(owned.retry(summary));
    }
}

/// The terminal event, then `agent_end`.
fn tell(run: &RunState, ending: &Ending, duration: Duration) {
    run.emit(EventData::Lifecycle(ending.event(run)));
    run.observe::<AgentEnd>(run.agent_context(), || observed::AgentEnd {
        messages: run.stored_messages(),
        success: ending.status == RunStatus::Done,
        error: ending.error.clone(),
        duration_ms: Some(u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)),
    });
}

fn called_model(run: &RunState, calls: u32) -> Option<&ModelRef> {
    run.model().filter(|_| calls > 0).map(|resolved| &resolved.model)
}
