//! A faulty plugin never changes another's outcome and is named in one line (plugin-hooks 1.7, 1.8).

use std::time::Duration;

use domain::message::text_of;
use domain::session::RunStatus;
use hooks::record::HandlerOutcome;
use hooks::{FaultKind, HookId};
use serde_json::{Value, json};
use system_tests::{Host, PROBE, Plugin, World, call, on, say};

use crate::{guests, script};

/// Budget of a hostile handler: short, because some use it up.
const BUDGET_MS: u64 = 150;

/// Every way in which a handler can go wrong, by name.
fn misconduct() -> Vec<(&'static str, Value)> {
    vec![
        ("traps", json!({ "trap": true })),
        ("loops for ever", json!({ "loop": true })),
        ("calls itself for ever", json!({ "recurse": true })),
        ("allocates without end", json!({ "alloc": u64::MAX })),
        ("prints without end", json!({ "print": u64::MAX })),
        ("computes past its deadline", json!({ "spinMs": 4 * BUDGET_MS, "answer": {} })),
        ("sleeps past its deadline", json!({ "sleepMs": 4 * BUDGET_MS, "answer": {} })),
        ("reports an error", json!({ "error": "two\nlines\u{1b}[31m" })),
    ]
}

/// A plugin that goes wrong in one hook and has little time for it.
fn hostile(hook: &str, action: Value) -> Plugin {
    script("hostile")
        .handler(on(hook).priority(10.0).does(action))
        .operator(json!({ "hooks": { "timeouts": { hook: BUDGET_MS } } }))
}

/// The one line of the host about the fault of the hostile plugin; what the plugin itself wrote to the log is its own.
fn one_line(host: &Host, hook: &str, what: &str) -> String {
    let lines = host.log().warnings(&["plugin handler failed", "plugin=hostile", &format!("hook={hook}")]);
    assert_eq!(lines.len(), 1, "{what}: {lines:?}");
    assert!(!lines[0].contains(['\n', '\u{1b}']), "{what}: {lines:?}");
    lines[0].clone()
}

#[tokio::test]
async fn a_fail_closed_hook_blocks_in_each_case() {
    let malformed = ("answers what does not parse", json!({ "answer": { "params": "{ not json" } }));
    for (what, action) in misconduct().into_iter().chain([malformed]) {
        let host = World::new()
            .plugin(hostile("before_tool_call", action))
            .plugin(script("below").handler(on("before_tool_call")))
            .turns([call(PROBE, json!({})), say("done"), say("still here")])
            .start()
            .await;
        host.say("go").await;
        assert!(host.executed().is_empty(), "{what}");
        assert_eq!(host.order(HookId::BeforeToolCall), ["hostile"], "{what}");
        let details = host.tool_results().await.remove(0).details.unwrap();
        assert_eq!(details["deniedReason"], "plugin-before-tool-call", "{what}");
        one_line(&host, "before_tool_call", what);
        assert_eq!(host.say("again").await.status, RunStatus::Done, "{what}");
        assert_eq!(host.sent(), ["done", "still here"], "{what}");
    }
}

#[tokio::test]
async fn the_gate_of_a_run_blocks_in_each_case() {
    let malformed = ("answers what does not parse", json!({ "answer": { "outcome": "block", "reason": "r", "metadata": "{" } }));
    for (what, action) in misconduct().into_iter().chain([malformed]) {
        let host = World::new().plugin(hostile("before_agent_run", action)).turns([say("answer")]).start().await;
        host.say("my text").await;
        assert!(host.requests().is_empty(), "{what}");
        assert!(!host.transcript().await.join(" ").contains("my text"), "{what}");
        one_line(&host, "before_agent_run", what);
    }
}

#[tokio::test]
async fn a_fail_open_hook_goes_on_without_the_hostile_answer() {
    let malformed = ("answers what does not parse", json!({ "answer": { "content": "mine", "metadata": "{ not json" } }));
    for (what, action) in misconduct().into_iter().chain([malformed]) {
        let host = World::new()
            .plugin(hostile("message_sending", action))
            .plugin(script("other").handler(on("message_sending").does(json!({ "append": " (checked)" }))))
            .turns([say("answer")])
            .start()
            .await;
        let outcome = host.say("go").await;
        assert_eq!(outcome.status, RunStatus::Done, "{what}");
        assert_eq!(host.sent(), ["answer (checked)"], "{what}");
        one_line(&host, "message_sending", what);
    }
}

#[tokio::test]
async fn a_plugin_that_fails_in_its_start_function_blocks_only_where_it_guards() {
    for guest in [guests::LIMIT_LOOP_START, guests::TRAP_START] {
        let hostile = Plugin::new("hostile", guest).operator(json!({ "hooks": { "timeoutMs": BUDGET_MS } }));
        let host = World::new()
            .plugin(hostile)
            .plugin(script("other").handler(on("message_sending").does(json!({ "append": " (checked)" }))))
            .turns([call(PROBE, json!({})), say("done")])
            .start()
            .await;
        let outcome = host.say("go").await;
        assert_eq!(outcome.status, RunStatus::Done, "{}", guest.name());
        assert!(host.executed().is_empty(), "{}", guest.name());
        assert_eq!(host.sent(), ["done (checked)"], "{}", guest.name());
        one_line(&host, "before_tool_call", guest.name());
        one_line(&host, "message_sending", guest.name());
    }
}

