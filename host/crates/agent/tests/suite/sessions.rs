//! The session of a run: who owns it, what happens when its store, or another port, has a fault, and where transcripts begin and end.

use std::time::Duration;

use agent::RunRequest;
use agent::error::{AcceptError, RunErrorKind};
use domain::message::AgentMessage;
use domain::session::{AppendRow, OpenSession, RunStatus, SessionStore, StoreError, TranscriptEvent};
use domain::{RunId, SessionId};
use hooks::catalogue as hook;
use serde_json::json;

use crate::support::{FakeTool, Fault, Op, Setup, Sources, calls, key, says, seen};

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

#[tokio::test]
async fn a_busy_session_stays_with_its_owner() {
    let (ends, watch) = seen::<hook::AgentEnd>();
    let (resets, watch_resets) = seen::<hook::BeforeReset>();
    let chat = Setup::new([])
        .plugin::<hook::AgentEnd, _>("w", 0.0, watch)
        .plugin::<hook::BeforeReset, _>("w", 0.0, watch_resets)
        .recorder()
        .chat();
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
    // No plugin could claim the turn or choose its model; they hear that it failed and guard the text that says so.
    let mut told = chat.journal();
    told.sort();
    assert_eq!(told, ["agent_end", "message_received", "message_sending", "message_sent", "reply_payload_sending"]);

    let fresh = RunRequest { fresh_session: true, ..RunRequest::new("go", key()) };
    let refused = chat.agent.accept(fresh).await.unwrap_err();
    assert!(matches!(refused, AcceptError::Store(StoreError::Busy { .. })), "{refused}");
    chat.agent.settle(Duration::from_secs(1)).await;
    assert_eq!(resets.lock().unwrap().len(), 0, "a reset that was refused did not happen");
}

/// The choice of a model must not depend on the transcript, so it is made before that is read (plugin-hooks 4.1).
#[tokio::test]
async fn the_model_is_chosen_before_the_transcript_is_read() {
    let chat = Setup::new([]).recorder().store_fault(Op::Rows, 1, Fault::Error).chat();
    assert_eq!(chat.user("go").await.error_kind, Some(RunErrorKind::Store));
    let deciding =
        ["before_agent_reply", "before_model_resolve", "before_agent_start", "agent_turn_prepare", "before_prompt_build"];
    let asked: Vec<_> = chat.journal().into_iter().filter(|hook| deciding.contains(&hook.as_str())).collect();
    assert_eq!(asked, deciding[..3]);
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
    let setup = Setup::new([says("a"), says("b"), says("c")]);
    let (reset, end, start) = (setup.journal.clone(), setup.journal.clone(), setup.journal.clone());
    let chat = setup
        .plugin::<hook::BeforeReset, _>("w", 0.0, move |event, context, _| {
            let messages = event.messages.as_ref().unwrap().len();
            reset.note(format!("reset of {}, {messages} messages", context.session_id));
            None
        })
        .plugin::<hook::SessionEnd, _>("w", 0.0, move |event, context, _| {
            let next = event.next_session_id.as_ref().unwrap();
            end.note(format!("end of {}, {} messages, then {next}", context.session_id, event.message_count));
            None
        })
        .plugin::<hook::SessionStart, _>("w", 0.0, move |event, context, _| {
            start.note(format!("start of {}, after {:?}", context.session_id, event.resumed_from));
            None
        })
        .chat();
    let first = chat.user("one").await.session_id;
    chat.user("two").await;
    let second = chat.send(RunRequest { fresh_session: true, ..RunRequest::new("three", key()) }).await.session_id;
    assert_eq!(
        chat.journal(),
        [
            format!("start of {first}, after None"),
            format!("reset of {first}, 4 messages"),
            format!("end of {first}, 4 messages, then {second}"),
            format!("start of {second}, after {:?}", Some(&first.to_string())),
        ]
    );
    assert_eq!(chat.request(3), ["user: three"], "a new transcript knows nothing of the old one");
}
