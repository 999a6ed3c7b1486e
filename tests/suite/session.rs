//! Sessions and the end of runs (plugin-hooks 4.5, 4.15, 4.16).

use std::time::Duration;

use agent::{RunOutcome, RunRequest};
use creel::commands::OBSERVER_GRACE;
use domain::cancel::CancelReason;
use domain::event::{EventData, Lifecycle};
use domain::message::AgentMessage;
use domain::model::FailureClass;
use domain::session::RunStatus;
use hooks::HookId;
use serde_json::{Value, json};
use system_tests::{Call, Entry, Host, PROBE, Plugin, Turn, World, call, fail, on, say};
use tokio::time::Instant;

use crate::script;

/// Records how runs end, and takes its time.
fn recorder() -> Plugin {
    script("recorder").handler(on("agent_end").does(json!({ "sleepMs": 200 }))).recording(&["agent_end"])
}

async fn host<const N: usize>(turns: [Turn; N]) -> Host {
    World::new().plugin(recorder()).turns(turns).start().await
}

fn is_told(entry: &Entry) -> bool {
    matches!(entry, Entry::Handled(record) if record.hook == HookId::AgentEnd)
}

/// Checks the one event of a run that ended and was not held up by it: it came after the last lifecycle event, and says of the run all that
/// there is to say. Gives its error text.
async fn end_of(host: &Host, outcome: &RunOutcome) -> Value {
    assert!(host.handled(HookId::AgentEnd).is_empty(), "the run is over and the recorder still sleeps");
    host.settle().await;
    let calls = host.calls("recorder", "agent_end").await;
    let [end] = &calls[..] else { panic!("one event: {calls:?}") };
    let is_end = |entry: &Entry| {
        matches!(entry, Entry::Emitted(event)
            if matches!(event.data, EventData::Lifecycle(Lifecycle::End { .. } | Lifecycle::Error { .. })))
    };
    let (ended, told) = (host.journal().places(is_end), host.journal().places(is_told));
    assert_eq!((ended.len(), told.len()), (1, 1));
    assert!(told[0] > ended[0]);

    assert_eq!(end.context["runId"], outcome.run_id.as_str());
    assert_eq!(end.event["success"], outcome.status == RunStatus::Done);
    assert!(end.event["durationMs"].is_u64(), "{end:?}");
    let stored: Vec<Value> = host.messages().await.iter().map(AgentMessage::to_value).collect();
    assert_eq!(end.json_list("messages"), stored, "all final messages");
    end.event["error"].clone()
}

fn roles(call: &Call) -> Vec<Value> {
    call.json_list("messages").iter().map(|message| message["role"].clone()).collect()
}

async fn final_roles(host: &Host) -> Vec<String> {
    host.messages().await.iter().map(|message| message.role().to_owned()).collect()
}

#[tokio::test]
async fn hooks_060_the_end_of_a_run_is_told_once_however_it_ends() {
    let looks = || call(PROBE, json!({ "says": "found" }));

    // It succeeds.
    let host = self::host([looks(), say("done")]).await;
    let outcome = host.accept(host.request("go")).await.run().await;
    assert_eq!((outcome.status, end_of(&host, &outcome).await), (RunStatus::Done, Value::Null));
    assert_eq!(final_roles(&host).await, ["user", "assistant", "toolResult", "assistant"]);

    // The model fails.
    let host = self::host([looks(), fail(FailureClass::Auth, "the key was refused")]).await;
    let outcome = host.accept(host.request("go")).await.run().await;
    assert_eq!((outcome.status, end_of(&host, &outcome).await), (RunStatus::Failed, json!("the key was refused")));
    assert_eq!(final_roles(&host).await, ["user", "assistant", "toolResult", "assistant"]);

    // It is aborted.
    let host = self::host([looks(), say("never").after_ms(60_000)]).await;
    let accepted = host.accept(host.request("go")).await;
    let cancel = accepted.cancel();
    let (outcome, ()) = tokio::join!(accepted.run(), async {
        host.journal()
            .wait_until(|entries| entries.iter().filter(|entry| matches!(entry, Entry::Requested(_))).count() == 2)
            .await;
        cancel.cancel(CancelReason::User);
    });
    assert_eq!((outcome.status, end_of(&host, &outcome).await), (RunStatus::Killed, json!("the run was aborted")));
    assert_eq!(final_roles(&host).await, ["user", "assistant", "toolResult", "assistant"]);

    // It hits its deadline.
    let host = self::host([say("never").after_ms(60_000)]).await;
    let request = RunRequest { timeout: Some(Duration::from_secs(1)), ..host.request("go") };
    let outcome = host.accept(request).await.run().await;
    assert_eq!(outcome.status, RunStatus::Timeout);
    let told = end_of(&host, &outcome).await;
    assert!(told.as_str().unwrap().starts_with("the run took longer than its 1 s"), "{told}");

    // A one-shot run waits for it when it closes.
    let host = self::host([say("done")]).await;
    host.accept(host.request("go")).await.run().await;
    assert!(host.handled(HookId::AgentEnd).is_empty());
    let journal = host.journal().clone();
    host.close_within(OBSERVER_GRACE).await;
    assert_eq!(journal.places(is_told).len(), 1);

    // It waits at most 30 s, however long the plugin may take.
    let endless = script("recorder").handler(on("agent_end").does(json!({ "sleepMs": 500_000 }))).recording(&["agent_end"]);
    let endless = endless.operator(json!({ "hooks": { "timeouts": { "agent_end": 600_000 } } }));
    let host = World::new().plugin(endless).turns([say("done")]).start().await;
    host.accept(host.request("go")).await.run().await;
    while host.calls("recorder", "agent_end").await.is_empty() {
        tokio::task::yield_now().await;
    }
    let (journal, log) = (host.journal().clone(), host.log().clone());
    // From here on time jumps to whatever comes next.
    tokio::time::pause();
    let asked = Instant::now();
    host.close_within(OBSERVER_GRACE).await;
    let waited = asked.elapsed().as_secs();
    assert!((30..32).contains(&waited), "it waited {waited} s");
    assert!(journal.places(is_told).is_empty());
    assert_eq!(log.warnings(&["not waited for any longer, after 30 s", "recorder", "agent_end"]).len(), 1, "{log:?}");
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
