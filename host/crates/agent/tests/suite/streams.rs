//! What a watcher sees of a run.

use std::time::Duration;

use domain::model::FailureClass;
use domain::session::RunStatus;
use serde_json::json;

use crate::support::{FakeTool, PanickingEvents, Setup, calls, fails, says, says_in};

#[tokio::test]
async fn loop_048_nothing_of_a_stream_is_lost() {
    let tool = FakeTool::answering("work", "finished").updating(&["first", "second"]);
    let chat = Setup::new([calls([("c1", "work", json!({}))]), says_in(&["Hel", "lo"]).thinking("hm")]).tool(&tool).chat();
    chat.user("go").await;
    assert_eq!(
        chat.events(),
        [
            "start",
            "work c1 start",
            "work c1 update first",
            "work c1 update second",
            "work c1 result finished",
            r#"text +"Hel" = "Hel""#, // not a prefix of the silent token, so it goes out at once
            r#"text +"lo" = "Hello""#,
            r#"thinking +"hm" = "hm""#,
            "end",
        ]
    );
    let events = chat.raw_events();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), (1..=9).collect::<Vec<_>>());
    assert!(events.iter().all(|event| event.run_id == events[0].run_id));
}

#[tokio::test]
async fn the_silent_token_shows_nowhere() {
    for (pieces, texts, sent) in [
        (&["N", "O_RE", "PLY"][..], &[][..], &[][..]),
        (&["No_Reply"], &[], &[]),
        (&["No", ", wrong"], &[r#"text +"No, wrong" = "No, wrong""#], &["No, wrong"]),
        (
            &["use NO_", "REPLY to stay silent"],
            &[r#"text +"use NO_" = "use NO_""#, r#"text +"REPLY to stay silent" = "use NO_REPLY to stay silent""#],
            &["use NO_REPLY to stay silent"],
        ),
        (&["NO"], &[r#"text +"NO" = "NO""#], &["NO"]),
    ] {
        let chat = Setup::new([says_in(pieces)]).chat();
        chat.user("go").await;
        let events = chat.events();
        assert_eq!(events[1..events.len() - 1], *texts, "{pieces:?}");
        assert_eq!(chat.sent(), sent, "{pieces:?}");
        assert_eq!(chat.rows()[1], format!("assistant: {}", pieces.concat()), "the transcript keeps what the model wrote");
    }
}

/// What is held back goes out when a message ends, but not when it breaks off.
#[tokio::test]
async fn half_a_silent_token_of_a_failed_answer_shows_nowhere() {
    let chat = Setup::new([says_in(&["NO_R"]).then_fails(FailureClass::Overloaded, "down")]).chat();
    chat.user("go").await;
    assert_eq!(chat.events(), ["start", "error: down"]);
    assert_eq!(chat.sent(), ["The model provider `stub` is overloaded or out of order; try again later."]);
}

/// Text that was held back comes before the tools that follow it.
#[tokio::test]
async fn text_and_tools_keep_their_order() {
    let chat = Setup::new([calls([("c1", "look", json!({}))]).after_saying("No"), says("ok")])
        .tool(&FakeTool::answering("look", "x"))
        .chat();
    chat.user("go").await;
    assert_eq!(chat.events()[1..3], [r#"text +"No" = "No""#, "look c1 start"]);
}

#[tokio::test]
async fn blocks_of_a_message_are_told_apart() {
    let chat = Setup::new([says("second").after_saying("first")]).chat();
    chat.user("go").await;
    assert_eq!(chat.events()[1..3], [r#"text +"first" = "first""#, r#"text +"\nsecond" = "first\nsecond""#]);
    assert_eq!(chat.sent(), ["first\nsecond"]);
}

#[tokio::test]
async fn a_failed_model_call_is_told_in_full_to_operators_and_briefly_to_users() {
    let raw = "provider `stub` refused the request with HTTP status 429: RAW WORDS\nand more";
    let chat = Setup::new([fails(FailureClass::RateLimit, raw)]).chat();
    let outcome = chat.user("go").await;
    assert_eq!(outcome.status, RunStatus::Failed);
    assert_eq!(outcome.error.as_deref(), Some(raw));
    assert_eq!(chat.sent(), ["The model provider `stub` got too many requests; try again later."]);
    assert_eq!(chat.events(), ["start".to_owned(), format!("error: {}", raw.lines().next().unwrap())]);
    assert_eq!(chat.rows(), ["user: go", "assistant (error):"]);
    chat.goes_on().await;
}

#[tokio::test]
async fn half_an_answer_follows_the_error() {
    let chat = Setup::new([says_in(&["Half an"]).then_fails(FailureClass::Timeout, "gone")]).chat();
    chat.user("go").await;
    let error = "The model provider `stub` could not be reached, or did not answer in time.";
    assert_eq!(chat.sent(), [error, "Half an"]);
    assert_eq!(chat.rows()[1], "assistant (error): Half an");
    chat.goes_on().await;
}

/// Half a call must not stay: it has no result, and never will.
#[tokio::test]
async fn calls_of_a_failed_message_are_not_kept() {
    let look = FakeTool::answering("look", "x");
    let failing = calls([("c1", "look", json!({}))]).after_saying("Let me").then_fails(FailureClass::Timeout, "gone");
    let chat = Setup::new([failing]).tool(&look).chat();
    chat.user("go").await;
    assert_eq!(chat.rows(), ["user: go", "assistant (error): Let me"]);
    assert_eq!(look.ran().len(), 0);
}

#[tokio::test]
async fn a_stream_that_just_stops_is_a_failure_with_what_came() {
    let chat = Setup::new([says_in(&["Hel", "lo"]).broken_off()]).chat();
    let outcome = chat.user("go").await;
    assert_eq!(outcome.status, RunStatus::Failed);
    assert_eq!(chat.rows()[1], "assistant (error): Hello");
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_panics_changes_nothing() {
    let chat = Setup::new([calls([("c1", "look", json!({}))]), says("ok")])
        .tool(&FakeTool::answering("look", "x").taking(Duration::from_secs(1)))
        .events(PanickingEvents)
        .chat();
    assert_eq!(chat.user("go").await.status, RunStatus::Done);
    assert_eq!(chat.sent(), ["ok"]);
}
