//! What a plugin sees of the machine through the standard library: the variables that the operator named, and clocks and random numbers
//! as the operator wants them.

use domain::message::text_of;
use serde_json::{Value, json};
use system_tests::{Plugin, World, call, say};

use crate::guests;

/// What the guest sees in two runs.
async fn seen(capabilities: Value) -> [Value; 2] {
    let plugin = Plugin::new("looker", guests::CAP_SURROUNDINGS)
        .manifest(json!({ "contracts": { "tools": ["look"] } }))
        .operator(json!({ "capabilities": capabilities }));
    let world = World::new().variable("SHOWN", "this").variable("HIDDEN", "that").plugin(plugin);
    let host = world.turns([call("look", json!({})), say("one"), call("look", json!({})), say("two")]).start().await;
    host.say("go").await;
    host.say("again").await;
    let results = host.tool_results().await;
    [0, 1].map(|index| serde_json::from_str(&text_of(&results[index].content)).unwrap())
}

#[tokio::test]
async fn only_named_variables_are_there() {
    assert_eq!(seen(json!({})).await[0]["variables"], json!({}));
    let [named, _] = seen(json!({ "env": ["SHOWN", "NOT_SET"] })).await;
    assert_eq!(named["variables"], json!({ "SHOWN": "this" }));
}

#[tokio::test]
async fn clocks_run_or_stand_as_the_operator_wants() {
    let [real, later] = seen(json!({})).await;
    assert!(real["nowMs"].as_u64() > Some(1_700_000_000_000) && later["nowMs"].as_u64() >= real["nowMs"].as_u64(), "{real}");
    assert!(real["elapsedNs"].as_u64() > Some(0), "{real}");
    for frozen in seen(json!({ "clock": "frozen" })).await {
        assert_eq!((&frozen["nowMs"], &frozen["elapsedNs"]), (&json!(0), &json!(0)), "{frozen}");
    }
}

#[tokio::test]
async fn random_numbers_follow_from_a_seed_or_from_nothing() {
    let [one, other] = seen(json!({})).await;
    for index in 0..3 {
        assert_ne!(one["random"][index], other["random"][index]);
    }
    let [one, other] = seen(json!({ "random": { "seed": 7 } })).await;
    assert_eq!((&one["random"], &one["sum"]), (&other["random"], &other["sum"]));
    let [another, _] = seen(json!({ "random": { "seed": 8 } })).await;
    assert_ne!(one["random"], another["random"]);
}
