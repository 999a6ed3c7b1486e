//! `before_tool_call` and `after_tool_call` (plugin-hooks 4.8, 4.9), and tools that plugins offer (8).

use domain::cancel::CancelReason;
use domain::event::{EventData, ToolEvent};
use domain::session::RunStatus;
use hooks::HookId;
use hooks::record::HandlerOutcome;
use serde_json::{Value, json};
use system_tests::{Entry, Handler, Host, PROBE, Turn, World, call, on, say, tool};

use crate::script;

/// A handler of `before_tool_call` that answers.
fn decides(priority: f64, answer: Value) -> Handler {
    on("before_tool_call").priority(priority).answers(answer)
}

/// The model calls the probe once and then comes to an end.
fn one_call(params: Value) -> [Turn; 2] {
    [call(PROBE, params), say("done")]
}

fn is_blocked(host: &Host) -> bool {
    host.executed().is_empty()
}

#[tokio::test]
async fn hooks_017_a_block_is_terminal_and_its_reason_is_the_result() {
    let host = World::new()
        .plugin(script("guard").handler(decides(10.0, json!({ "block": true, "blockReason": "no" }))))
        .plugin(script("spy").handler(on("before_tool_call")).recording(&["before_tool_call"]))
        .turns(one_call(json!({ "a": 1 })))
        .start()
        .await;
    host.say("go").await;
    assert!(is_blocked(&host));
    assert!(host.calls("spy", "before_tool_call").await.is_empty());
    assert_eq!(host.order(HookId::BeforeToolCall), ["guard"]);

    let results = host.tool_results().await;
    let [result] = &results[..] else { panic!("one result: {results:?}") };
    assert!(result.is_error);
    assert_eq!(domain::message::text_of(&result.content), "no");
    let details = result.details.as_ref().unwrap();
    assert_eq!(details["status"], "blocked");
    assert_eq!(details["deniedReason"], "plugin-before-tool-call");
    assert_eq!(details["reason"], "no");
    assert!(host.requests()[1].messages.iter().any(|message| message.text() == "no"));
}

#[tokio::test]
async fn hooks_018_a_lower_false_lifts_no_block() {
    let host = World::new()
        .plugin(script("guard").handler(decides(10.0, json!({ "block": true }))))
        .plugin(script("soft").handler(decides(0.0, json!({ "block": false }))))
        .turns(one_call(json!({})))
        .start()
        .await;
    host.say("go").await;
    assert!(is_blocked(&host));
}

#[tokio::test]
async fn hooks_019_false_and_nothing_are_no_decision() {
    let host = World::new()
        .plugin(script("soft").handler(decides(10.0, json!({ "block": false }))))
        .plugin(script("silent").handler(on("before_tool_call")))
        .turns(one_call(json!({ "a": 1, "b": "two" })))
        .start()
        .await;
    host.say("go").await;
    assert_eq!(host.executed(), [json!({ "a": 1, "b": "two" }).as_object().unwrap().clone()]);
    assert_eq!(host.order(HookId::BeforeToolCall), ["soft", "silent"]);
}

#[tokio::test]
async fn hooks_020_the_last_rewrite_is_laid_over_the_original_parameters() {
    let host = World::new()
        .plugin(script("high").handler(decides(10.0, json!({ "params": { "a": 9 } }))))
        .plugin(script("low").handler(decides(0.0, json!({ "params": { "b": 7 } }))).recording(&["before_tool_call"]))
        .turns(one_call(json!({ "a": 1, "b": 2 })))
        .start()
        .await;
    host.say("go").await;
    assert_eq!(host.calls("low", "before_tool_call").await[0].json("params"), json!({ "a": 1, "b": 2 }));
    assert_eq!(host.executed(), [json!({ "a": 1, "b": 7 }).as_object().unwrap().clone()]);
}

#[tokio::test]
async fn hooks_027_a_trap_blocks_the_call_and_the_session_goes_on() {
    let host = World::new()
        .plugin(script("broken").handler(on("before_tool_call").priority(10.0).traps()))
        .plugin(script("below").handler(on("before_tool_call")))
        .turns([call(PROBE, json!({})), say("done"), say("still here")])
        .start()
        .await;
    host.say("go").await;
    assert!(is_blocked(&host));
    assert_eq!(host.order(HookId::BeforeToolCall), ["broken"]);
    let details = host.tool_results().await[0].details.clone().unwrap();
    assert_eq!(details["deniedReason"], "plugin-before-tool-call");
    let outcome = host.say("are you there").await;
    assert_eq!(outcome.status, RunStatus::Done);
    assert_eq!(host.sent(), ["done", "still here"]);
}

