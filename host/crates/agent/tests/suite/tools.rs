//! Tool batches: who runs, when, with what, and what is told of it.

use std::time::Duration;

use domain::event::EventData;
use domain::tool::ToolOutcome;
use hooks::catalogue as hook;
use hooks::events::{before_tool_call, resolve_exec_env};
use hooks::{Fault, FaultKind};
use serde_json::{Map, Value, json};

use crate::support::{FakeTool, Journal, Setup, Verdict, calls, says, seen};

fn object(value: Value) -> Option<Map<String, Value>> {
    value.as_object().cloned()
}

fn rewrite(value: Value) -> Option<before_tool_call::Answer> {
    Some(before_tool_call::Answer { params: object(value), ..Default::default() })
}

fn block(reason: &str) -> Option<before_tool_call::Answer> {
    Some(before_tool_call::Answer { block: true, block_reason: Some(reason.into()), ..Default::default() })
}

#[tokio::test(start_paused = true)]
async fn loop_018_events_come_as_tools_finish_and_rows_as_the_model_asked() {
    let a = FakeTool::answering("a", "from a").taking(Duration::from_secs(2));
    let b = FakeTool::answering("b", "from b").taking(Duration::from_secs(1));
    let started = tokio::time::Instant::now();
    let chat = Setup::new([calls([("ca", "a", json!({})), ("cb", "b", json!({}))]), says("ok")]).tool(&a).tool(&b).chat();
    chat.user("go").await;
    assert_eq!(started.elapsed(), Duration::from_secs(2), "side by side");
    assert_eq!(chat.tool_events(), ["a ca start", "b cb start", "b cb result from b", "a ca result from a"]);
    assert_eq!(chat.rows()[2..4], ["result ca: from a", "result cb: from b"]);
    assert_eq!(chat.request(2)[2..], ["result ca: from a", "result cb: from b"]);
}

/// If one tool must run alone, each call is prepared and run before the next one is looked at.
#[tokio::test(start_paused = true)]
async fn one_sequential_tool_makes_the_batch_sequential() {
    let journal = Journal::default();
    let a = FakeTool::answering("a", "from a").taking(Duration::from_secs(2));
    let b = FakeTool::answering("b", "from b").taking(Duration::from_secs(1)).sequential();
    let noted = journal.clone();
    let started = tokio::time::Instant::now();
    let chat = Setup::new([calls([("ca", "a", json!({})), ("cb", "b", json!({}))]), says("ok")])
        .tool(&a)
        .tool(&b)
        .plugin::<hook::BeforeToolCall, _>("w", 0.0, move |event, _, _| {
            noted.note(format!("{} after {} s", event.tool_name, started.elapsed().as_secs()));
            None
        })
        .chat();
    chat.user("go").await;
    assert_eq!(journal.all(), ["a after 0 s", "b after 2 s"]);
    assert_eq!(chat.tool_events(), ["a ca start", "a ca result from a", "b cb start", "b cb result from b"]);
    assert_eq!(chat.rows()[2..4], ["result ca: from a", "result cb: from b"]);
}

