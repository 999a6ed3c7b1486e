//! A handler gets the fields that its manifest names and its operator allows; the others are empty.

use serde_json::{Value, json};
use system_tests::{Call, Handler, PROBE, Plugin, World, call, on, say};

use crate::script;

/// Records what it is told of a tool call.
fn recorder(handler: Handler) -> Plugin {
    script("recorder").handler(handler).recording(&["before_tool_call"])
}

/// What the recorder saw of one call of the probe.
async fn seen(plugin: Plugin) -> Call {
    let host = World::new().plugin(plugin).turns([call(PROBE, json!({ "says": "a secret" })), say("done")]).start().await;
    host.say("go").await;
    assert_eq!(host.executed().len(), 1);
    host.calls("recorder", "before_tool_call").await.remove(0)
}

/// The ids of a call, which always stay.
fn assert_ids(call: &Call) {
    assert_eq!(call.event["toolCallId"], "script-1-1");
    for id in ["agentId", "sessionKey", "sessionId", "runId"] {
        assert!(call.context[id].as_str().is_some_and(|text| !text.is_empty()), "{id}: {call:?}");
    }
}

#[tokio::test]
async fn without_a_list_a_handler_gets_everything() {
    let call = seen(recorder(on("before_tool_call"))).await;
    assert_eq!((&call.event["toolName"], call.json("params")["says"].as_str()), (&json!(PROBE), Some("a secret")));
    assert_ids(&call);
}

#[tokio::test]
async fn what_a_manifest_does_not_name_is_empty() {
    let call = seen(recorder(on("before_tool_call").with("fields", json!(["toolName"])))).await;
    assert_eq!((&call.event["toolName"], call.json("params")), (&json!(PROBE), json!({})));
    assert_ids(&call);
    let call = seen(recorder(on("before_tool_call").with("fields", json!(["params"])))).await;
    assert_eq!((&call.event["toolName"], call.json("params")["says"].as_str()), (&json!(""), Some("a secret")));
    let call = seen(recorder(on("before_tool_call").with("fields", json!([])))).await;
    assert_eq!((&call.event["toolName"], call.json("params")), (&json!(""), json!({})));
    assert_ids(&call);
}

#[tokio::test]
async fn an_operator_narrows_what_a_manifest_asks_for() {
    let allow = |list: Value| json!({ "hooks": { "fields": { "before_tool_call": list } } });
    let asked = || recorder(on("before_tool_call").with("fields", json!(["toolName", "params"])));
    let call = seen(asked().operator(allow(json!(["toolName", "requester"])))).await;
    assert_eq!((&call.event["toolName"], call.json("params")), (&json!(PROBE), json!({})));
    assert_eq!(call.context["requester"], Value::Null, "an operator adds nothing that the manifest does not ask for");
    let call = seen(recorder(on("before_tool_call")).operator(allow(json!(["toolName"])))).await;
    assert_eq!((&call.event["toolName"], call.json("params")), (&json!(PROBE), json!({})));
    assert_ids(&call);
}

#[tokio::test]
async fn matchers_and_other_handlers_see_the_whole_event() {
    let blind = recorder(on("before_tool_call").priority(10.0).with("fields", json!([])).with("matcher", json!([PROBE])));
    let other = script("other").handler(on("before_tool_call")).recording(&["before_tool_call"]);
    let turns = [call(PROBE, json!({ "says": "a secret" })), say("done")];
    let host = World::new().plugin(blind).plugin(other).turns(turns).start().await;
    host.say("go").await;
    assert_eq!(host.calls("recorder", "before_tool_call").await.len(), 1, "the matcher selects by the real name");
    let call = host.calls("other", "before_tool_call").await.remove(0);
    assert_eq!(call.json("params")["says"], "a secret");
}

#[tokio::test]
async fn a_name_that_is_no_field_is_refused_with_the_nearest() {
    let misspelt = recorder(on("before_tool_call").with("fields", json!(["toolname"])));
    let host = World::new().plugin(misspelt).turns([say("done")]).start().await;
    let told = host.log().warnings(&["`hooks[0].fields`: before_tool_call has no field", "the nearest is `toolName`"]);
    assert_eq!(told.len(), 1, "{:?}", host.log());

    let narrowed = recorder(on("before_tool_call")).operator(json!({ "hooks": { "fields": { "before_tool_call": ["param"] } } }));
    let failure = World::new().plugin(narrowed).turns([say("done")]).try_start().await.err().unwrap();
    assert!(failure.message.contains("did you mean `params`?"), "{}", failure.message);
}
