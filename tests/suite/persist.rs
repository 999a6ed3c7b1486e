//! The two hooks in front of a transcript: `tool_result_persist` and `before_message_write` (plugin-hooks 4.11, 5.9, 1.8).

use domain::event::{EventData, ToolEvent};
use domain::message::{AgentMessage, text_of};
use domain::session::RunStatus;
use hooks::HookId;
use serde_json::{Value, json};
use system_tests::{Entry, Handler, Host, PROBE, Plugin, Turn, World, call, on, say};

use crate::script;

/// A handler that adds to the text of a stored result.
fn appends(priority: f64, text: &str) -> Handler {
    on("tool_result_persist").priority(priority).does(json!({ "append": text }))
}

/// The model calls the probe, which says a text, and then comes to an end.
fn probe_says(text: &str) -> [Turn; 2] {
    [call(PROBE, json!({ "says": text })), say("done")]
}

/// Results as run events tell them.
fn emitted_results(host: &Host) -> Vec<Value> {
    host.journal().find(|entry| match entry {
        Entry::Emitted(event) => match &event.data {
            EventData::Tool(ToolEvent::Result { result, .. }) => Some(result.clone()),
            _ => None,
        },
        _ => None,
    })
}

/// Text of the tool results in a request.
fn results_in_request(host: &Host, request: usize) -> Vec<String> {
    let messages = &host.requests()[request].messages;
    messages.iter().filter(|message| message.role() == "toolResult").map(AgentMessage::text).collect()
}

#[tokio::test]
async fn hooks_030_each_handler_gets_what_the_one_before_returned() {
    let host = World::new()
        .plugin(script("first").handler(appends(10.0, "1")))
        .plugin(script("second").handler(appends(0.0, "2")))
        .turns(probe_says("text "))
        .start()
        .await;
    host.say("go").await;
    assert_eq!(text_of(&host.tool_results().await[0].content), "text 12");
    assert_eq!(emitted_results(&host)[0]["content"][0]["text"], "text ");
}

#[tokio::test]
async fn hooks_031_a_failed_or_late_answer_is_ignored_and_the_others_count() {
    // A guest cannot answer with a promise; what comes after the short budget is the answer that is not there in time.
    for conduct in [json!({ "trap": true }), json!({ "sleepMs": 400, "append": "late" })] {
        let broken = script("broken")
            .handler(on("tool_result_persist").priority(5.0).does(conduct.clone()))
            .operator(json!({ "hooks": { "timeouts": { "tool_result_persist": 100 } } }));
        let host = World::new()
            .plugin(script("first").handler(appends(10.0, "1")))
            .plugin(broken)
            .plugin(script("second").handler(appends(0.0, "2")))
            .turns(probe_says("text "))
            .start()
            .await;
        host.say("go").await;
        assert_eq!(text_of(&host.tool_results().await[0].content), "text 12", "{conduct}");
        assert_eq!(host.log().warnings(&["plugin=broken", "hook=tool_result_persist"]).len(), 1, "{conduct}");
    }
}

#[tokio::test]
async fn hooks_032_a_blocked_row_is_not_stored_and_the_tool_stays_done() {
    let blocks = on("before_message_write").priority(10.0).does_in_turn([
        json!({}),
        json!({}),
        json!({ "answer": { "block": true } }),
        json!({}),
    ]);
    let host = World::new()
        .plugin(script("blocks").handler(blocks))
        .plugin(script("spy").recording(&["before_message_write"]))
        .turns(probe_says("text"))
        .start()
        .await;
    host.say("go").await;
    assert_eq!(host.executed().len(), 1);
    let roles: Vec<String> = host.messages().await.iter().map(|message| message.role().to_owned()).collect();
    assert_eq!(roles, ["user", "assistant", "assistant"]);
    let seen = host.calls("spy", "before_message_write").await;
    let seen: Vec<Value> = seen.iter().map(|call| call.json("message")["role"].clone()).collect();
    assert_eq!(seen, ["user", "assistant", "assistant"]);
}