#[tokio::test]
async fn hooks_028_a_matcher_limits_a_handler_to_its_tools() {
    let world = World::new()
        .plugin(
            script("exec-only").handler(on("before_tool_call").with("matcher", json!(["exec"]))).recording(&["before_tool_call"]),
        )
        .plugin(script("nothing").handler(on("before_tool_call").with("matcher", json!([]))))
        .turns([call("read", json!({ "path": "notes.txt" })), call("exec", json!({ "command": "true" })), say("done")]);
    let host = world.start().await;
    std::fs::write(world.workspace().join("notes.txt"), "text").unwrap();
    host.say("go").await;
    let calls = host.calls("exec-only", "before_tool_call").await;
    let tools: Vec<&serde_json::Value> = calls.iter().map(|call| &call.event["toolName"]).collect();
    assert_eq!(tools, [&json!("exec")]);
    let refused: Vec<String> = host.diagnostics().into_iter().filter(|text| text.contains("matcher is empty")).collect();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].contains("`nothing`") && refused[0].contains("before_tool_call"), "{refused:?}");
}

#[tokio::test]
async fn hooks_029_observers_start_together_and_a_trap_changes_nothing() {
    let slow = script("slow").handler(on("after_tool_call").priority(10.0).does(json!({ "sleepMs": 300 })));
    let quick = || script("quick").recording(&["after_tool_call"]);
    let host = World::new().plugin(slow).plugin(quick()).turns(one_call(json!({}))).start().await;
    host.say("go").await;
    // The second one was over while the first one still slept.
    assert_eq!(host.order(HookId::AfterToolCall), ["quick", "slow"]);

    let broken = script("broken").handler(on("after_tool_call").priority(10.0).traps());
    let with_trap = World::new().plugin(broken).plugin(quick()).turns(one_call(json!({}))).start().await;
    with_trap.say("go").await;
    assert_eq!(with_trap.calls("quick", "after_tool_call").await.len(), 1);
    assert_eq!(with_trap.sent(), host.sent());
    assert_eq!(with_trap.tool_results().await[0].content, host.tool_results().await[0].content);
}

#[tokio::test]
async fn hooks_062_after_a_call_observers_see_what_was_used_and_how_it_ended() {
    let rewrites = on("before_tool_call").does_in_turn([
        json!({ "answer": { "params": { "a": 9 } } }),
        json!({ "answer": { "params": { "a": 9 } } }),
        json!({ "answer": { "block": true, "blockReason": "not today" } }),
    ]);
    let host = World::new()
        .plugin(script("guard").handler(rewrites))
        .plugin(script("watcher").recording(&["after_tool_call"]))
        .turns([
            call(PROBE, json!({ "a": 1 })),
            call(PROBE, json!({ "a": 1, "fails": "broken" })),
            call(PROBE, json!({ "a": 1 })),
            say("done"),
        ])
        .start()
        .await;
    host.say("go").await;

    assert_eq!(host.executed().len(), 2, "the blocked call did not run");
    let calls = host.calls("watcher", "after_tool_call").await;
    let outcomes: Vec<&Value> = calls.iter().map(|call| &call.event["outcome"]).collect();
    assert_eq!(outcomes, ["Ok", "Failed", "Blocked"]);
    assert!(calls.iter().all(|call| call.event["toolName"] == PROBE));
    let asked: Vec<String> = host.tool_results().await.iter().map(|result| result.tool_call_id.to_string()).collect();
    let told: Vec<&str> = calls.iter().map(|call| call.event["toolCallId"].as_str().unwrap()).collect();
    assert_eq!(told, asked);
    let [ok, failed, blocked] = &calls[..] else { panic!("three calls: {calls:?}") };

    assert_eq!(ok.json("params"), json!({ "a": 9 }));
    assert_eq!(ok.json("result")["content"], json!([{ "type": "text", "text": "probed" }]));
    assert!(ok.event["durationMs"].is_u64() && ok.event["error"].is_null(), "{ok:?}");

    assert_eq!(failed.json("params"), json!({ "a": 9, "fails": "broken" }));
    assert_eq!(failed.event["error"], "broken");
    assert_eq!(failed.json("result")["content"], json!([{ "type": "text", "text": "broken" }]));
    assert!(failed.event["durationMs"].is_u64(), "{failed:?}");

    // It has no duration, because it never ran, and the parameters that the model gave.
    assert_eq!(blocked.json("params"), json!({ "a": 1 }));
    assert_eq!(blocked.event["error"], "not today");
    assert_eq!(blocked.json("result")["content"], json!([{ "type": "text", "text": "not today" }]));
    let details = &blocked.json("result")["details"];
    assert_eq!((&details["status"], &details["deniedReason"]), (&json!("blocked"), &json!("plugin-before-tool-call")));
    assert!(blocked.event["durationMs"].is_null(), "{blocked:?}");
}

