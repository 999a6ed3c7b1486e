//! Tool calls that plugins make: which ones the operator grants, and that they go the way of the model's own calls.

use domain::approval::ApprovalDecision;
use domain::cancel::CancelReason;
use domain::event::{EventData, ToolEvent};
use domain::message::text_of;
use hooks::HookId;
use hooks::record::HandlerOutcome;
use serde_json::{Value, json};
use system_tests::{Answer, Entry, Host, PROBE, Plugin, World, call, on, say};
use tracing::Level;

use crate::{guests, script};

/// A plugin whose tool `relay` calls other tools.
fn relay(granted: Value) -> Plugin {
    with_grants(json!({ "toolsInvoke": granted }))
}

fn with_grants(granted: Value) -> Plugin {
    let hooks = json!([{ "hook": "before_tool_call" }, { "hook": "session_start" }]);
    Plugin::new("relay", guests::CAP_TOOLS)
        .manifest(json!({ "contracts": { "tools": ["relay", "relay_too"] }, "hooks": hooks }))
        .operator(json!({ "capabilities": granted }))
}

/// The model calls `relay`, which calls a tool.
async fn relayed(world: World, tool: &str, params: Value) -> (Host, Value) {
    let host = world.turns([call("relay", json!({ "tool": tool, "params": params })), say("done")]).start().await;
    host.say("go").await;
    let report = report(&host, 0).await;
    (host, report)
}

async fn report(host: &Host, at: usize) -> Value {
    let text = text_of(&host.tool_results().await[at].content);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("no report: {text}"))
}

#[tokio::test]
async fn a_granted_tool_runs_and_only_own_handlers_are_left_out() {
    let world = World::new().plugin(relay(json!([PROBE, "read"]))).plugin(
        script("other")
            .handler(on("before_tool_call"))
            .recording(&["before_tool_call", "after_tool_call"])
            .entry(json!({ "hook": "after_tool_call" })),
    );
    let (host, found) = relayed(world, PROBE, json!({ "says": "hello" })).await;
    assert_eq!(found["outcome"]["text"], "hello");
    assert_eq!(found["outcome"]["outcome"], "ToolOutcome::Ok");
    assert!(found["outcome"]["details"].as_str().unwrap().contains("details of the probe"));
    assert_eq!(found["names"], json!([PROBE, "read"]), "granted, and there in this run");
    assert_eq!(host.executed().len(), 1);

    let seen: Vec<_> = host.calls("other", "before_tool_call").await.iter().map(|call| call.event["toolName"].clone()).collect();
    assert_eq!(seen, ["relay", PROBE], "the handlers of others hear of both calls");
    assert_eq!(host.calls("other", "after_tool_call").await.len(), 2);
    let handled = host.handled(HookId::BeforeToolCall);
    let skipped: Vec<_> = handled.iter().filter(|it| it.outcome == HandlerOutcome::SkippedNested).collect();
    assert_eq!(skipped.iter().map(|it| it.plugin.as_str()).collect::<Vec<_>>(), ["relay"], "with a note in the trace");
    assert_eq!(host.tool_results().await.len(), 1, "the transcript holds the model's calls only");
    let events = host.journal().entries();
    let told = |wanted: fn(&ToolEvent) -> bool| {
        events
            .iter()
            .filter(|it| matches!(it, Entry::Emitted(event) if matches!(&event.data, EventData::Tool(it) if wanted(it))))
            .count()
    };
    assert_eq!(told(|event| matches!(event, ToolEvent::Start { .. })), 2);
    assert_eq!(told(|event| matches!(event, ToolEvent::Result { .. })), 2);
}

#[tokio::test]
async fn guards_and_approvals_of_others_hold_for_it() {
    let guard = script("guard").handler(
        on("before_tool_call").with("matcher", json!([PROBE])).answers(json!({ "block": true, "blockReason": "not that" })),
    );
    let (host, found) = relayed(World::new().plugin(relay(json!([PROBE]))).plugin(guard), PROBE, json!({})).await;
    assert_eq!((&found["outcome"]["outcome"], &found["outcome"]["text"]), (&json!("ToolOutcome::Blocked"), &json!("not that")));
    assert!(host.executed().is_empty());

    for (decision, ran) in [(ApprovalDecision::AllowOnce, 1), (ApprovalDecision::Deny, 0)] {
        let asks = json!({ "requireApproval": { "title": "t", "description": "d" } });
        let guard = script("guard").handler(on("before_tool_call").with("matcher", json!([PROBE])).answers(asks));
        let world = World::new().plugin(relay(json!([PROBE]))).plugin(guard).reviewer([Answer::Decides(decision)]);
        let (host, found) = relayed(world, PROBE, json!({})).await;
        assert_eq!(host.executed().len(), ran, "{found}");
    }
}

