//! Runs that somebody stops: what is kept, what is told, and what does not happen any more.

use std::time::Duration;

use agent::RunRequest;
use agent::error::RunErrorKind;
use agent::wind_down::{MAX_STOP_GRACE, WIND_DOWN};
use domain::cancel::CancelReason;
use domain::message::AgentMessage;
use domain::session::{RunStatus, TranscriptEvent};
use domain::tool::ToolOutcome;
use hooks::catalogue as hook;
use hooks::events::{before_agent_finalize, before_tool_call, message_sending, tool_result_persist};
use serde_json::json;
use tokio::time::Instant;

use crate::support::{FakeTool, Fault, Op, Setup, Verdict, calls, key, says, says_in, seen};

#[tokio::test(start_paused = true)]
async fn a_stop_in_the_stream_keeps_the_partial_text() {
    let setup = Setup::new([]);
    let stop = setup.stop.clone();
    let (ended, watch_ended) = seen::<hook::ModelCallEnded>();
    let (heard, watch_heard) = seen::<hook::LlmOutput>();
    let (judged, watch_judged) = seen::<hook::BeforeAgentFinalize>();
    let chat = setup
        .turn(says_in(&["It all began"]).stopped(&stop, CancelReason::User).hanging())
        .plugin::<hook::ModelCallEnded, _>("w", 0.0, watch_ended)
        .plugin::<hook::LlmOutput, _>("w", 0.0, watch_heard)
        .plugin::<hook::BeforeAgentFinalize, _>("w", 0.0, watch_judged)
        .chat();
    let outcome = chat.user("Tell me a story").await;
    assert_eq!(judged.lock().unwrap().len(), 0, "a stop is not a natural end");
    assert_eq!((outcome.status, outcome.aborted, outcome.error_kind), (RunStatus::Killed, true, Some(RunErrorKind::Aborted)));
    let marker = "[The turn above was interrupted: the user stopped it. It may be incomplete.]";
    let rows = ["user: Tell me a story", "assistant (aborted): It all began", &format!("note interrupted: {marker}")];
    assert_eq!(chat.rows(), rows);
    assert_eq!(chat.ending(), "end aborted=true user");
    assert_eq!(chat.sent(), ["It all began"]);
    assert_eq!(chat.entry().await.status, Some(RunStatus::Killed));
    let ended = ended.lock().unwrap()[0].clone();
    assert_eq!((ended.completed, ended.error_category.as_deref()), (false, Some("aborted")));
    assert_eq!(heard.lock().unwrap()[0].assistant_texts, ["It all began"]);
    chat.goes_on().await;
    assert_eq!(chat.request(2)[1..3], ["assistant (aborted): It all began".to_owned(), format!("user: {marker}")]);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_does_not_care_is_left() {
    let setup = Setup::new([]);
    let stop = setup.stop.clone();
    let chat = setup.turn(says_in(&["Half"]).stopped(&stop, CancelReason::User).hanging().stubborn()).chat();
    let started = Instant::now();
    let outcome = chat.user("go").await;
    assert_eq!(started.elapsed(), WIND_DOWN);
    assert_eq!(outcome.status, RunStatus::Killed);
    assert_eq!(chat.rows()[1], "assistant (aborted): Half");
    chat.goes_on().await;
}

/// The provider's own word for what a stop did to it does not count: the first cause does.
#[tokio::test]
async fn a_failure_after_a_stop_is_the_stop() {
    use domain::model::FailureClass;
    let setup = Setup::new([]);
    let stop = setup.stop.clone();
    let turn = says_in(&["Half"]).stopped(&stop, CancelReason::User).then_fails(FailureClass::Timeout, "reset").stubborn();
    let chat = setup.turn(turn).chat();
    let outcome = chat.user("go").await;
    assert_eq!((outcome.status, outcome.error_kind), (RunStatus::Killed, Some(RunErrorKind::Aborted)));
    assert_eq!(chat.rows()[1], "assistant (aborted): Half");
    assert_eq!(chat.ending(), "end aborted=true user");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_after_a_stop_does_not_hide_the_stop() {
    let setup = Setup::new([]);
    let slow = FakeTool::hanging("slow").stopped(&setup.stop, CancelReason::User);
    let chat = setup.turn(calls([("c1", "slow", json!({}))])).tool(&slow).store_fault(Op::Append, 3, Fault::Error).chat();
    let outcome = chat.user("go").await;
    assert_eq!((outcome.status, outcome.error_kind), (RunStatus::Killed, Some(RunErrorKind::Aborted)));
    chat.goes_on().await;
    assert_eq!(chat.request(2)[2], "error c1: No result was recorded for this tool call.");
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_a_tool_gives_every_call_its_result() {
    let setup = Setup::new([]);
    let slow = FakeTool::hanging("slow").stopped(&setup.stop, CancelReason::User);
    let quick = FakeTool::answering("quick", "done");
    let (ends, watch) = seen::<hook::AfterToolCall>();
    let chat = setup
        .turn(calls([("c1", "quick", json!({})), ("c2", "slow", json!({}))]).after_saying("Working."))
        .tool(&slow)
        .tool(&quick)
        .plugin::<hook::AfterToolCall, _>("w", 0.0, watch)
        .plugin::<hook::ToolResultPersist, _>("w", 0.0, |event, _, _| {
            assert_eq!(event.is_synthetic, event.tool_name == "slow");
            None::<tool_result_persist::Answer>
        })
        .chat();
    let outcome = chat.user("go").await;
    assert_eq!(outcome.status, RunStatus::Killed);
    assert_eq!(slow.in_flight.count(), 0, "its future was dropped");
    assert_eq!(chat.rows()[2..], ["result c1: done", "error c2: the operation was aborted"]);
    assert_eq!(chat.tool_events()[2..], ["quick c1 result done", "slow c2 error the operation was aborted"]);
    assert!(chat.sent().is_empty(), "what was said before the tools is no answer, and a stopped tool is no failure");
    assert_eq!(ends.lock().unwrap()[1].outcome, ToolOutcome::Aborted);
    assert_eq!(chat.model.requests().len(), 1);
    chat.goes_on().await;
}

/// A tool that was about to end when the stop came has ended: its real result is kept.
#[tokio::test(start_paused = true)]
async fn a_result_that_comes_just_after_the_stop_is_kept() {
    let setup = Setup::new([]);
    let tool = FakeTool::answering("write", "written").stopped(&setup.stop, CancelReason::User);
    let tool = tool.with_result(|result| result.terminate = true);
    let chat = setup.turn(calls([("c1", "write", json!({}))])).tool(&tool).chat();
    assert_eq!(chat.user("go").await.status, RunStatus::Killed, "the stop came before the end");
    assert_eq!(chat.rows()[2], "result c1: written");
}

/// A tool says how long its clean-up may take; within a limit it gets that time, and what it shows at the end is its result.
#[tokio::test(start_paused = true)]
async fn a_tool_gets_the_time_that_it_declared_to_clean_up() {
    let second = Duration::from_secs(1);
    let aborted = "error c1: the operation was aborted";
    let shown = &format!("{aborted}. It had come so far.");
    for (takes, declared, waited, row) in [
        (2 * second, 2 * second, 2 * second, shown),
        (2 * second, Duration::ZERO, WIND_DOWN, &aborted.to_owned()),
        (3600 * second, 3600 * second, WIND_DOWN + MAX_STOP_GRACE, &aborted.to_owned()),
    ] {
        let setup = Setup::new([]);
        let tool = FakeTool::cleaning_up("work", takes, declared).stopped(&setup.stop, CancelReason::User);
        let was_shown = row == shown;
        let chat = setup
            .turn(calls([("c1", "work", json!({}))]))
            .tool(&tool)
            .plugin::<hook::ToolResultPersist, _>("w", 0.0, move |event, _, _| {
                assert_eq!(event.is_synthetic, !was_shown, "what a tool showed is no invention of the host");
                None::<tool_result_persist::Answer>
            })
            .chat();
        let started = Instant::now();
        assert_eq!(chat.user("go").await.status, RunStatus::Killed);
        assert_eq!(started.elapsed(), waited, "{takes:?} {declared:?}");
        assert_eq!(chat.rows()[2], *row);
        chat.goes_on().await;
    }
}

/// Between two calls of a sequential batch: no tool starts any more, no hook is asked, and each call still gets its result.
#[tokio::test(start_paused = true)]
async fn a_stop_between_two_calls_starts_nothing_more() {
    let setup = Setup::new([]);
    let first = FakeTool::answering("first", "done").stopped(&setup.stop, CancelReason::User).sequential();
    let second = FakeTool::answering("second", "done");
    let (asked, watch_asked) = seen::<hook::BeforeToolCall>();
    let (ends, watch_ends) = seen::<hook::AfterToolCall>();
    let chat = setup
        .turn(calls([("c1", "first", json!({})), ("c2", "second", json!({}))]))
        .tool(&first)
        .tool(&second)
        .plugin::<hook::BeforeToolCall, _>("w", 0.0, watch_asked)
        .plugin::<hook::AfterToolCall, _>("w", 0.0, watch_ends)
        .chat();
    chat.user("go").await;
    assert_eq!(second.ran().len(), 0);
    assert_eq!(chat.tool_events(), ["first c1 start", "first c1 result done"]);
    assert_eq!(chat.rows()[2..], ["result c1: done", "error c2: the operation was aborted"]);
    assert_eq!((asked.lock().unwrap().len(), ends.lock().unwrap().len()), (1, 1));
    chat.goes_on().await;
}

#[tokio::test(start_paused = true)]
async fn a_stop_in_a_guard_of_a_call_leaves_the_guard_and_runs_nothing() {
    let setup = Setup::new([]);
    let (stop, tool) = (setup.stop.clone(), FakeTool::answering("look", "x"));
    let chat = setup
        .turn(calls([("c1", "look", json!({})), ("c2", "look", json!({}))]))
        .tool(&tool)
        .plugin::<hook::BeforeToolCall, _>("slow", 0.0, move |_, _, _| -> Verdict<before_tool_call::Answer> {
            stop.now(CancelReason::User);
            Verdict::Hangs
        })
        .chat();
    let started = Instant::now();
    assert_eq!(chat.user("go").await.status, RunStatus::Killed);
    assert_eq!(started.elapsed(), WIND_DOWN);
    assert_eq!(tool.ran().len(), 0);
    assert_eq!(chat.rows()[2..], ["error c1: the operation was aborted", "error c2: the operation was aborted"]);
    assert_eq!(chat.tool_events(), ["look c1 start", "look c1 error the operation was aborted"]);
    chat.goes_on().await;
}

/// Before its first row a run leaves nothing behind.
#[tokio::test(start_paused = true)]
async fn a_stop_before_the_first_row_leaves_nothing() {
    macro_rules! stopping_in {
        ($($point:ident),*) => {
            [$({
                let setup = Setup::new([]);
                let stop = setup.stop.clone();
                let setup = setup.plugin::<hook::$point, _>("slow", 0.0, move |_, _, _| {
                    stop.now(CancelReason::User);
                    Verdict::Hangs
                });
                (stringify!($point), setup)
            }),*]
        };
    }
    for (name, setup) in
        stopping_in!(BeforeAgentReply, BeforeModelResolve, BeforeAgentStart, AgentTurnPrepare, BeforePromptBuild, BeforeAgentRun)
    {
        let (ends, watch) = seen::<hook::AgentEnd>();
        let chat = setup.plugin::<hook::AgentEnd, _>("w", 0.0, watch).chat();
        let started = Instant::now();
        let outcome = chat.user("go").await;
        assert_eq!((outcome.status, started.elapsed()), (RunStatus::Killed, WIND_DOWN), "{name}");
        assert_eq!(chat.rows(), Vec::<String>::new(), "{name}");
        assert_eq!(chat.events(), ["start", "end aborted=true user"], "{name}");
        assert!(chat.sent().is_empty() && outcome.model.is_none(), "{name}");
        let ends = ends.lock().unwrap();
        assert_eq!((ends.len(), ends[0].success, ends[0].error.as_deref()), (1, false, Some("the run was aborted")), "{name}");
    }
}

#[tokio::test]
async fn a_run_that_is_stopped_before_it_starts_does_nothing() {
    let chat = Setup::new([]).recorder().chat();
    let accepted = chat.accept(RunRequest::new("go", key())).await;
    accepted.cancel().cancel(CancelReason::Superseded);
    let run_id = accepted.run_id().clone();
    let outcome = accepted.run().await;
    chat.settled(&run_id).await;
    assert_eq!(outcome.status, RunStatus::Killed);
    assert_eq!(chat.events(), ["start", "end aborted=true superseded"]);
    assert_eq!(chat.rows(), Vec::<String>::new());
    assert_eq!(chat.journal(), ["message_received", "session_start", "agent_end"]);
}

/// The answer is complete and stored; the stop only keeps the plugins from asking for another one.
#[tokio::test(start_paused = true)]
async fn a_stop_while_the_answer_is_judged_keeps_the_answer() {
    let setup = Setup::new([says("Done.")]);
    let stop = setup.stop.clone();
    let chat = setup
        .plugin::<hook::BeforeAgentFinalize, _>("critic", 0.0, move |event, _, _| -> Verdict<before_agent_finalize::Answer> {
            if event.last_assistant_message.as_deref() != Some("Done.") {
                return Verdict::Answers(None);
            }
            stop.now(CancelReason::User);
            Verdict::Hangs
        })
        .chat();
    assert_eq!(chat.user("go").await.status, RunStatus::Killed);
    assert_eq!(chat.rows(), ["user: go", "assistant: Done."]);
    assert_eq!(chat.sent(), ["Done."]);
    chat.goes_on().await;
}

/// The stop comes with the last piece of the answer, and nobody judges answers: it still came first.
#[tokio::test]
async fn a_stop_just_before_the_end_of_the_answer_is_a_stop() {
    let setup = Setup::new([]);
    let stop = setup.stop.clone();
    let chat = setup.turn(says("Done.").stopped(&stop, CancelReason::User).stubborn()).chat();
    assert_eq!(chat.user("go").await.status, RunStatus::Killed);
    assert_eq!((chat.rows(), chat.sent()), (vec!["user: go".into(), "assistant: Done.".into()], vec!["Done.".to_owned()]));
    assert_eq!(chat.ending(), "end aborted=true user");
}

/// A draft that a plugin did not accept is no answer, however the pass that it asked for ends.
#[tokio::test(start_paused = true)]
async fn a_refused_draft_is_not_sent_when_the_next_pass_is_stopped() {
    let setup = Setup::new([says("Draft."), calls([("c1", "slow", json!({}))])]);
    let slow = FakeTool::hanging("slow").stopped(&setup.stop, CancelReason::User);
    let chat = setup
        .tool(&slow)
        .plugin::<hook::BeforeAgentFinalize, _>("critic", 0.0, |_, _, _| {
            let action = Some(before_agent_finalize::Action::Revise);
            Some(before_agent_finalize::Answer { action, reason: Some("check it".into()), retry: None })
        })
        .chat();
    assert_eq!(chat.user("go").await.status, RunStatus::Killed);
    assert_eq!(chat.rows()[1..3], ["assistant: Draft.", "note revise: check it"]);
    assert!(chat.sent().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_cut_the_guards_of_rows_and_texts() {
    let pause = WIND_DOWN + Duration::from_millis(100);
    let setup = Setup::new([]);
    let (stop, second) = (setup.stop.clone(), setup.stop.clone());
    let chat = setup
        .turn(says_in(&["token=abc"]).stopped(&stop, CancelReason::User).hanging())
        .plugin::<hook::BeforeMessageWrite, _>("redactor", 0.0, move |event, _, invocation| {
            assert!(!invocation.cancel.is_cancelled(), "a guard does not hear of the stop");
            let AgentMessage::Assistant(_) = &event.message else { return Verdict::Answers(None) };
            let mut value = event.message.to_value();
            value["content"] = json!("***");
            let message = Some(AgentMessage::from_value(value).unwrap());
            Verdict::After(pause, Some(hooks::events::before_message_write::Answer { block: false, message }))
        })
        .plugin::<hook::MessageSending, _>("filter", 0.0, move |_, _, invocation| {
            second.now(CancelReason::User);
            assert!(!invocation.cancel.is_cancelled(), "a guard does not hear of the stop");
            Verdict::After(pause, Some(message_sending::Answer { content: Some("***".into()), ..Default::default() }))
        })
        .chat();
    chat.user("go").await;
    assert_eq!(chat.rows()[1], "assistant (aborted): ***");
    assert_eq!(chat.sent(), ["***"]);
}

/// Rows of aborted messages hold no call: it has no result, and never will.
#[tokio::test(start_paused = true)]
async fn half_calls_of_a_stopped_message_are_not_kept() {
    let setup = Setup::new([]);
    let stop = setup.stop.clone();
    let turn = calls([("c1", "look", json!({}))]).stopped(&stop, CancelReason::User).hanging();
    let chat = setup.turn(turn).tool(&FakeTool::answering("look", "x")).chat();
    chat.user("go").await;
    let TranscriptEvent::Message { message: AgentMessage::Assistant(row) } = &chat.raw_rows()[2].event else { panic!() };
    assert_eq!(row.tool_calls().count(), 0);
    chat.goes_on().await;
}