#[tokio::test]
async fn edits_of_one_file_in_one_answer_are_made_in_the_order_of_the_model() {
    let world = World::new().turns([
        call("write", json!({ "path": "notes.txt", "content": "one\n" }))
            .and_call("edit", json!({ "path": "notes.txt", "oldText": "one", "newText": "two" }))
            .and_call("exec", json!({ "command": "cat notes.txt" }))
            .and_call("edit", json!({ "path": "notes.txt", "oldText": "two", "newText": "three" })),
        say("done"),
    ]);
    let host = world.start().await;
    host.say("go").await;
    let results = host.tool_results().await;
    assert!(results.iter().all(|result| !result.is_error), "{results:?}");
    assert_eq!(domain::message::text_of(&results[2].content), "two\n");
    assert_eq!(std::fs::read_to_string(world.workspace().join("notes.txt")).unwrap(), "three\n");
}

/// It has longer than what else a stop cuts short, and what it printed is kept.
#[tokio::test]
async fn a_stopped_command_may_clean_up_and_its_output_is_its_result() {
    let command = "trap 'sleep 0.8; echo cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done";
    let host = World::new().turns([call("exec", json!({ "command": command }))]).start().await;
    let accepted = host.accept(host.request("go")).await;
    let cancel = accepted.cancel();
    let is_ready =
        |entry: &Entry| matches!(entry, Entry::Emitted(event) if matches!(event.data, EventData::Tool(ToolEvent::Update { .. })));
    let (outcome, ()) = tokio::join!(accepted.run(), async {
        host.journal().wait_for(is_ready).await;
        cancel.cancel(CancelReason::User);
    });
    assert_eq!(outcome.status, RunStatus::Killed);
    let results = host.tool_results().await;
    let text = domain::message::text_of(&results[0].content);
    // Some shells say in between that their own child was stopped.
    assert!(text.starts_with("the operation was aborted. Output until then:\nready\n") && text.ends_with("cleaned\n"), "{text}");
    assert!(results[0].is_error);
}

#[tokio::test]
async fn a_plugin_tool_goes_through_the_same_hooks_as_a_built_in_one() {
    let host = World::new()
        .plugin(script("dice").tool(tool("roll", "four")))
        .plugin(script("watcher").handler(on("before_tool_call")).handler(on("tool_result_persist")))
        .turns([call("roll", json!({})), say("a four")])
        .start()
        .await;
    host.say("roll").await;
    assert_eq!(host.tool_results().await[0].tool_name, "roll");
    assert_eq!(host.transcript().await[2], "toolResult: four");
    for hook in [HookId::BeforeToolCall, HookId::AfterToolCall, HookId::ToolResultPersist, HookId::BeforeMessageWrite] {
        assert!(host.order(hook).contains(&"watcher".to_owned()), "{hook}");
    }
}

#[tokio::test]
async fn a_tool_that_traps_is_an_error_result_for_the_model() {
    let broken = json!({ "name": "broken", "does": { "trap": true } });
    let host = World::new()
        .plugin(script("dice").tool(broken).tool(tool("roll", "four")))
        .turns([call("broken", json!({})), call("roll", json!({})), say("done")])
        .start()
        .await;
    let outcome = host.say("roll").await;
    assert_eq!(outcome.status, RunStatus::Done);
    let results = host.tool_results().await;
    assert_eq!(results.iter().map(|result| result.is_error).collect::<Vec<_>>(), [true, false]);
    assert!(domain::message::text_of(&results[0].content).contains("dice"), "{results:?}");
}

