//! Every way out of a run: however it ends, its session is free, its plugins' instances, questions and tools are gone, exactly one
//! terminal event and one `agent_end` were told, and the session answers the next message.

use std::sync::Arc;
use std::time::Duration;

use agent::{RunOutcome, RunRequest};
use domain::approval::{ApprovalDecision, ApprovalRequest, Severity};
use domain::cancel::CancelReason;
use domain::model::FailureClass;
use domain::session::{RunStatus, TranscriptEvent};
use hooks::catalogue as hook;
use hooks::events::{before_tool_call, observed, reply_payload_sending};
use serde_json::json;

use crate::support::{
    Answer, Chat, FakeTool, InFlight, NotesTheEnd, Seen, Setup, Verdict, calls, fails, key, panics, says, seen,
};

/// How a run of the table ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ending {
    Ok,
    ToolError,
    ModelError,
    UserAbort,
    Deadline,
    Panic,
    Dropped,
}

/// Where a run of the table is when it ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Approval,
    Tool,
    Model,
}

/// A run that comes to an approval, then to a tool, then to the model again, and ends at a place.
struct Case {
    chat: Chat,
    tool: FakeTool,
    instances: InFlight,
    ends: Seen<observed::AgentEnd>,
}

fn approval() -> ApprovalRequest {
    ApprovalRequest {
        title: "May I?".into(),
        description: String::new(),
        scope: None,
        severity: Severity::Info,
        wait: Duration::from_secs(600),
        wanted_allow_on_timeout: false,
        timeout_reason: None,
        offered: ApprovalDecision::ALL.to_vec(),
        on_resolution: None,
    }
}

impl Case {
    fn new(ending: Ending, place: Place) -> Self {
        let setup = Setup::new([calls([("c1", "work", json!({}))])]);
        let stop = setup.stop.clone();
        let is_at = |here: Place| place == here;
        let answer = match ending {
            Ending::UserAbort if is_at(Place::Approval) => Answer::Stopped(stop.clone(), CancelReason::User),
            Ending::Deadline | Ending::Dropped if is_at(Place::Approval) => Answer::NeverAnswers,
            Ending::Panic if is_at(Place::Approval) => Answer::Panics,
            _ => Answer::Decides(ApprovalDecision::AllowOnce),
        };
        let tool = match ending {
            Ending::ToolError => FakeTool::failing("work", "it broke"),
            Ending::UserAbort if is_at(Place::Tool) => FakeTool::hanging("work").stopped(&stop, CancelReason::User),
            Ending::Deadline | Ending::Dropped if is_at(Place::Tool) => FakeTool::hanging("work"),
            Ending::Panic if is_at(Place::Tool) => FakeTool::panicking("work"),
            _ => FakeTool::answering("work", "worked"),
        };
        let last = match ending {
            Ending::ModelError => fails(FailureClass::Overloaded, "down"),
            Ending::UserAbort if is_at(Place::Model) => says("hm").stopped(&stop, CancelReason::User).hanging(),
            Ending::Deadline | Ending::Dropped if is_at(Place::Model) => says("hm").hanging(),
            Ending::Panic if is_at(Place::Model) => panics(),
            _ => says("All done."),
        };
        let instances = InFlight::default();
        let (counted, (ends, watch)) = (instances.clone(), seen::<hook::AgentEnd>());
        let chat = setup
            .turn(last)
            .approval(answer)
            .tool(&tool)
            .plugin::<hook::BeforePromptBuild, _>("guard", 0.0, move |_, _, invocation| {
                invocation.run.expect("prompts belong to a run").keep(1, Box::new(counted.ticket()));
                None
            })
            .plugin::<hook::BeforeToolCall, _>("guard", 0.0, |_, _, _| {
                Some(before_tool_call::Answer { require_approval: Some(approval()), ..Default::default() })
            })
            .plugin::<hook::AgentEnd, _>("w", 0.0, watch)
            .chat();
        Self { chat, tool, instances, ends }
    }

