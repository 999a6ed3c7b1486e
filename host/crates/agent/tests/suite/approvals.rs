//! Approvals: only an exact, offered decision that carries the pending id lets a call run.

use std::time::Duration;

use domain::approval::{ApprovalDecision, ApprovalOutcome, ApprovalRequest, Severity};
use domain::cancel::CancelReason;
use domain::session::RunStatus;
use domain::tool::ToolOutcome;
use hooks::catalogue as hook;
use hooks::events::before_tool_call;
use serde_json::{Value, json};

use crate::support::{Answer, Chat, FakeTool, Setup, calls, says, seen};

fn request() -> ApprovalRequest {
    ApprovalRequest {
        title: "Delete it?".into(),
        description: "The file goes.".into(),
        scope: None,
        severity: Severity::Critical,
        wait: Duration::from_secs(120),
        wanted_allow_on_timeout: false,
        timeout_reason: None,
        offered: ApprovalDecision::ALL.to_vec(),
        on_resolution: Some("note".into()),
    }
}

fn asks(request: ApprovalRequest) -> Option<before_tool_call::Answer> {
    Some(before_tool_call::Answer { require_approval: Some(request), ..Default::default() })
}

fn setup(tool: &FakeTool, request: ApprovalRequest) -> Setup {
    Setup::new([calls([("c1", "delete", json!({"a": 1}))]), says("ok")]).tool(tool).plugin::<hook::BeforeToolCall, _>(
        "guard",
        10.0,
        move |_, _, _| asks(request.clone()),
    )
}

