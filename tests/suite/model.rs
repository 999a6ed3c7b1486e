//! Which model a run uses, and what the observers of model calls are told (plugin-hooks 4.1, 5.5 to 5.7).

use domain::model::FailureClass;
use hooks::HookId;
use serde_json::json;
use system_tests::{World, call, fail, on, say};

use crate::script;

#[tokio::test]
async fn hooks_004_each_override_is_taken_from_the_first_that_gives_it() {
    let high = on("before_model_resolve").priority(10.0).answers(json!({ "modelOverride": "m1" }));
    let low = on("before_model_resolve").answers(json!({ "modelOverride": "m2", "providerOverride": "p2" }));
    let world = World::new()
        .plugin(script("high").handler(high))
        .plugin(script("low").handler(low))
        .provider("p2")
        .model("m1", [say("done")]);
    let host = world.start().await;
    host.say("hello").await;
    assert_eq!(host.requests()[0].model.to_string(), "p2/m1");
    assert_eq!(host.order(HookId::BeforeModelResolve), ["high", "low"]);
}

#[tokio::test]
async fn a_failing_handler_leaves_the_configured_model() {
    let plugin = script("a").handler(on("before_model_resolve").does(json!({ "error": "no idea" })));
    let host = World::new().plugin(plugin).turns([say("done")]).start().await;
    let outcome = host.say("hello").await;
    assert_eq!(outcome.model.unwrap().to_string(), "offline/script");
    assert_eq!(host.log().warnings(&["plugin=a", "no idea"]).len(), 1);
}

#[tokio::test]
async fn observers_see_each_attempt_and_facts_hold_no_content() {
    const OBSERVERS: [&str; 4] = ["llm_input", "llm_output", "model_call_started", "model_call_ended"];
    let world = World::new().plugin(script("watcher").recording(&OBSERVERS)).turns([
        call("probe", json!({ "says": "found it" })),
        fail(FailureClass::Overloaded, "try later"),
    ]);
    let host = world.start().await;
    host.say("where is it").await;

    let inputs = host.calls("watcher", "llm_input").await;
    assert_eq!(inputs.len(), 2);
    assert_eq!(inputs[0].event["prompt"], "where is it");
    assert_eq!(inputs[0].context["runId"], inputs[1].context["runId"]);
    let history = inputs.iter().map(|input| input.json_list("historyMessages")).max_by_key(Vec::len).unwrap();
    assert!(history.iter().any(|message| message["role"] == "toolResult"), "{history:?}");

    let outputs = host.calls("watcher", "llm_output").await;
    assert_eq!(outputs.len(), 2);

    let started = host.calls("watcher", "model_call_started").await;
    let ended = host.calls("watcher", "model_call_ended").await;
    assert_eq!((started.len(), ended.len()), (2, 2));
    let outcome = |outcome: &str| ended.iter().find(|call| call.event["outcome"] == outcome).unwrap();
    assert!(started.iter().any(|start| start.event["callId"] == outcome("Completed").event["callId"]));
    assert_eq!(outcome("Error").event["errorCategory"], "overloaded");
    for facts in started.iter().chain(&ended) {
        let text = facts.event.to_string();
        assert!(!text.contains("where is it") && !text.contains("found it"), "{text}");
    }
}