#[tokio::test]
async fn loop_019_a_block_is_final_and_its_reason_is_the_result() {
    let look = FakeTool::answering("look", "x");
    let (asked, count) = seen::<hook::BeforeToolCall>();
    let chat = Setup::new([calls([("c1", "look", json!({}))]), says("ok")])
        .tool(&look)
        .plugin::<hook::BeforeToolCall, _>("high", 10.0, |_, _, _| block("not today"))
        .plugin::<hook::BeforeToolCall, _>("low", 0.0, move |event, context, invocation| {
            count(event, context, invocation);
            Some(before_tool_call::Answer { block: false, ..Default::default() })
        })
        .chat();
    chat.user("go").await;
    assert_eq!(look.ran().len(), 0);
    assert_eq!(asked.lock().unwrap().len(), 0);
    assert_eq!(chat.rows()[2], "error c1: not today");
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_stops_no_other_and_says_why_in_its_details() {
    let (ends, watch) = seen::<hook::AfterToolCall>();
    let (look, read) = (FakeTool::answering("look", "seen"), FakeTool::answering("read", "read"));
    let wanted = [("c1", "read", json!({"path": "a"})), ("c2", "look", json!({})), ("c3", "read", json!({"path": "b"}))];
    let chat = Setup::new([calls(wanted), says("ok")])
        .tool(&look)
        .tool(&read)
        .plugin::<hook::BeforeToolCall, _>("guard", 0.0, |event, _, _| match event.derived_paths.first().map(String::as_str) {
            Some("a") => Verdict::from(block("not a")),
            Some("b") => Verdict::Hangs,
            _ => Verdict::Answers(None),
        })
        .plugin::<hook::AfterToolCall, _>("w", 0.0, watch)
        .chat();
    chat.user("go").await;
    let hung = "This tool call was blocked by a plugin. (plugin `guard` failed in before_tool_call \
                (timeout: no answer within 15000 ms), so the operation is blocked)";
    assert_eq!(chat.rows()[2..5], ["error c1: not a".to_owned(), "result c2: seen".to_owned(), format!("error c3: {hung}")]);
    assert_eq!((look.ran().len(), read.ran().len()), (1, 0));
    let ends = ends.lock().unwrap();
    let by_call = |id: &str| ends.iter().find(|end| end.tool_call_id.as_str() == id).unwrap();
    let blocked = by_call("c1");
    assert_eq!((blocked.outcome, blocked.duration_ms), (ToolOutcome::Blocked, None));
    assert_eq!(blocked.error.as_deref(), Some("not a"));
    let result = blocked.result.as_ref().unwrap().to_value();
    let details = json!({
        "status": "blocked", "deniedReason": "plugin-before-tool-call", "reason": "not a", "pluginId": "guard",
    });
    assert_eq!(result["details"], details);
    assert_eq!(by_call("c2").outcome, ToolOutcome::Ok);
    assert_eq!(by_call("c3").outcome, ToolOutcome::Blocked);
}

#[tokio::test]
async fn a_block_without_a_reason_has_the_host_s_text() {
    let chat = Setup::new([calls([("c1", "look", json!({}))]), says("ok")])
        .tool(&FakeTool::answering("look", "x"))
        .plugin::<hook::BeforeToolCall, _>("guard", 0.0, |_, _, _| {
            Some(before_tool_call::Answer { block: true, ..Default::default() })
        })
        .chat();
    chat.user("go").await;
    assert_eq!(chat.rows()[2], format!("error c1: {}", agent::executor::DEFAULT_BLOCK_REASON));
}

/// The last rewrite replaces the earlier ones and is laid over the original key by key.
#[tokio::test]
async fn rewritten_parameters_are_merged_and_told() {
    let look = FakeTool::answering("look", "x");
    let (ends, watch) = seen::<hook::AfterToolCall>();
    let chat = Setup::new([calls([("c1", "look", json!({"a": 1, "b": 2}))]), says("ok")])
        .tool(&look)
        .plugin::<hook::BeforeToolCall, _>("high", 10.0, |_, _, _| rewrite(json!({"a": 9})))
        .plugin::<hook::BeforeToolCall, _>("low", 0.0, |event, _, _| {
            assert_eq!(event.params.to_value()["a"], 1, "handlers see the original");
            rewrite(json!({"b": 7}))
        })
        .plugin::<hook::AfterToolCall, _>("w", 0.0, watch)
        .chat();
    chat.user("go").await;
    assert_eq!(look.ran()[0].params, json!({"a": 1, "b": 7}));
    assert_eq!(ends.lock().unwrap()[0].params.to_value(), json!({"a": 1, "b": 7}));
    assert_eq!(chat.rows()[1], r#"assistant: [c1 look {"a":1,"b":2}]"#, "the row keeps what the model said");
}

#[tokio::test]
async fn rewritten_parameters_are_checked_again() {
    let look = FakeTool::answering("look", "x").with_spec(|spec| spec.parameters["required"] = json!(["at"]));
    let chat = Setup::new([calls([("c1", "look", json!({"at": "sky"}))]), says("ok")])
        .tool(&look)
        .plugin::<hook::BeforeToolCall, _>("p", 0.0, |_, _, _| rewrite(json!({"at": null})))
        .chat();
    chat.user("go").await;
    assert_eq!(look.ran().len(), 0);
    assert_eq!(chat.rows()[2], "error c1: a plugin rewrote the parameters so that they no longer fit: `at` is missing");
}

#[tokio::test]
async fn calls_that_cannot_run_become_error_results() {
    let look = FakeTool::answering("look", "x").with_spec(|spec| spec.parameters["required"] = json!(["at"]));
    let typed = FakeTool::answering("typed", "x").with_spec(|spec| spec.output_schema = Some(json!({"type": "object"})));
    let broken = FakeTool::answering("broken", "x").with_spec(|spec| spec.output_schema = Some(json!("no schema")));
    let (asked, watch_asked) = seen::<hook::BeforeToolCall>();
    let (ends, watch_ends) = seen::<hook::AfterToolCall>();
    let wanted = [
        ("c1", "nowhere", json!({})),
        ("c2", "look", json!({})),
        ("c3", "look", json!([1])),
        ("c4", "broken", json!({})),
        ("c5", "typed", json!({})),
        ("c6", "look", json!({"at": 1, "PANIC": true})),
    ];
    let chat = Setup::new([calls(wanted), says("ok")])
        .tool(&look)
        .tool(&typed)
        .tool(&broken)
        .plugin::<hook::BeforeToolCall, _>("w", 0.0, watch_asked)
        .plugin::<hook::AfterToolCall, _>("w", 0.0, watch_ends)
        .chat();
    chat.user("go").await;
    assert_eq!(
        chat.rows()[2..8],
        [
            "error c1: there is no tool `nowhere`; the tools are: broken, look, typed",
            "error c2: `at` is missing",
            "error c3: the arguments are no object",
            "error c4: the output schema is invalid",
            "error c5: the details do not fit",
            "error c6: the tool `look` was not run: the host failed while it prepared the call",
        ]
    );
    assert_eq!((look.ran().len(), broken.ran().len(), typed.ran().len()), (0, 0, 1));
    assert_eq!(asked.lock().unwrap().len(), 1, "what cannot run is not asked about");
    let ends = ends.lock().unwrap();
    assert_eq!(ends.len(), 6);
    let of_c2 = ends.iter().find(|end| end.tool_call_id.as_str() == "c2").unwrap();
    assert_eq!(of_c2.result.as_ref().unwrap().to_value()["details"], json!({"errorKind": "argument-validation"}));
}

#[tokio::test]
async fn a_tool_that_panics_gives_an_error_result_and_the_run_goes_on() {
    let (ends, watch) = seen::<hook::AfterToolCall>();
    let chat = Setup::new([calls([("c1", "bad", json!({})), ("c2", "good", json!({}))]), says("One of them failed.")])
        .tool(&FakeTool::panicking("bad"))
        .tool(&FakeTool::answering("good", "fine"))
        .plugin::<hook::AfterToolCall, _>("w", 0.0, watch)
        .chat();
    chat.user("go").await;
    let told = "the tool `bad` failed inside the host; whether it did anything is not known";
    assert_eq!(chat.rows()[2..4], [format!("error c1: {told}"), "result c2: fine".to_owned()]);
    assert_eq!(chat.sent(), ["One of them failed."]);
    assert_eq!(ends.lock().unwrap()[0].outcome, ToolOutcome::Failed);
}

#[tokio::test]
async fn a_handler_that_panics_blocks_its_call() {
    let look = FakeTool::answering("look", "x");
    let chat = Setup::new([calls([("c1", "look", json!({}))]), says("ok")])
        .tool(&look)
        .plugin::<hook::BeforeToolCall, _>("p", 0.0, |_, _, _| -> Option<before_tool_call::Answer> { panic!("as planned") })
        .chat();
    chat.user("go").await;
    assert_eq!(look.ran().len(), 0);
    assert_eq!(chat.rows()[2], "error c1: the tool `look` was not run: the host failed while it prepared the call");
}

#[tokio::test]
async fn a_handler_that_fails_blocks_and_lower_ones_are_not_asked() {
    let look = FakeTool::answering("look", "x");
    let (asked, watch) = seen::<hook::BeforeToolCall>();
    let chat = Setup::new([calls([("c1", "look", json!({}))]), says("ok")])
        .tool(&look)
        .plugin::<hook::BeforeToolCall, _>("bad", 1.0, |_, _, _| Verdict::Faults(Fault::new(FaultKind::Trap, "unreachable")))
        .plugin::<hook::BeforeToolCall, _>("spy", 0.0, watch)
        .chat();
    chat.user("go").await;
    assert_eq!((look.ran().len(), asked.lock().unwrap().len()), (0, 0));
    assert!(chat.rows()[2].contains("plugin `bad` failed in before_tool_call (trap: unreachable)"), "{:?}", chat.rows());
}

#[tokio::test]
async fn a_batch_ends_the_turn_only_if_every_result_asks_for_it() {
    let ending = |name| FakeTool::answering(name, "posted").with_result(|result| result.terminate = true);
    let chat = Setup::new([calls([("c1", "post", json!({})), ("c2", "send", json!({}))]).after_saying("Posting.")])
        .tool(&ending("post"))
        .tool(&ending("send"))
        .chat();
    let outcome = chat.user("go").await;
    assert_eq!((outcome.model_calls, outcome.tool_calls), (1, 2));
    assert_eq!(chat.sent(), ["Posting."]);

    let chat = Setup::new([calls([("c1", "post", json!({})), ("c2", "look", json!({}))]), says("ok")])
        .tool(&ending("post"))
        .tool(&FakeTool::answering("look", "x"))
        .chat();
    assert_eq!(chat.user("go").await.model_calls, 2);
}

#[tokio::test]
async fn variables_for_a_command_pass_the_host_s_filter() {
    let (exec, look) = (FakeTool::answering("exec", "x"), FakeTool::answering("look", "x"));
    let env = |pairs: &[(&str, &str)]| {
        let env = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Some(resolve_exec_env::Answer { env })
    };
    let chat = Setup::new([calls([("c1", "exec", json!({})), ("c2", "look", json!({}))]), says("ok")])
        .tool(&exec)
        .tool(&look)
        .plugin::<hook::ResolveExecEnv, _>("high", 10.0, move |_, _, _| env(&[("A", "1"), ("PATH", "/evil")]))
        .plugin::<hook::ResolveExecEnv, _>("low", 0.0, move |_, _, _| env(&[("A", "2"), ("B", "3")]))
        .chat();
    chat.user("go").await;
    let given: Vec<_> = exec.ran()[0].env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(given, ["A=2", "B=3"]);
    assert!(look.ran()[0].env.is_empty(), "only commands have an environment");
}

/// Events hold what a tool returned before the persist hooks, in sanitised form only.
#[tokio::test]
async fn events_are_sanitised_and_older_than_the_persist_hooks() {
    let look = FakeTool::answering("look", "the SECRET result").updating(&["the SECRET so far"]);
    let chat = Setup::new([calls([("c1", "look", json!({"token": "SECRET"}))]), says("ok")]).tool(&look).chat();
    chat.user("go").await;
    assert_eq!(chat.tool_events(), ["look c1 start", "look c1 update the *** so far", "look c1 result the *** result"]);
    let all = chat.raw_events().into_iter().filter(|event| matches!(event.data, EventData::Tool(_)));
    assert!(all.into_iter().all(|event| !format!("{event:?}").contains("SECRET")));
}

#[tokio::test(start_paused = true)]
async fn after_tool_call_tells_outcome_time_and_result() {
    let (ends, watch) = seen::<hook::AfterToolCall>();
    let chat = Setup::new([calls([("c1", "good", json!({"a": 1})), ("c2", "bad", json!({}))]), says("ok")])
        .tool(&FakeTool::answering("good", "fine").taking(Duration::from_millis(70)))
        .tool(&FakeTool::failing("bad", "no such file"))
        .plugin::<hook::AfterToolCall, _>("w", 0.0, watch)
        .chat();
    chat.user("go").await;
    let ends = ends.lock().unwrap();
    let told: Vec<_> =
        ends.iter().map(|end| (end.tool_name.as_str(), end.outcome, end.duration_ms, end.error.as_deref())).collect();
    assert_eq!(
        told,
        [("bad", ToolOutcome::Failed, Some(0), Some("no such file")), ("good", ToolOutcome::Ok, Some(70), None)],
        "as they finish"
    );
    assert_eq!(ends[1].result.as_ref().unwrap().to_value()["content"][0]["text"], "fine");
}
