//! Runs whose time is up (agent-loop 21.2).

use std::time::Duration;

use agent::RunRequest;
use agent::error::RunErrorKind;
use agent::wind_down::WIND_DOWN;
use domain::model::{CallBounds, RunLimit};
use domain::session::RunStatus;
use hooks::context::Trigger;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{FakeTool, Setup, Sources, calls, key, says, says_in};

const MINUTE: Duration = Duration::from_secs(60);

fn with_timeout(seconds: u64) -> RunRequest {
    RunRequest { timeout: Some(Duration::from_secs(seconds)), ..RunRequest::new("go", key()) }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_run_ends_its_tools_and_is_told_if_nothing_else_was_said() {
    let tool = FakeTool::hanging("slow");
    let chat = Setup::new([calls([("c1", "slow", json!({}))]).after_saying("Working.")]).tool(&tool).chat();
    let started = Instant::now();
    let outcome = chat.send(with_timeout(5)).await;
    assert_eq!(started.elapsed(), Duration::from_secs(5) + WIND_DOWN);
    assert_eq!((outcome.status, outcome.aborted, outcome.error_kind), (RunStatus::Timeout, true, Some(RunErrorKind::TimedOut)));
    assert_eq!(tool.in_flight.count(), 0);
    assert_eq!(chat.rows()[2], "error c1: the operation was aborted");
    assert_eq!(chat.ending(), "end aborted=true timeout");
    assert_eq!(chat.sent(), ["the run took longer than its 5 s; raise agents.defaults.timeoutSeconds or pass --timeout"]);
    assert!(outcome.payloads[0].is_error);
    assert_eq!(chat.entry().await.status, Some(RunStatus::Timeout));
    chat.goes_on().await;
}

#[tokio::test(start_paused = true)]
async fn partial_text_stands_for_the_notice_that_time_was_up() {
    let chat = Setup::new([says_in(&["As far as I got"]).hanging()]).chat();
    let outcome = chat.send(with_timeout(5)).await;
    assert_eq!(outcome.status, RunStatus::Timeout);
    assert_eq!(chat.sent(), ["As far as I got"]);
    assert_eq!(chat.rows()[2], "note interrupted: [The turn above was interrupted: its time was up. It may be incomplete.]");
    chat.goes_on().await;
}

#[tokio::test(start_paused = true)]
async fn the_request_s_time_counts_before_the_configured_one_and_zero_is_none() {
    for (requested, configured, expected) in [
        (None, None, RunStatus::Done),
        (None, Some(30), RunStatus::Timeout),
        (Some(90), Some(30), RunStatus::Done),
        (Some(30), Some(90), RunStatus::Timeout),
        (Some(0), Some(30), RunStatus::Done),
        (None, Some(0), RunStatus::Done),
    ] {
        let chat = Setup::new([says("ok").pausing(MINUTE)])
            .settings(|settings| settings.run_timeout = configured.map(Duration::from_secs))
            .chat();
        let timeout = requested.map(Duration::from_secs);
        let outcome = chat.send(RunRequest { timeout, ..RunRequest::new("go", key()) }).await;
        assert_eq!(outcome.status, expected, "{requested:?} {configured:?}");
    }
}

/// What the window of a silent provider is computed from (agent-loop 21.3).
#[tokio::test]
async fn a_model_request_says_what_bounds_it() {
    let minute = Duration::from_secs(60);
    for (requested, configured, trigger, expected) in [
        (None, None, Trigger::User, CallBounds::default()),
        (Some(minute), None, Trigger::User, CallBounds { run: RunLimit::After(minute), ..CallBounds::default() }),
        (
            Some(Duration::ZERO),
            Some(minute),
            Trigger::Cron,
            CallBounds { run: RunLimit::Unlimited, agent: Some(minute), is_cron: true },
        ),
    ] {
        let chat = Setup::new([says("ok")]).settings(|settings| settings.configured_timeout = configured).chat();
        chat.send(RunRequest { timeout: requested, trigger, ..RunRequest::new("go", key()) }).await;
        assert_eq!(chat.raw_request(1).bounds, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_workspace_that_never_answers_ends_with_the_run_s_time() {
    let chat = Setup::new([]).sources(Sources::Hanging).chat();
    let outcome = chat.send(with_timeout(5)).await;
    assert_eq!(outcome.status, RunStatus::Timeout);
    assert_eq!(chat.rows(), Vec::<String>::new());
}
