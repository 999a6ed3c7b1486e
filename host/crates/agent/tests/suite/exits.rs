//! Every way out of a run: however it ends, its session is free, its plugins' instances, questions and tools are gone, exactly one
//! terminal event and one `agent_end` were told, and the session answers the next message.

use std::sync::Arc;
use std::time::Duration;

use agent::error::{AcceptError, RunErrorKind};
use agent::{RunOutcome, RunRequest};
use domain::approval::{ApprovalDecision, ApprovalRequest, Severity};
use domain::cancel::CancelReason;
use domain::message::AgentMessage;
use domain::model::FailureClass;
use domain::session::{AppendRow, OpenSession, RunStatus, SessionStore, StoreError, TranscriptEvent};
use domain::{RunId, SessionId};
use hooks::catalogue as hook;
use hooks::events::{before_tool_call, observed, reply_payload_sending};
use serde_json::json;

use crate::support::{
    Answer, Chat, FakeTool, Fault, InFlight, NotesTheEnd, Op, Seen, Setup, Sources, Verdict, calls, fails, key, panics, says,
    seen,
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

/// A panic of a port, and an error of the store, at each place.
#[tokio::test]
async fn faults_of_ports_end_the_run_once_and_free_the_session() {
    let turn = || [calls([("c1", "work", json!({}))]), says("done")];
    let appends = (1..=4).map(|nth| (Op::Append, nth));
    for (op, nth) in appends.chain([(Op::Begin, 1), (Op::Rows, 1)]) {
        for fault in [Fault::Error, Fault::Panic] {
            let (ends, watch) = seen::<hook::AgentEnd>();
            let chat = Setup::new(turn())
                .tool(&FakeTool::answering("work", "worked"))
                .plugin::<hook::AgentEnd, _>("w", 0.0, watch)
                .store_fault(op, nth, fault)
                .chat();
            let outcome = chat.user("go").await;
            let at = format!("{op:?} {nth} {fault:?}");
            let kind = if fault == Fault::Panic { RunErrorKind::Internal } else { RunErrorKind::Store };
            assert_eq!((outcome.status, outcome.error_kind), (RunStatus::Failed, Some(kind)), "{at}");
            assert!(chat.ending().starts_with("error: "), "{at}: {}", chat.ending());
            assert_eq!(chat.sent().len(), 1, "{at}");
            assert!(fault == Fault::Error || !chat.sent()[0].contains("as planned"), "a panic's text is for the log: {at}");
            assert_eq!(ends.lock().unwrap().len(), 1, "{at}");
            let rows = if op == Op::Append { nth - 1 } else { 0 };
            assert_eq!(chat.rows().len(), rows, "{at}: {:?}", chat.rows());
            chat.goes_on().await;
        }
    }
    for sources in [Sources::Broken, Sources::Panicking] {
        let chat = Setup::new([]).sources(sources).chat();
        let outcome = chat.user("go").await;
        assert_eq!(outcome.status, RunStatus::Failed);
        assert_eq!(chat.events().len(), 2);
        assert_eq!(chat.rows(), Vec::<String>::new());
    }
}

/// What tools did must not be lost because the result before it could not be stored.
#[tokio::test]
async fn results_behind_one_that_cannot_be_stored_are_stored() {
    let chat = Setup::new([calls([("c1", "work", json!({})), ("c2", "work", json!({}))])])
        .tool(&FakeTool::answering("work", "worked"))
        .store_fault(Op::Append, 3, Fault::Error)
        .chat();
    assert_eq!(chat.user("go").await.error_kind, Some(RunErrorKind::Store));
    assert_eq!(chat.rows()[2..], ["result c2: worked"]);
    chat.goes_on().await;
}

/// The exit survives a store that fails, or panics, at the very end; the session is given back a little later.
#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_be_given_back_is_given_back_later() {
    for fault in [Fault::Error, Fault::Panic] {
        let (ends, watch) = seen::<hook::AgentEnd>();
        let chat = Setup::new([says("ok")])
            .plugin::<hook::AgentEnd, _>("w", 0.0, watch)
            .store_fault(Op::End, 1, fault)
            .store_fault(Op::End, 2, fault)
            .chat();
        let accepted = chat.accept(RunRequest::new("go", key())).await;
        let run_id = accepted.run_id().clone();
        let outcome = accepted.run().await;
        assert_eq!((outcome.status, chat.sent()), (RunStatus::Done, vec!["ok".to_owned()]));
        assert_eq!(chat.ending(), "end");
        assert_eq!(chat.store.writer(&key()), Some(run_id.clone()));
        chat.settled(&run_id).await;
        assert_eq!(ends.lock().unwrap().len(), 1);
        assert_eq!(chat.entry().await.status, Some(RunStatus::Done));
        chat.goes_on().await;
    }
}

/// The run is dropped while the store has already given it the session and the answer has not come.
#[tokio::test(start_paused = true)]
async fn a_session_that_was_taken_unheard_is_given_back() {
    for cancelled in [false, true] {
        let chat = Setup::new([]).store_fault(Op::Begin, 1, Fault::LosesAnswer).chat();
        let timeout = cancelled.then_some(Duration::from_secs(1));
        let accepted = chat.accept(RunRequest { timeout, ..RunRequest::new("go", key()) }).await;
        let run_id = accepted.run_id().clone();
        let outcome = tokio::time::timeout(Duration::from_secs(10), accepted.run()).await;
        assert_eq!(outcome.ok().map(|outcome| outcome.status), cancelled.then_some(RunStatus::Timeout));
        chat.settled(&run_id).await;
        assert_eq!(chat.store.writer(&key()), None);
        chat.goes_on().await;
    }
}