    async fn run(&self, ending: Ending) -> Option<RunOutcome> {
        let timeout = (ending == Ending::Deadline).then_some(Duration::from_secs(60));
        let accepted = self.chat.accept(RunRequest { timeout, ..RunRequest::new("go", key()) }).await;
        let run_id = accepted.run_id().clone();
        let outcome = match ending {
            Ending::Dropped => tokio::time::timeout(Duration::from_secs(60), accepted.run()).await.ok(),
            _ => Some(accepted.run().await),
        };
        self.chat.settled(&run_id).await;
        outcome
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_a_run_held_is_free_after_each_ending() {
    use Ending::{Deadline, Dropped, ModelError, Ok, Panic, ToolError, UserAbort};
    use Place::{Approval, Model, Tool};
    for (ending, place, status) in [
        (Ok, Model, Some(RunStatus::Done)),
        (ToolError, Tool, Some(RunStatus::Done)),
        (ModelError, Model, Some(RunStatus::Failed)),
        (UserAbort, Approval, Some(RunStatus::Killed)),
        (UserAbort, Tool, Some(RunStatus::Killed)),
        (UserAbort, Model, Some(RunStatus::Killed)),
        (Deadline, Approval, Some(RunStatus::Timeout)),
        (Deadline, Tool, Some(RunStatus::Timeout)),
        (Deadline, Model, Some(RunStatus::Timeout)),
        (Panic, Approval, Some(RunStatus::Done)),
        (Panic, Tool, Some(RunStatus::Done)),
        (Panic, Model, Some(RunStatus::Failed)),
        (Dropped, Approval, None),
        (Dropped, Tool, None),
        (Dropped, Model, None),
    ] {
        let case = Case::new(ending, place);
        let outcome = case.run(ending).await;
        let at = format!("{ending:?} in {place:?}");
        assert_eq!(outcome.as_ref().map(|outcome| outcome.status), status, "{at}");
        // `settled` has looked at the session, the question, and the numbers and the frame of events.
        assert!(case.chat.ending().starts_with("end") || case.chat.ending().starts_with("error"), "{at}");
        assert_eq!(case.instances.count(), 0, "instances of plugins: {at}");
        assert_eq!(case.tool.in_flight.count(), 0, "tools: {at}");
        assert_eq!(case.chat.entry().await.status, status.or(Some(RunStatus::Killed)), "{at}");
        {
            let ends = case.ends.lock().unwrap();
            assert_eq!(ends.len(), 1, "agent_end: {at}");
            assert_eq!(ends[0].success, status == Some(RunStatus::Done), "{at}");
            assert_eq!(ends[0].error.is_some(), status != Some(RunStatus::Done), "{at}");
            let messages = case.chat.raw_rows().into_iter().filter(|row| matches!(row.event, TranscriptEvent::Message { .. }));
            assert_eq!(ends[0].messages.len(), messages.count(), "final messages: {at}");
        }
        case.chat.goes_on().await;
    }
}

/// The session is free when the terminal event tells of the end; `agent_end` and delivery come after that event.
#[tokio::test]
async fn the_terminal_event_comes_first_and_finds_the_session_free() {
    let setup = Setup::new([says("ok")]);
    let (ending, delivering) = (setup.journal.clone(), setup.journal.clone());
    let watcher = NotesTheEnd { journal: setup.journal.clone(), store: Arc::clone(&setup.store) };
    let chat = setup
        .plugin::<hook::AgentEnd, _>("w", 0.0, move |_, _, _| {
            ending.note("agent_end");
            None
        })
        .plugin::<hook::ReplyPayloadSending, _>("w", 0.0, move |_, _, _| {
            delivering.note("delivery");
            None::<reply_payload_sending::Answer>
        })
        .events(watcher)
        .chat();
    chat.user("go").await;
    let mut journal = chat.journal();
    assert_eq!(journal.remove(0), "terminal event, session free");
    journal.sort();
    assert_eq!(journal, ["agent_end", "delivery"], "an observer runs beside what follows");
}

#[tokio::test(start_paused = true)]
async fn observers_are_not_waited_for() {
    let chat = Setup::new([says("ok")])
        .plugin::<hook::AgentEnd, _>("slow", 0.0, |_, _, _| Verdict::<()>::Hangs)
        .plugin::<hook::LlmInput, _>("slow", 0.0, |_, _, _| Verdict::<()>::Hangs)
        .plugin::<hook::MessageSent, _>("slow", 0.0, |_, _, _| Verdict::<()>::Hangs)
        .plugin::<hook::MessageReceived, _>("slow", 0.0, |_, _, _| Verdict::<()>::Hangs)
        .chat();
    let started = tokio::time::Instant::now();
    let accepted = chat.accept(RunRequest::new("go", key())).await;
    let run_id = accepted.run_id().clone();
    assert_eq!(accepted.run().await.status, RunStatus::Done);
    assert_eq!(started.elapsed(), Duration::ZERO);
    chat.settled(&run_id).await;
    assert_eq!(started.elapsed(), Duration::from_secs(600), "their own budgets end them");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_run_stops_what_it_started_and_sends_nothing() {
    let tool = FakeTool::hanging("work");
    let chat = Setup::new([calls([("c1", "work", json!({}))]).after_saying("Working.").usage(7, 3)]).tool(&tool).chat();
    let accepted = chat.accept(RunRequest::new("go", key())).await;
    let (run_id, cancel) = (accepted.run_id().clone(), accepted.cancel());
    assert!(tokio::time::timeout(Duration::from_secs(10), accepted.run()).await.is_err());
    assert_eq!(tool.in_flight.count(), 0);
    assert_eq!(cancel.reason(), Some(CancelReason::Shutdown));
    chat.settled(&run_id).await;
    assert_eq!(chat.ending(), "end aborted=true shutdown");
    assert!(chat.sent().is_empty());
    let entry = chat.entry().await;
    assert_eq!((entry.status, entry.input_tokens, entry.output_tokens), (Some(RunStatus::Killed), 7, 3));
    chat.goes_on().await;
}
