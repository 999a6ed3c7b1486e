//! A plugin that fails again and again is not called for a while: left out where its failure is skipped, blocking where it blocks
//! (plugin-hooks 1.8).

use domain::PluginId;
use domain::circuit::CircuitStore as _;
use domain::message::text_of;
use hooks::record::HandlerOutcome;
use hooks::{FaultKind, HookId};
use serde_json::{Value, json};
use system_tests::{Host, PROBE, Plugin, Turn, World, call, on, say};

use crate::script;

/// Opens after two faults, for ten minutes.
fn strict() -> Value {
    json!({ "plugins": { "circuit": { "failures": 2, "cooldownMs": "10m" } } })
}

/// Turns of a model that calls the probe once in each.
fn tool_turns<const N: usize>() -> [Turn; N] {
    std::array::from_fn(|place| if place % 2 == 0 { call(PROBE, json!({})) } else { say("done") })
}

fn trapping(hook: &str) -> Plugin {
    script("broken").handler(on(hook).priority(10.0).traps())
}

fn outcomes(host: &Host, hook: HookId) -> Vec<String> {
    let word = |outcome| match outcome {
        HandlerOutcome::Faulted(kind, _) => kind.as_str().to_owned(),
        other => other.to_string(),
    };
    host.handled(hook).into_iter().map(|record| word(record.outcome)).collect()
}

async fn last_result(host: &Host) -> String {
    text_of(&host.tool_results().await.last().unwrap().content)
}

