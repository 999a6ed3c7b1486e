//! Which model a run uses, and what the observers of model calls are told (plugin-hooks 4.1, 5.5 to 5.7).

use agent::RunRequest;
use agent::error::RunErrorKind;
use domain::cancel::CancelReason;
use domain::message::{ContentBlock, ImageBlock};
use domain::model::FailureClass;
use hooks::HookId;
use serde_json::{Map, Value, json};
use system_tests::{Entry, World, call, fail, on, say};

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
async fn hooks_057_an_override_counts_for_one_run_and_comes_before_everything() {
    let overrides = on("before_model_resolve")
        .does_in_turn([json!({}), json!({ "answer": { "providerOverride": "p1", "modelOverride": "m1" } })]);
    let world = World::new()
        .plugin(script("router").handler(overrides).recording(&["before_model_resolve"]))
        .provider("p1")
        .model("m1", [say("from m1")])
        .turns([say("from m0"), say("from m0 again")]);
    let host = world.start().await;
    host.say("history").await;

    let image = ImageBlock { data: "iVBORw0KGgo=".to_owned(), mime_type: "image/png".to_owned(), extra: Map::new() };
    host.run(RunRequest { images: vec![image], ..host.request("what is this") }).await;
    let event = host.calls("router", "before_model_resolve").await.remove(1);
    assert_eq!(event.event, json!({ "prompt": "what is this", "attachments": [{ "kind": "Image", "mimeType": "image/png" }] }));
    assert_eq!((&event.context["modelProviderId"], &event.context["modelId"]), (&Value::Null, &Value::Null));
    let request = host.requests().remove(1);
    assert_eq!(request.model.to_string(), "p1/m1");
    assert!(matches!(request.messages.last().unwrap().content(), [ContentBlock::Text(_), ContentBlock::Image(_)]));
    // The handler was asked before the model of its run was looked up.
    let asked = |entry: &Entry| matches!(entry, Entry::Handled(record) if record.hook == HookId::BeforeModelResolve);
    let looked_up = |entry: &Entry| matches!(entry, Entry::Resolved(model) if model.provider == "p1");
    assert!(host.journal().places(asked)[1] < host.journal().places(looked_up)[0]);
    assert_eq!(host.sent(), ["from m0", "from m1"]);
    let entry = host.session().await;
    assert!(!entry.extra.contains_key("modelOverride") && !entry.extra.contains_key("providerOverride"), "{entry:?}");
    host.close().await;

    let host = world.operator("router", json!({ "enabled": false })).start().await;
    host.say("and now").await;
    assert_eq!(host.requests()[0].model.to_string(), "offline/script");
}

/// A turn that a busy session refuses must leave no trace in a plugin that would have chosen its model or answered it.
#[tokio::test]
async fn a_busy_session_asks_no_plugin_about_the_turn() {
    let plugin = script("router").recording(&["before_agent_reply", "before_model_resolve", "before_prompt_build", "agent_end"]);
    let host = World::new().plugin(plugin).turns([say("late").after_ms(60_000), say("never")]).start().await;
    let first = host.accept(host.request("one")).await;
    let cancel = first.cancel();
    let (_, second) = tokio::join!(first.run(), async {
        host.journal().wait_for(|entry| matches!(entry, Entry::Requested(_))).await;
        let second = host.accept(host.request("two")).await.run().await;
        cancel.cancel(CancelReason::User);
        second
    });
    host.settle().await;
    assert_eq!(second.error_kind, Some(RunErrorKind::Busy));
    let runs = async |hook: &str| {
        let calls = host.calls("router", hook).await;
        calls.iter().filter(|call| call.context["runId"] == second.run_id.as_str()).count()
    };
    for hook in ["before_agent_reply", "before_model_resolve", "before_prompt_build"] {
        assert_eq!((runs(hook).await, host.calls("router", hook).await.len()), (0, 1), "{hook}");
    }
    assert_eq!(runs("agent_end").await, 1, "its end is told");
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
    let world = World::new()
        .plugin(script("watcher").recording(&OBSERVERS))
        .turns([call("probe", json!({ "says": "found it" })), fail(FailureClass::Overloaded, "try later")]);
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