/// A run that is dropped while it gives its session back still ends once, as it would have.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_in_its_exit_ends_as_it_would_have() {
    let (ends, watch) = seen::<hook::AgentEnd>();
    let chat =
        Setup::new([says("ok")]).plugin::<hook::AgentEnd, _>("w", 0.0, watch).store_fault(Op::End, 1, Fault::LosesAnswer).chat();
    let accepted = chat.accept(RunRequest::new("go", key())).await;
    let run_id = accepted.run_id().clone();
    assert!(tokio::time::timeout(Duration::from_secs(10), accepted.run()).await.is_err());
    chat.settled(&run_id).await;
    assert_eq!(chat.ending(), "end");
    assert_eq!(chat.entry().await.status, Some(RunStatus::Done));
    assert!(ends.lock().unwrap()[0].success);
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

#[tokio::test]
async fn a_busy_session_stays_with_its_owner() {
    let (ends, watch) = seen::<hook::AgentEnd>();
    let chat = Setup::new([]).plugin::<hook::AgentEnd, _>("w", 0.0, watch).chat();
    let id = SessionId::new("s");
    let open = OpenSession { key: key(), now: 1, new_id: id.clone(), fresh: false, interaction: true, cwd: "/w".into() };
    chat.store.open(open).await.unwrap();
    chat.store.begin_run(&key(), &id, &RunId::new("owner"), 1).await.unwrap();

    let outcome = chat.user("go").await;
    assert_eq!((outcome.status, outcome.error_kind), (RunStatus::Failed, Some(RunErrorKind::Busy)));
    assert!(outcome.error.unwrap().contains("in use by run owner"));
    assert_eq!(chat.store.writer(&key()), Some(RunId::new("owner")));
    assert_eq!(chat.rows(), Vec::<String>::new());
    assert_eq!(ends.lock().unwrap().len(), 1);

    let fresh = RunRequest { fresh_session: true, ..RunRequest::new("go", key()) };
    let refused = chat.agent.accept(fresh).await.unwrap_err();
    assert!(matches!(refused, AcceptError::Store(StoreError::Busy { .. })), "{refused}");
}

#[tokio::test]
async fn a_row_of_a_run_that_ended_is_refused() {
    let chat = Setup::new([says("ok")]).chat();
    let outcome = chat.user("go").await;
    let late = AppendRow {
        key: key(),
        session_id: outcome.session_id,
        run_id: outcome.run_id,
        event_id: "late".into(),
        event: TranscriptEvent::Message { message: AgentMessage::user("late", 2) },
        now: 2,
        idempotency_key: None,
    };
    assert!(matches!(chat.store.append(late).await, Err(StoreError::Fenced { .. })));
}

#[tokio::test]
async fn what_cannot_be_accepted_changes_nothing() {
    let chat = Setup::new([]).recorder().chat();
    for blank in ["", " \n\t"] {
        assert!(matches!(chat.agent.accept(RunRequest::new(blank, key())).await, Err(AcceptError::EmptyMessage)));
    }
    chat.agent.settle(Duration::from_secs(1)).await;
    assert!(chat.raw_rows().is_empty() && chat.journal().is_empty() && chat.events().is_empty());
}

#[tokio::test]
async fn an_unknown_model_fails_the_run_before_anything_is_stored() {
    let chat = Setup::new([]).settings(|settings| settings.model = domain::model::ModelRef::new("nowhere", "m")).chat();
    let outcome = chat.user("go").await;
    assert_eq!((outcome.status, outcome.error_kind), (RunStatus::Failed, Some(RunErrorKind::UnknownModel)));
    assert_eq!(chat.sent(), ["there is no provider `nowhere`"]);
    assert_eq!(chat.rows(), Vec::<String>::new());
}

#[tokio::test]
async fn sessions_end_and_start_where_a_transcript_begins() {
    let (starts, watch_starts) = seen::<hook::SessionStart>();
    let (ends, watch_ends) = seen::<hook::SessionEnd>();
    let chat = Setup::new([says("a"), says("b"), says("c")])
        .plugin::<hook::SessionStart, _>("w", 0.0, watch_starts)
        .plugin::<hook::SessionEnd, _>("w", 0.0, watch_ends)
        .chat();
    let first = chat.user("one").await.session_id;
    chat.user("two").await;
    assert_eq!((starts.lock().unwrap().len(), ends.lock().unwrap().len()), (1, 0));
    let second = chat.send(RunRequest { fresh_session: true, ..RunRequest::new("three", key()) }).await.session_id;
    let (starts, ends) = (starts.lock().unwrap(), ends.lock().unwrap());
    assert_eq!(starts[1].resumed_from.as_deref(), Some(first.as_str()));
    assert_eq!(ends[0].next_session_id.as_deref(), Some(second.as_str()));
    assert_eq!(chat.request(3), ["user: three"], "a new transcript knows nothing of the old one");
}
