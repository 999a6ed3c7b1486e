//! `creel agent`: one turn in this process (agent-loop 2.2.3).

mod image;
pub(super) mod interrupt;
mod message;
mod report;
pub(super) mod request;

use std::sync::Arc;
use std::time::Duration;

use agent::error::AcceptError;
use agent::{RunOutcome, RunRequest};
use config::Loaded;
use domain::approval::{Approver, NobodyToAsk};
use domain::ports::Outbound;
use hooks::HookId;

use super::{Context, loading, plugins};
use crate::args::AgentArgs;
use crate::exit::{Code, Failure};
use crate::terminal::{Output, Printer, TerminalApprover, TerminalView};
use crate::wiring::plugins::own_compiler;
use crate::wiring::{self, HostOptions, Prepared, Running};
use interrupt::Interrupts;

/// How long a finished one-shot run waits for its observers (agent-loop 19.3).
pub const OBSERVER_GRACE: Duration = Duration::from_secs(30);

/// How long it waits without a word.
const QUIET_WAIT: Duration = Duration::from_secs(1);

pub(super) async fn run(context: &Context, args: AgentArgs, output: &Output) -> Result<Code, Failure> {
    let message = message::read(&args).await?;
    let agent_id = request::choose_agent(&context.loaded, &args.conversation)?;
    let images = image::read_all(&args.images).await?;
    let request = RunRequest { images, ..request::build(&context.loaded, &args.conversation, &agent_id, message)? };
    let mut interrupts = Interrupts::listen()?;
    let (spinner, progress) = loading(output);
    let options = HostOptions {
        plugin_dirs: plugins::existing(args.conversation.plugin_dirs)?,
        progress: Some(progress),
        ..HostOptions::new(context.locations.clone(), context.loaded.clone(), agent_id, own_compiler())
    };
    let prepared = interrupts.unless(wiring::prepare(options)).await??;
    drop(spinner);
    let view = view(output)?;
    let running = start(prepared, &view, output);
    view.preview(may_preview(&context.loaded, &running, output));
    let result = turn(&running, request, &mut interrupts, &view).await;
    // A terminal that stands still must not keep the process from being interrupted.
    let _ = interrupts.unless(view.pause()).await;
    let result = result.map(|outcome| tell(&outcome, &view.take_sent(), output));
    close(running, &mut interrupts, output).await;
    match (result?, output.lost()) {
        // A program that asked for the result must not take a part of it for the whole, whatever the reason.
        (Code::Success, Some(lost)) => Err(lost),
        (code, _) => Ok(code),
    }
}

/// The terminal as a channel and as what shows the run.
pub(super) fn view(output: &Output) -> Result<Arc<TerminalView>, Failure> {
    let printer = Printer::start(output.clone());
    let printer = printer.map_err(|error| Failure::internal(format!("the printer cannot start: {error}")))?;
    Ok(TerminalView::new(output.clone(), printer))
}

/// Joins a host to the terminal.
pub(super) fn start(prepared: Prepared, view: &Arc<TerminalView>, output: &Output) -> Running {
    let approver: Arc<dyn Approver> =
        if output.can_ask() { Arc::new(TerminalApprover::new(output.clone(), Arc::clone(view))) } else { Arc::new(NobodyToAsk) };
    prepared.start(Arc::clone(view) as _, approver, Arc::clone(view) as _)
}

/// Tells how the run went. Nobody waits for observers to know it.
pub(super) fn tell(outcome: &RunOutcome, sent: &[Outbound], output: &Output) -> Code {
    if output.is_json() {
        output.value(&report::as_json(outcome, sent));
    }
    report::finish(outcome, sent, output)
}

/// Waits for plugins that still watch. Who is waited for is told before a person wonders, and one interrupt is enough to go.
pub(super) async fn close(running: Running, interrupts: &mut Interrupts, output: &Output) {
    let mut closing = std::pin::pin!(interrupts.unless(running.close(OBSERVER_GRACE)));
    let closed = match tokio::time::timeout(QUIET_WAIT, &mut closing).await {
        Ok(closed) => closed,
        Err(_) => {
            let watching = running.watching().join(", ");
            if !watching.is_empty() {
                let most = OBSERVER_GRACE.as_secs();
                output.note(format!(
                    "waiting for plugins that still watch the run, at most {most} s: {watching}; interrupt to leave them"
                ));
            }
            closing.await
        }
    };
    if closed.is_err() {
        output.note("interrupted; plugins that still watched the run were not waited for");
    }
}

/// Whether text may be shown before it is delivered: not if a plugin may still change or cancel it, or the host puts something before it.
pub(super) fn may_preview(loaded: &Loaded, running: &Running, output: &Output) -> bool {
    let is_prefixed = loaded.config.messages.response_prefix.as_ref().is_some_and(|prefix| !prefix.is_empty());
    let changing = [HookId::MessageSending, HookId::ReplyPayloadSending, HookId::BeforeAgentFinalize];
    output.is_watched() && !is_prefixed && !changing.into_iter().any(|hook| running.has_handlers(hook))
}

async fn turn(
    running: &Running,
    request: RunRequest,
    interrupts: &mut Interrupts,
    view: &TerminalView,
) -> Result<RunOutcome, Failure> {
    let accepted = interrupts.unless(running.agent.accept(request)).await?.map_err(not_accepted)?;
    let asked = || view.say("stopping; interrupt again to stop at once");
    Ok(interrupts.run(accepted, asked).await)
}

pub(super) fn not_accepted(error: AcceptError) -> Failure {
    match error {
        AcceptError::EmptyMessage => Failure::usage(error.to_string()),
        AcceptError::Store(error) => error.into(),
    }
}
