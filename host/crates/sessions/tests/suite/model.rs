//! Property tests: the store beside a simple model of it.

use domain::message::AgentMessage;
use domain::session::{RunStatus, SessionStore, StoreError, TranscriptEvent};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::{Scratch, assert_chain, begun, id, main_agent, main_key, message, opening, row, run, summary};

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        // Halves and quarters: exact in binary and short in decimal.
        any::<i32>().prop_map(|n| Value::from(f64::from(n) / 4.0)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from), any_object(inner).prop_map(Value::Object),]
    })
}

fn any_object(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec(("[a-z]{1,8}", value), 0..4).prop_map(|pairs| {
        // Unknown keys: none that the message types give a meaning.
        pairs.into_iter().map(|(key, value)| (format!("x-{key}"), value)).collect()
    })
}

fn any_block() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<String>().prop_map(|text| json!({"type": "text", "text": text})),
        any::<String>().prop_map(|text| json!({"type": "thinking", "thinking": text, "thinkingSignature": "s"})),
        ("[a-z0-9]{1,9}", any_object(any_json()))
            .prop_map(|(id, arguments)| json!({"type": "toolCall", "id": id, "name": "t", "arguments": arguments})),
        "[A-Za-z0-9+/]{0,40}".prop_map(|data| json!({"type": "image", "data": data, "mimeType": "image/png"})),
        any_json().prop_map(|value| json!({"type": "hologram", "value": value})),
    ]
}

fn any_message() -> impl Strategy<Value = AgentMessage> {
    let content = prop::collection::vec(any_block(), 0..4);
    let role = prop_oneof![Just("user"), Just("assistant"), Just("toolResult"), Just("custom.note")];
    (role, content, any_object(any_json()), any::<u32>()).prop_map(|(role, content, extra, timestamp)| {
        let mut message = extra;
        message.insert("role".to_owned(), Value::from(role));
        message.insert("content".to_owned(), Value::from(content));
        message.insert("timestamp".to_owned(), Value::from(timestamp));
        if role == "toolResult" {
            message.insert("toolCallId".to_owned(), Value::from("c1"));
        }
        AgentMessage::from_value(Value::Object(message)).unwrap()
    })
}

fn any_event() -> impl Strategy<Value = TranscriptEvent> {
    prop_oneof![
        6 => any_message().prop_map(|message| TranscriptEvent::Message { message }),
        1 => (any::<String>(), any_json()).prop_map(|(custom_type, data)| TranscriptEvent::Custom { custom_type, data }),
        1 => (any::<String>(), any::<String>()).prop_map(|(provider, model_id)| TranscriptEvent::ModelChange { provider, model_id }),
        1 => any_object(any_json()).prop_map(|mut event| {
            event.insert("type".to_owned(), Value::from("hologram"));
            TranscriptEvent::Unknown(Value::Object(event))
        }),
    ]
}

/// What one of two runs tries.
#[derive(Debug, Clone, Copy)]
enum Step {
    Begin(usize),
    Append(usize),
    End(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..2usize).prop_map(Step::Begin),
        5 => (0..2usize).prop_map(Step::Append),
        1 => (0..2usize).prop_map(Step::End),
    ]
}

proptest! {
    // Each case makes a database and syncs each row.
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_was_appended_is_read_back(events in prop::collection::vec(any_event(), 1..12)) {
        runtime().block_on(async {
            let mut scratch = Scratch::new();
            begun(&scratch.store).await;
            let mut appended = Vec::new();
            for (n, event) in events.iter().enumerate() {
                let stored = scratch.store.append(row(&main_key(), "s1", "r1", &format!("e{n}"), event.clone())).await.unwrap();
                assert_eq!(&stored.event, event);
                appended.push(stored);
            }
            scratch.reopen().await;
            let rows = scratch.store.rows(&main_agent(), &id("s1")).await.unwrap();
            assert_chain(&rows);
            assert_eq!(rows[1..], appended);
        });
    }

    /// Two runs of two stores want the same session. Whatever they try in whatever order, only the owner's rows are stored, so the rows
    /// of a run stand together between its begin and its end.
    #[test]
    fn the_rows_of_two_runs_never_interleave(steps in prop::collection::vec(any_step(), 1..40)) {
        runtime().block_on(async {
            let scratch = Scratch::new();
            scratch.store.open(opening(&main_key(), "s1", 1)).await.unwrap();
            let stores = [&scratch.store, &scratch.second_store()];
            let mut holder = None;
            let mut expected = Vec::new();
            for (n, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Begin(who) => {
                        let began = stores[who].begin_run(&main_key(), &id("s1"), &run("same id"), 1).await;
                        match holder {
                            Some(other) if other != who => assert!(matches!(began, Err(StoreError::Busy { .. })), "{began:?}"),
                            _ => began.unwrap(),
                        }
                        holder.get_or_insert(who);
                    }
                    Step::Append(who) => {
                        let text = format!("{n} of {who}");
                        let event_id = format!("e{n}");
                        let stored = stores[who].append(row(&main_key(), "s1", "same id", &event_id, message(&text))).await;
                        if holder == Some(who) {
                            stored.unwrap();
                            expected.push(message(&text));
                        } else {
                            assert!(matches!(stored, Err(StoreError::Fenced { .. })), "{stored:?}");
                        }
                    }
                    Step::End(who) => {
                        stores[who].end_run(&main_key(), &run("same id"), summary(RunStatus::Done, 1)).await.unwrap();
                        holder = holder.filter(|holder| *holder != who);
                    }
                }
            }
            let rows = scratch.store.rows(&main_agent(), &id("s1")).await.unwrap();
            assert_chain(&rows);
            assert_eq!(rows[1..].iter().map(|row| row.event.clone()).collect::<Vec<_>>(), expected);
        });
    }
}