#[tokio::test]
async fn hooks_043_the_budget_is_the_first_of_its_sources() {
    // Registration, entry, entry for this hook; the budget that counts, if it is shorter than the handler's time.
    for (registration, entry, by_hook, cut_after) in [
        (Some(1000), Some(2000), Some(50), Some(50)),
        (Some(1000), Some(60), None, Some(60)),
        (Some(70), None, None, Some(70)),
        // A longer time of a stronger source counts as well, and without any source the hook's own.
        (Some(50), Some(2000), None, None),
        (Some(50), Some(60), Some(2000), None),
        (Some(1000), None, None, None),
        (None, None, None, None),
    ] {
        let at = format!("{registration:?} {entry:?} {by_hook:?}");
        let handler = on("agent_end").with("timeoutMs", registration).does(json!({ "sleepMs": 100 }));
        let hooks = json!({ "timeoutMs": entry, "timeouts": by_hook.map(|ms| json!({ "agent_end": ms })) });
        let host = World::new().plugin(script("slow").handler(handler).operator(json!({ "hooks": hooks }))).start().await;
        let outcome = host.say("hello").await;
        assert_eq!(outcome.status, RunStatus::Done, "{at}");

        let lines = host.log().warnings(&["plugin=slow", "hook=agent_end", "timeout"]);
        let records = host.handled(HookId::AgentEnd);
        assert_eq!(records.len(), 1, "{at}");
        match cut_after {
            Some(ms) => {
                assert_eq!(lines.len(), 1, "{at}: {lines:?}");
                assert!(lines[0].contains(&format!("{ms} ms")), "{at}: {lines:?}");
                assert!(matches!(records[0].outcome, HandlerOutcome::Faulted(FaultKind::Timeout, _)), "{at}: {records:?}");
                assert!(records[0].elapsed >= Duration::from_millis(ms), "{at}: {records:?}");
            }
            None => {
                assert!(host.log().warnings(&["plugin=slow"]).is_empty(), "{at}");
                assert_eq!(records[0].outcome, HandlerOutcome::Quiet, "{at}");
            }
        }
    }
}

/// Hooks of a turn that fail open.
const OPEN: [&str; 17] = [
    "before_model_resolve",
    "agent_turn_prepare",
    "before_prompt_build",
    "before_agent_start",
    "before_agent_reply",
    "before_agent_finalize",
    "agent_end",
    "llm_input",
    "llm_output",
    "model_call_started",
    "model_call_ended",
    "after_tool_call",
    "resolve_exec_env",
    "tool_result_persist",
    "message_received",
    "reply_payload_sending",
    "message_sending",
];

/// Everything that a run of ten turns leaves, without ids and times.
async fn ten_turns(with_faulty: bool) -> Value {
    let steady = script("steady")
        .handler(on("before_prompt_build").answers(json!({ "prependContext": "steady" })))
        .handler(on("before_tool_call").answers(json!({ "params": { "marked": true } })))
        .handler(on("tool_result_persist").does(json!({ "append": " kept" })))
        .handler(on("message_sending").does(json!({ "append": " sent" })))
        .recording(&["before_prompt_build", "after_tool_call", "message_sending", "agent_end"]);
    let mut world = World::new();
    if with_faulty {
        let every = OPEN.iter().chain(&["message_sent", "session_start", "before_message_write"]);
        world = world.plugin(every.fold(script("faulty"), |plugin, hook| plugin.handler(on(hook).priority(10.0).traps())));
    }
    let turn = || [call(PROBE, json!({ "says": "found" })), say("done")];
    let turns: [_; 20] = std::array::from_fn(|place| turn()[place % 2].clone());
    let world = world.plugin(steady).turns(turns);
    let workspace = world.workspace().display().to_string();
    let host = world.start().await;
    for number in 0..10 {
        host.say(&format!("turn {number}")).await;
    }
    let results = host.tool_results().await;
    let mut told = Vec::new();
    for hook in ["before_prompt_build", "after_tool_call", "message_sending", "agent_end"] {
        let mut events: Vec<Value> = host.calls("steady", hook).await.into_iter().map(|call| timeless(call.event)).collect();
        events.sort_by_key(Value::to_string);
        told.push(events);
    }
    json!({
        "prompts": host.prompts(),
        "systems": host.system_prompts().iter().map(|text| text.replace(&workspace, "/w")).collect::<Vec<_>>(),
        "executed": host.executed(),
        "results": results.iter().map(|result| text_of(&result.content)).collect::<Vec<_>>(),
        "transcript": host.transcript().await,
        "sent": host.sent(),
        "told": told,
    })
}

/// The event without what differs from run to run by nature.
fn timeless(mut event: Value) -> Value {
    let Some(fields) = event.as_object_mut() else { return event };
    for field in ["durationMs", "currentUserMessageId", "toolAuthority", "messages"] {
        fields.remove(field);
    }
    event
}

#[tokio::test]
async fn hooks_056_a_plugin_that_traps_everywhere_changes_nothing_for_another() {
    let (with, without) = (ten_turns(true).await, ten_turns(false).await);
    for (what, found) in with.as_object().unwrap() {
        assert_eq!(found, &without[what], "{what}");
    }
}