#[tokio::test]
async fn hooks_065_what_is_stored_is_what_the_model_gets() {
    let masks = on("tool_result_persist").does(json!({ "replace": ["token=abc", "***"] }));
    let host = World::new().plugin(script("masks").handler(masks)).turns(probe_says("the token=abc is here")).start().await;
    host.say("go").await;

    let stored = host.tool_results().await.remove(0);
    assert_eq!(text_of(&stored.content), "the *** is here");
    assert_eq!(results_in_request(&host, 1), ["the *** is here"]);
    // The call's own arguments hold the text because the test's model wrote it; the result is what must not.
    let results = host.rows().await.into_iter().map(|row| serde_json::to_string(&row).unwrap());
    assert!(results.filter(|row| row.contains("toolResult")).all(|row| !row.contains("token=abc")));
    assert_eq!(emitted_results(&host)[0]["content"][0]["text"], "the token=abc is here");
    for request in host.requests() {
        for message in &request.messages {
            let text = message.to_json();
            assert!(!text.as_str().contains("details of the probe") && !text.as_str().contains("\"details\""), "{text:?}");
        }
    }
}

#[tokio::test]
async fn hooks_066_a_failing_redactor_is_left_out_unless_it_is_required() {
    let traps = || script("redactor").handler(on("tool_result_persist").traps());
    let ordinary = World::new().plugin(traps()).turns(probe_says("text")).start().await;
    ordinary.say("go").await;
    assert_eq!(text_of(&ordinary.tool_results().await[0].content), "text");
    assert_eq!(ordinary.log().warnings(&["plugin=redactor", "hook=tool_result_persist"]).len(), 1);

    let required = traps().operator(json!({ "required": true }));
    let host = World::new().plugin(required).turns(probe_says("text")).start().await;
    host.say("go").await;
    let stored = host.tool_results().await.remove(0);
    let placeholder = text_of(&stored.content);
    assert!(placeholder.contains("withheld") && placeholder.contains("redactor"), "{placeholder}");
    assert_eq!((stored.tool_name.as_str(), stored.tool_call_id.as_str()), (PROBE, "script-1-1"));
    assert_eq!(stored.details, None);
    assert_eq!(results_in_request(&host, 1), [placeholder]);
}

#[tokio::test]
async fn hooks_067_a_refused_result_is_made_up_for_the_model() {
    let refuses =
        on("before_message_write").does_in_turn([json!({}), json!({}), json!({ "answer": { "block": true } }), json!({})]);
    let host = World::new().plugin(script("refuses").handler(refuses)).turns(probe_says("text")).start().await;
    host.say("go").await;
    assert!(host.tool_results().await.is_empty());
    let messages = host.requests().remove(1).messages;
    let roles: Vec<&str> = messages.iter().map(AgentMessage::role).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult"]);
    let AgentMessage::ToolResult(result) = &messages[2] else { panic!("a result: {messages:?}") };
    let AgentMessage::Assistant(assistant) = &messages[1] else { panic!("an answer: {messages:?}") };
    assert!(result.is_error);
    assert_eq!(result.tool_call_id, assistant.tool_calls().next().unwrap().id);
    assert!(!messages[2].text().contains("text"));
}

#[tokio::test]
async fn an_answer_that_changes_role_or_call_is_refused() {
    let message = |change: Value| {
        let mut message = json!({ "role": "toolResult", "toolCallId": "script-1-1", "toolName": PROBE, "content": "mine" });
        message.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!({ "message": message })
    };
    for (answer, hint) in [
        (message(json!({ "toolCallId": "another" })), "toolCallId"),
        (message(json!({ "role": "user" })), "role"),
        (json!({ "message": "{ not json" }), "JSON"),
        (json!({ "message": [1] }), "object"),
    ] {
        let plugin = script("odd").handler(on("tool_result_persist").answers(answer.clone()));
        let host = World::new().plugin(plugin).turns(probe_says("text")).start().await;
        host.say("go").await;
        assert_eq!(text_of(&host.tool_results().await[0].content), "text", "{answer}");
        let lines = host.log().warnings(&["plugin=odd", "malformed"]);
        assert_eq!(lines.len(), 1, "{answer}: {lines:?}");
        assert!(lines[0].contains(hint), "{answer}: {lines:?}");
    }
}

#[tokio::test]
async fn a_required_plugin_that_cannot_check_a_prompt_withholds_it() {
    let plugin: Plugin = script("checker").handler(on("before_message_write").does_in_turn([json!({ "trap": true }), json!({})]));
    let host = World::new().plugin(plugin.operator(json!({ "required": true }))).turns([say("done")]).start().await;
    let outcome = host.say("my secret").await;
    assert_eq!(outcome.status, RunStatus::Done);
    let stored = host.messages().await.remove(0).text();
    assert!(stored.contains("withheld") && !stored.contains("secret"), "{stored}");
    assert!(!host.prompts()[0].contains("secret"), "{:?}", host.prompts());
    assert_eq!(host.order(HookId::BeforeMessageWrite), ["checker", "checker"]);
}