#[tokio::test]
async fn an_open_circuit_of_a_guard_opens_no_hole_also_in_the_next_process() {
    let world = World::new().plugin(trapping("before_tool_call")).config(strict()).turns(tool_turns::<8>());
    let host = world.start().await;
    for _ in 0..3 {
        host.say("go").await;
    }
    assert!(host.executed().is_empty());
    assert_eq!(outcomes(&host, HookId::BeforeToolCall), ["trap", "trap", "circuit open"]);
    let reason = last_result(&host).await;
    for part in ["circuit open: after 2 faults in a row", "trap: ", "it is tried again in", "creel plugins reset broken --hook"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    assert_eq!(host.log().warnings(&["circuit opened", "plugin=broken", "what it guards is blocked"]).len(), 1);
    host.close().await;

    let next = world.start().await;
    next.say("go").await;
    assert!(next.executed().is_empty());
    assert_eq!(outcomes(&next, HookId::BeforeToolCall), ["circuit open"], "the guest is not called");
    assert_eq!(next.running().kv.forget(&PluginId::new("broken"), None).await.unwrap(), 1);
    next.close().await;

    let reset = world.start().await;
    reset.say("go").await;
    assert_eq!(outcomes(&reset, HookId::BeforeToolCall), ["trap"]);
}

#[tokio::test]
async fn one_fault_in_each_process_opens_it_too() {
    let world = World::new().plugin(trapping("before_tool_call")).config(strict()).turns(tool_turns::<2>());
    let mut found = Vec::new();
    for _ in 0..3 {
        let host = world.start().await;
        host.say("go").await;
        found.extend(outcomes(&host, HookId::BeforeToolCall));
        host.close().await;
    }
    assert_eq!(found, ["trap", "trap", "circuit open"]);
}

#[tokio::test]
async fn another_component_of_the_same_id_is_called_again() {
    let world = World::new().plugin(trapping("before_tool_call")).config(strict()).turns(tool_turns::<4>());
    let host = world.start().await;
    host.say("go").await;
    host.say("go").await;
    host.close().await;
    // A custom section more: the same behaviour, another digest.
    let other = world
        .start_after(|world| {
            let file = world.plugin_folder("broken").join("broken.wasm");
            let mut bytes = std::fs::read(&file).unwrap();
            bytes.extend([0, 5, 4, b'n', b'o', b't', b'e']);
            std::fs::write(&file, bytes).unwrap();
        })
        .await
        .unwrap_or_else(|failure| panic!("{}", failure.message));
    other.say("go").await;
    assert_eq!(outcomes(&other, HookId::BeforeToolCall), ["trap"]);
}

#[tokio::test]
async fn where_a_failure_is_skipped_the_handler_is_left_out_with_one_line() {
    let host = World::new()
        .plugin(trapping("message_sending"))
        .plugin(script("other").handler(on("message_sending").does(json!({ "append": " (checked)" }))))
        .config(strict())
        .turns([say("a"), say("b"), say("c"), say("d")])
        .start()
        .await;
    for _ in 0..4 {
        host.say("go").await;
    }
    assert_eq!(host.sent(), ["a (checked)", "b (checked)", "c (checked)", "d (checked)"]);
    let of_broken = host.handled(HookId::MessageSending).into_iter().filter(|record| record.plugin.as_str() == "broken");
    let left_out = of_broken.filter(|record| record.outcome == HandlerOutcome::SkippedCircuit).count();
    assert_eq!(left_out, 2);
    assert_eq!(host.log().warnings(&["plugin handler failed", "plugin=broken"]).len(), 2);
    let lines = host.log().warnings(&["circuit opened", "plugin=broken", "hook=message_sending", "it is left out"]);
    assert_eq!(lines.len(), 1, "{lines:?}");
}

#[tokio::test]
async fn observers_have_circuits_too_and_each_hook_its_own() {
    let plugin = script("broken").handler(on("agent_end").traps()).handler(on("message_sending").does(json!({ "append": "!" })));
    let host = World::new().plugin(plugin).config(strict()).turns([say("a"), say("b"), say("c")]).start().await;
    for _ in 0..3 {
        host.say("go").await;
    }
    assert_eq!(outcomes(&host, HookId::AgentEnd), ["trap", "trap", "left out: its circuit is open"]);
    assert_eq!(host.sent(), ["a!", "b!", "c!"]);
}

#[tokio::test]
async fn what_a_required_redactor_cannot_check_is_withheld_while_its_circuit_is_open() {
    let redactor = trapping("tool_result_persist").operator(json!({ "required": true }));
    let turns: [Turn; 6] =
        std::array::from_fn(|place| if place % 2 == 0 { call(PROBE, json!({ "says": "secret" })) } else { say("done") });
    let host = World::new().plugin(redactor).config(strict()).turns(turns).start().await;
    for _ in 0..3 {
        host.say("go").await;
    }
    assert_eq!(outcomes(&host, HookId::ToolResultPersist)[2], "left out: its circuit is open");
    for result in host.tool_results().await {
        let text = text_of(&result.content);
        assert!(text.contains("withheld") && !text.contains("secret"), "{text}");
    }
}

#[tokio::test]
async fn a_plugin_that_works_again_is_used_again() {
    let trap = || json!({ "trap": true });
    let guard = script("fickle")
        .handler(on("before_tool_call").does_in_turn([trap(), trap(), trap(), json!({})]))
        .operator(json!({ "circuit": { "failures": 2, "cooldownMs": 1 } }));
    // Its own entry counts, and what is said for all others does not.
    let host = World::new().plugin(guard).config(strict()).turns(tool_turns::<10>()).start().await;
    let mut tries = 0;
    while host.executed().len() < 2 && tries < 5 {
        host.say("go").await;
        tries += 1;
    }
    assert_eq!(outcomes(&host, HookId::BeforeToolCall), ["trap", "trap", "trap", "no opinion", "no opinion"]);
    assert_eq!(host.log().warnings(&["circuit opened", "plugin=fickle"]).len(), 2);
    assert!(host.running().kv.load().await.unwrap().is_empty(), "nothing is kept of a healthy plugin");
}

#[tokio::test]
async fn one_budget_for_a_dispatch_blocks_and_names_the_one_that_used_it_up() {
    let sleeps = |id: &str, priority: f64, ms: u64| {
        script(id).handler(on("before_tool_call").priority(priority).does(json!({ "sleepMs": ms })))
    };
    let host = World::new()
        .plugin(sleeps("hog", 10.0, 1000))
        .plugin(sleeps("last", 0.0, 1000))
        .config(json!({ "plugins": { "hooks": { "dispatchBudgets": { "before_tool_call": 1600 } } } }))
        .turns([call(PROBE, json!({})), say("done")])
        .start()
        .await;
    host.say("go").await;
    assert!(host.executed().is_empty());
    let reason = last_result(&host).await;
    assert!(reason.contains("plugin `last` failed"), "{reason}");
    assert!(reason.contains("the 1600 ms of the whole dispatch are used up; plugin `hog` took most of it, 1"), "{reason}");
    let records = host.handled(HookId::BeforeToolCall);
    let HandlerOutcome::Faulted(FaultKind::Timeout, text) = &records[1].outcome else { panic!("{records:?}") };
    assert!(text.contains("plugin `hog` took most of it"), "{text}");
    assert_eq!(host.log().warnings(&["plugin handler failed", "plugin=last", "plugin `hog` took most of it"]).len(), 1);
}

#[tokio::test]
async fn where_a_failure_is_skipped_the_rest_of_a_dispatch_that_is_used_up_is_skipped() {
    let sends =
        |id: &str, priority: f64| script(id).handler(on("message_sending").priority(priority).does(json!({ "append": "!" })));
    let hog = script("hog").handler(on("message_sending").priority(10.0).does(json!({ "sleepMs": 10_000 })));
    let world = World::new().plugin(hog).plugin(sends("last", 0.0)).turns([say("answer")]);
    let host = world.config(json!({ "plugins": { "hooks": { "dispatchBudgets": { "message_sending": 150 } } } })).start().await;
    host.say("go").await;
    assert_eq!(host.sent(), ["answer"]);
    for plugin in ["plugin=hog", "plugin=last"] {
        assert_eq!(host.log().warnings(&["plugin handler failed", plugin, "plugin `hog` took most of it"]).len(), 1, "{plugin}");
    }
}