#[tokio::test]
async fn tools_that_were_not_declared_or_clash_are_left_out() {
    let plugin = script("dice")
        .tool(tool("roll", "four"))
        .tool(tool("exec", "mine now"))
        .tool(tool("secret", "never"))
        .manifest(json!({ "contracts": { "tools": ["roll", "exec"] } }));
    let host = World::new().plugin(plugin).start().await;
    host.say("hello").await;
    let requests = host.requests();
    let names: Vec<&str> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert!(names.contains(&"roll") && !names.contains(&"secret"), "{names:?}");
    assert_eq!(names.iter().filter(|name| **name == "exec").count(), 1);
    let host_exec = requests[0].tools.iter().find(|tool| tool.name == "exec").unwrap();
    assert!(!host_exec.description.contains("of a test"), "{host_exec:?}");
}

#[tokio::test]
async fn an_optional_tool_is_hidden_until_the_operator_allows_it() {
    let plugin = || script("dice").tool(json!({ "name": "roll", "optional": true, "does": { "answer": { "text": "four" } } }));
    let offered = |host: &Host| host.requests()[0].tools.iter().any(|tool| tool.name == "roll");
    let host = World::new().plugin(plugin()).start().await;
    host.say("hello").await;
    assert!(!offered(&host));
    for allowed in ["roll", "dice", "group:plugins"] {
        let world = World::new().plugin(plugin()).config(json!({ "tools": { "allow": [allowed] } }));
        let host = world.start().await;
        host.say("hello").await;
        assert!(offered(&host), "{allowed}");
        assert!(host.requests()[0].tools.iter().any(|tool| tool.name == "exec"), "{allowed} adds and does not replace");
    }
}

#[tokio::test]
async fn schemas_of_a_plugin_tool_are_checked_before_and_after_a_call() {
    let parameters = json!({ "type": "object", "properties": { "sides": { "type": "integer" } }, "required": ["sides"] });
    let plan = |name: &str, details: Value, schema: Value| {
        let does = json!({ "answer": { "text": "four", "details": details } });
        json!({ "name": name, "parameters": parameters, "outputSchema": schema, "does": does })
    };
    let dice = json!({ "type": "object", "required": ["dice"] });
    let host = World::new()
        .plugin(
            script("dice")
                .tool(plan("roll", json!({ "dice": [4] }), dice.clone()))
                .tool(plan("lie", json!({ "cards": 1 }), dice))
                .tool(plan("odd", json!({}), json!({ "type": "no such type" }))),
        )
        .turns([
            call("roll", json!({ "sides": "many" }))
                .and_call("roll", json!({ "sides": 6 }))
                .and_call("lie", json!({ "sides": 6 }))
                .and_call("odd", json!({ "sides": 6 })),
            say("done"),
        ])
        .start()
        .await;
    host.say("roll").await;
    let results = host.tool_results().await;
    assert_eq!(results.iter().map(|result| result.is_error).collect::<Vec<_>>(), [true, false, true, true], "{results:?}");
    assert_eq!(results[1].details, Some(json!({ "dice": [4] })));
    for (place, hint) in [(0, "sides"), (2, "dice"), (3, "schema")] {
        let text = domain::message::text_of(&results[place].content);
        assert!(text.contains(hint), "{text}");
    }
}

#[tokio::test]
async fn a_tool_may_end_the_turn_after_its_batch() {
    let ends = json!({ "name": "finish", "does": { "answer": { "text": "over", "terminate": true } } });
    let host = World::new().plugin(script("a").tool(ends)).turns([call("finish", json!({}))]).start().await;
    let outcome = host.say("go").await;
    assert_eq!((outcome.status, host.requests().len()), (RunStatus::Done, 1));
}

#[tokio::test]
async fn each_handler_call_is_recorded_with_its_decision() {
    let host = World::new()
        .plugin(script("guard").handler(decides(0.0, json!({ "block": true, "blockReason": "no" }))))
        .turns(one_call(json!({})))
        .start()
        .await;
    host.say("go").await;
    let records = host.handled(HookId::BeforeToolCall);
    assert!(matches!(&records[0].outcome, HandlerOutcome::Decided(text) if text.contains("no")), "{records:?}");
    assert_eq!(records[0].run_id, host.handled(HookId::AgentEnd)[0].run_id);
}