#[tokio::test]
async fn policies_hold_for_it() {
    let world = World::new().plugin(relay(json!([PROBE]))).config(json!({ "tools": { "deny": [PROBE] } }));
    let (host, found) = relayed(world, PROBE, json!({})).await;
    assert!(found["outcome"]["error"].as_str().unwrap().starts_with("NotFound"), "{found}");
    assert_eq!(found["names"], json!([]));
    assert!(host.executed().is_empty());
}

#[tokio::test]
async fn a_tool_that_is_not_granted_is_refused_and_the_line_is_told_once() {
    for granted in [json!([]), json!(["read"])] {
        let turns = || call("relay", json!({ "tool": PROBE, "params": {} }));
        let host = World::new().plugin(relay(granted)).turns([turns(), turns(), say("done")]).start().await;
        host.say("go").await;
        for at in 0..2 {
            let found = report(&host, at).await;
            assert!(found["outcome"]["error"].as_str().unwrap().starts_with("Denied"), "{found}");
        }
        assert!(host.executed().is_empty());
        let told = host.log().warnings(&["add \"probe\" to plugins.entries.relay.capabilities.toolsInvoke", "hook=tool"]);
        assert_eq!(told.len(), 1, "{told:?}");
    }
    let host = World::new().plugin(with_grants(json!({}))).start().await;
    assert!(!host.loads("relay"));
    assert!(host.problem("relay").contains("plugins.entries.relay.capabilities.toolsInvoke"), "{}", host.problem("relay"));
}

#[tokio::test]
async fn what_does_not_fit_is_an_answer() {
    let world = || World::new().plugin(relay(json!([PROBE, "read", "nothing"])));
    for (tool, params, expected) in
        [("nothing", json!({}), "NotFound"), (PROBE, json!([1]), "Invalid"), (PROBE, json!("x"), "Invalid")]
    {
        let (host, found) = relayed(world(), tool, params).await;
        assert!(found["outcome"]["error"].as_str().unwrap().starts_with(expected), "{found}");
        assert!(host.executed().is_empty());
    }
    let (_host, found) = relayed(world(), "read", json!({})).await;
    assert_eq!(found["outcome"]["outcome"], "ToolOutcome::Failed", "{found}");
    let (_host, found) = relayed(world(), PROBE, json!({ "fails": "it broke" })).await;
    assert_eq!((&found["outcome"]["outcome"], &found["outcome"]["text"]), (&json!("ToolOutcome::Failed"), &json!("it broke")));
}

#[tokio::test]
async fn chains_end_before_a_guard_would_be_passed_over() {
    let nested = |inner: Value| json!({ "tool": "relay", "params": inner });
    let deep = nested(nested(nested(json!({ "tool": PROBE, "params": {} }))));
    let guard = script("guard").handler(on("before_tool_call")).recording(&["before_tool_call"]);
    let world = World::new().plugin(relay(json!([PROBE, "relay"]))).plugin(guard);
    let (host, found) = relayed(world, "relay", deep["params"].clone()).await;
    assert!(found.to_string().contains("are 4 deep already"), "{found}");
    assert!(host.executed().is_empty());
    assert_eq!(host.calls("guard", "before_tool_call").await.len(), 4, "each call that was begun was asked for");
    let skipped = host.handled(HookId::BeforeToolCall);
    assert!(skipped.iter().all(|it| it.outcome != HandlerOutcome::SkippedTooDeep), "{skipped:?}");
}

#[tokio::test]
async fn outside_a_run_nothing_can_be_called() {
    let host = World::new().plugin(relay(json!([PROBE]))).turns([say("done")]).start().await;
    host.say("go").await;
    assert!(host.executed().is_empty());
    assert_eq!(host.log().lines(Level::INFO, &["before any run: Err(Unavailable("]).len(), 1);
}

#[tokio::test]
async fn a_call_ends_with_the_run_that_it_belongs_to() {
    let world = World::new()
        .plugin(relay(json!(["exec"])))
        .turns([call("relay", json!({ "tool": "exec", "params": { "command": "sleep 600" } })), say("done")]);
    let host = world.start().await;
    let run = host.accept(host.request("go")).await;
    let cancel = run.cancel();
    let journal = host.journal().clone();
    let began = async {
        journal
            .wait_for(|entry| matches!(entry, Entry::Emitted(event) if matches!(&event.data, EventData::Tool(ToolEvent::Start { name, .. }) if name == "exec")))
            .await;
        cancel.cancel(CancelReason::User);
    };
    tokio::join!(run.run(), began);
    host.settle().await;
    let ended = host.journal().entries().iter().any(|entry| {
        matches!(entry, Entry::Emitted(event) if matches!(&event.data, EventData::Tool(ToolEvent::Result { name, is_error: true, .. }) if name == "exec"))
    });
    assert!(ended, "what was begun is told to its end");
}
