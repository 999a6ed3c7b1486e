//! Sessions and the end of runs (plugin-hooks 4.5, 4.15, 4.16).

use std::time::Duration;

use agent::RunRequest;
use domain::cancel::CancelReason;
use domain::event::{EventData, Lifecycle};
use domain::model::FailureClass;
use domain::session::RunStatus;
use hooks::HookId;
use serde_json::{Value, json};
use system_tests::{Call, Entry, Host, PROBE, Plugin, Turn, World, call, fail, on, say};

use crate::script;

/// Records how runs end, and takes its time.
fn recorder() -> Plugin {
    script("recorder").handler(on("agent_end").does(json!({ "sleepMs": 200 }))).recording(&["agent_end"])
}

async fn host<const N: usize>(turns: [Turn; N]) -> Host {
    World::new().plugin(recorder()).turns(turns).start().await
}

/// The one event of the run, after its last lifecycle event.
async fn end_of(host: &Host) -> Call {
    host.settle().await;
    let mut calls = host.calls("recorder", "agent_end").await;
    assert_eq!(calls.len(), 1, "{calls:?}");
    let is_end = |entry: &Entry| {
        matches!(entry, Entry::Emitted(event)
            if matches!(event.data, EventData::Lifecycle(Lifecycle::End { .. } | Lifecycle::Error { .. })))
    };
    let is_told = |entry: &Entry| matches!(entry, Entry::Handled(record) if record.hook == HookId::AgentEnd);
    let (ended, told) = (host.journal().places(is_end), host.journal().places(is_told));
    assert_eq!((ended.len(), told.len()), (1, 1));
    assert!(told[0] > ended[0]);
    calls.remove(0)
}

fn roles(call: &Call) -> Vec<Value> {
    call.json_list("messages").iter().map(|message| message["role"].clone()).collect()
}

#[tokio::test]
async fn hooks_060_the_end_of_a_run_is_told_once_however_it_ends() {
    assert_eq!(HookId::AgentEnd.row().budget, Some(Duration::from_secs(30)));

    // It succeeds; the run does not wait for the recorder.
    let host = self::host([call(PROBE, json!({ "says": "found" })), say("done")]).await;
    let accepted = host.accept(host.request("go")).await;
    let run_id = accepted.run_id().clone();
    accepted.run().await;
    assert!(host.handled(HookId::AgentEnd).is_empty(), "the recorder still sleeps");
    let end = end_of(&host).await;
    assert_eq!(roles(&end), ["user", "assistant", "toolResult", "assistant"]);
    assert_eq!((&end.event["success"], &end.event["error"]), (&json!(true), &Value::Null));
    assert!(end.event["durationMs"].is_u64());
    assert_eq!(end.context["runId"], run_id.as_str());

    // The model fails.
    let host = self::host([fail(FailureClass::Auth, "the key was refused")]).await;
    host.say("go").await;
    let end = end_of(&host).await;
    assert_eq!((&end.event["success"], &end.event["error"]), (&json!(false), &json!("the key was refused")));
    assert_eq!(roles(&end)[0], "user");

    // It is aborted.
    let host = self::host([say("never").after_ms(60_000)]).await;
    let accepted = host.accept(host.request("go")).await;
    let cancel = accepted.cancel();
    let (outcome, ()) = tokio::join!(accepted.run(), async {
        host.journal().wait_for(|entry| matches!(entry, Entry::Requested(_))).await;
        cancel.cancel(CancelReason::User);
    });
    assert_eq!(outcome.status, RunStatus::Killed);
    let end = end_of(&host).await;
    assert_eq!(end.event["success"], false);
    assert!(end.event["error"].as_str().unwrap().contains("aborted"));

    // It hits its deadline.
    let host = self::host([say("never").after_ms(60_000)]).await;
    let request = RunRequest { timeout: Some(Duration::from_millis(50)), ..host.request("go") };
    let outcome = host.accept(request).await.run().await;
    assert_eq!(outcome.status, RunStatus::Timeout);
    assert_eq!(end_of(&host).await.event["success"], false);

    // A one-shot run waits for it when it closes, and no longer than it says.
    let host = self::host([say("done")]).await;
    host.accept(host.request("go")).await.run().await;
    assert!(host.handled(HookId::AgentEnd).is_empty());
    let journal = host.journal().clone();
    host.close().await;
    assert_eq!(
        journal.find(|entry| matches!(entry, Entry::Handled(record) if record.hook == HookId::AgentEnd).then_some(())).len(),
        1
    );
    assert_eq!(creel::commands::OBSERVER_GRACE, Duration::from_secs(30));
}

#[tokio::test]
async fn the_first_message_starts_a_session_and_a_fresh_one_ends_it() {
    let plugin = script("watcher").recording(&["session_start", "session_end"]);
    let host = World::new().plugin(plugin).start().await;
    host.say("hello").await;
    let first = host.session().await.session_id;
    host.say("again").await;
    let starts = host.calls("watcher", "session_start").await;
    assert_eq!(starts.len(), 1);
    assert_eq!(starts[0].context["sessionId"], first.as_str());
    assert!(starts[0].event["resumedFrom"].is_null());
    assert!(host.calls("watcher", "session_end").await.is_empty());

    host.run(RunRequest { fresh_session: true, ..host.request("anew") }).await;
    let second = host.session().await.session_id;
    let end = host.calls("watcher", "session_end").await.remove(0);
    assert_eq!((&end.context["sessionId"], &end.event["nextSessionId"]), (&json!(first), &json!(second)));
    assert_eq!(host.calls("watcher", "session_start").await[1].event["resumedFrom"], first.as_str());
}

#[tokio::test]
async fn a_fresh_session_tells_the_reset_the_end_and_the_start() {
    let hooks = ["before_reset", "session_end", "session_start"];
    let host = World::new().plugin(script("recorder").recording(&hooks)).turns([say("one"), say("two")]).start().await;
    let first = host.say("first").await.session_id.to_string();
    let second = host.run(RunRequest { fresh_session: true, ..host.request("second") }).await.session_id.to_string();
    assert_ne!(first, second);
    host.settle().await;

    let resets = host.calls("recorder", "before_reset").await;
    assert_eq!((resets.len(), roles(&resets[0])), (1, vec![json!("user"), json!("assistant")]));
    assert_eq!((&resets[0].event["reason"], &resets[0].context["sessionId"]), (&json!("new"), &json!(first)));

    let ends = host.calls("recorder", "session_end").await;
    assert_eq!(ends.len(), 1);
    assert_eq!((&ends[0].event["messageCount"], &ends[0].event["reason"]), (&json!(2), &json!("New")));
    assert_eq!((&ends[0].event["nextSessionId"], &ends[0].context["sessionId"]), (&json!(second), &json!(first)));

    let starts = host.calls("recorder", "session_start").await;
    let resumed: Vec<&Value> = starts.iter().map(|call| &call.event["resumedFrom"]).collect();
    assert!(resumed.contains(&&Value::Null) && resumed.contains(&&json!(first)), "{resumed:?}");
}