/// What became of the one call of a chat.
fn result_of(chat: &Chat) -> (String, Value) {
    let row = chat.raw_rows().into_iter().nth(3).unwrap();
    let domain::session::TranscriptEvent::Message { message: domain::message::AgentMessage::ToolResult(result) } = row.event
    else {
        panic!("{:?}", chat.rows())
    };
    (chat.rows()[2].clone(), result.details.map(|details| details["status"].clone()).unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn each_end_of_an_approval_has_its_result() {
    use ApprovalDecision::{AllowAlways, AllowOnce, Deny};
    let denied = "error c1: the operator denied this call";
    let late = "error c1: no valid approval came in time";
    let no_route = "error c1: approval is needed and nobody can be asked here; run interactively, or change the plugin's rule";
    let fault = "error c1: approval is needed, and asking for it failed";
    for (answer, row, status, outcome) in [
        (Answer::Decides(AllowOnce), "result c1: gone", Value::Null, ApprovalOutcome::AllowOnce),
        (Answer::Decides(AllowAlways), "result c1: gone", Value::Null, ApprovalOutcome::AllowAlways),
        (Answer::After(Duration::from_secs(119), AllowOnce), "result c1: gone", Value::Null, ApprovalOutcome::AllowOnce),
        (Answer::Decides(Deny), denied, json!("blocked"), ApprovalOutcome::Deny),
        (Answer::NeverAnswers, late, json!("timed_out"), ApprovalOutcome::Timeout),
        (Answer::After(Duration::from_secs(121), AllowOnce), late, json!("timed_out"), ApprovalOutcome::Timeout),
        (Answer::Mumbles, late, json!("timed_out"), ApprovalOutcome::Timeout),
        (Answer::WrongId(AllowOnce), late, json!("timed_out"), ApprovalOutcome::Timeout),
        (Answer::IsNotThere, no_route, json!("failed"), ApprovalOutcome::Cancelled),
        (Answer::Panics, fault, json!("failed"), ApprovalOutcome::Cancelled),
    ] {
        let tool = FakeTool::answering("delete", "gone");
        let (resolved, watch) = seen::<hook::ApprovalResolved>();
        let chat = setup(&tool, request()).approval(answer).plugin::<hook::ApprovalResolved, _>("guard", 0.0, watch).chat();
        let ended = chat.user("delete it").await;
        assert_eq!(ended.status, RunStatus::Done, "{row}");
        assert_eq!(result_of(&chat), (row.to_owned(), status));
        assert_eq!(tool.ran().len(), usize::from(row.starts_with("result")), "{row}");
        let resolved = resolved.lock().unwrap();
        assert_eq!(resolved.len(), 1, "told once: {row}");
        assert_eq!((resolved[0].outcome, resolved[0].note.as_str()), (outcome, "note"), "{row}");
    }
}

#[tokio::test]
async fn a_decision_that_was_not_offered_blocks() {
    let tool = FakeTool::answering("delete", "gone");
    let offered = vec![ApprovalDecision::AllowOnce, ApprovalDecision::Deny];
    let chat =
        setup(&tool, ApprovalRequest { offered, ..request() }).approval(Answer::Decides(ApprovalDecision::AllowAlways)).chat();
    chat.user("delete it").await;
    assert_eq!(result_of(&chat).1, json!("timed_out"));
    assert_eq!(tool.ran().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn expiry_denies_even_if_the_plugin_wished_otherwise_and_its_reason_is_the_result() {
    let tool = FakeTool::answering("delete", "gone");
    let request = ApprovalRequest {
        wait: Duration::from_secs(5),
        wanted_allow_on_timeout: true,
        timeout_reason: Some("nobody looked".into()),
        ..request()
    };
    let chat = setup(&tool, request).approval(Answer::NeverAnswers).chat();
    let started = tokio::time::Instant::now();
    chat.user("delete it").await;
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    assert_eq!(result_of(&chat), ("error c1: nobody looked".to_owned(), json!("blocked")));
    assert_eq!(tool.ran().len(), 0);
}

#[tokio::test]
async fn a_request_to_stop_ends_the_question() {
    let tool = FakeTool::answering("delete", "gone");
    let (resolved, watch_resolved) = seen::<hook::ApprovalResolved>();
    let (ends, watch_ends) = seen::<hook::AfterToolCall>();
    let setup = setup(&tool, request())
        .plugin::<hook::ApprovalResolved, _>("guard", 0.0, watch_resolved)
        .plugin::<hook::AfterToolCall, _>("guard", 0.0, watch_ends);
    let stop = setup.stop.clone();
    let chat = setup.approval(Answer::Stopped(stop, CancelReason::User)).chat();
    let outcome = chat.user("delete it").await;
    assert_eq!(outcome.status, RunStatus::Killed);
    assert_eq!(result_of(&chat), ("error c1: the run was aborted".to_owned(), json!("cancelled")));
    assert_eq!(tool.ran().len(), 0);
    assert_eq!(resolved.lock().unwrap()[0].outcome, ApprovalOutcome::Cancelled);
    assert_eq!(ends.lock().unwrap()[0].outcome, ToolOutcome::Aborted);
    chat.goes_on().await;
}

/// The rewrite that came with the request is frozen; a later rewrite is ignored, a later block still blocks.
#[tokio::test]
async fn the_first_request_freezes_the_parameters_and_a_later_block_still_blocks() {
    let rewrite = |a: u32, approval: Option<ApprovalRequest>| {
        let params = json!({"a": a}).as_object().cloned();
        Some(before_tool_call::Answer { params, require_approval: approval, ..Default::default() })
    };
    let with_low = |low: fn() -> Option<before_tool_call::Answer>| {
        let tool = FakeTool::answering("delete", "gone");
        let chat = Setup::new([calls([("c1", "delete", json!({"a": 1}))]), says("ok")])
            .tool(&tool)
            .plugin::<hook::BeforeToolCall, _>("guard", 10.0, move |_, _, _| rewrite(9, Some(request())))
            .plugin::<hook::BeforeToolCall, _>("low", 0.0, move |_, _, _| low())
            .approval(Answer::Decides(ApprovalDecision::AllowOnce))
            .chat();
        (tool, chat)
    };
    let (tool, chat) = with_low(|| {
        let params = json!({"a": 5}).as_object().cloned();
        Some(before_tool_call::Answer { params, require_approval: Some(request()), ..Default::default() })
    });
    chat.user("delete it").await;
    assert_eq!(tool.ran()[0].params, json!({"a": 9}));
    let asked = chat.approver.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].plugin_id.as_str(), asked[0].tool_name.as_str(), asked[0].call_id.as_str()), ("guard", "delete", "c1"));

    let (tool, chat) = with_low(|| Some(before_tool_call::Answer { block: true, ..Default::default() }));
    chat.user("delete it").await;
    assert_eq!((tool.ran().len(), chat.approver.asked().len()), (0, 0));
}

#[tokio::test]
async fn a_refused_call_stops_no_other() {
    let (delete, look) = (FakeTool::answering("delete", "gone"), FakeTool::answering("look", "seen"));
    let chat = Setup::new([calls([("c1", "delete", json!({})), ("c2", "look", json!({}))]), says("ok")])
        .tool(&delete)
        .tool(&look)
        .plugin::<hook::BeforeToolCall, _>(
            "guard",
            0.0,
            |event, _, _| {
                if event.tool_name == "delete" { asks(request()) } else { None }
            },
        )
        .approval(Answer::Decides(ApprovalDecision::Deny))
        .chat();
    chat.user("go").await;
    assert_eq!(chat.rows()[2..4], ["error c1: the operator denied this call", "result c2: seen"]);
}
