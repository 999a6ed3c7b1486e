//! Sessions that plugins read: of which agents the operator lets them, and how much at once.

use domain::message::text_of;
use serde_json::{Value, json};
use system_tests::{Host, Plugin, World, call};

use crate::guests;

const MAIN: &str = "agent:main:main";

/// A plugin whose tool `recall` reads sessions.
fn reader(granted: Value) -> Plugin {
    Plugin::new("reader", guests::CAP_SESSIONS)
        .manifest(json!({ "contracts": { "tools": ["recall"] } }))
        .operator(json!({ "capabilities": { "sessionsRead": granted } }))
}

/// The model calls `recall` once for each of these.
async fn recalled<const N: usize>(granted: Value, asked: [Value; N]) -> (Host, Vec<Value>) {
    let host = World::new().plugin(reader(granted)).turns(asked.map(|params| call("recall", params))).start().await;
    host.say("hello there").await;
    let results = host.tool_results().await;
    let found = results.iter().map(|result| serde_json::from_str(&text_of(&result.content)).unwrap()).collect();
    (host, found)
}

#[tokio::test]
async fn sessions_of_granted_agents_are_listed_found_and_read() {
    for granted in [json!(true), json!(["main"])] {
        let asked = [
            json!({}),
            json!({ "prefix": "agent:main:ma" }),
            json!({ "prefix": "agent:main:x" }),
            json!({ "get": MAIN }),
            json!({ "get": "other" }),
            json!({ "tail": MAIN, "messages": 1000, "bytes": 100_000 }),
            json!({ "tail": "agent:main:other" }),
        ];
        let (host, found) = recalled(granted, asked).await;
        assert_eq!(found[0], json!([MAIN]));
        assert_eq!((&found[1], &found[2]), (&json!([MAIN]), &json!([])));
        let session = host.session().await;
        assert_eq!(found[3]["id"], session.session_id);
        assert!(found[3]["entry"].as_str().unwrap().contains("\"status\":\"running\""), "{}", found[3]);
        assert_eq!(found[4], Value::Null);
        assert_eq!(found[5]["texts"][0], "hello there");
        assert_eq!(found[5]["truncated"], false);
        assert!(found[6]["error"].as_str().unwrap().starts_with("NotFound"), "{}", found[6]);
    }
}

#[tokio::test]
async fn a_tail_is_cut_by_messages_and_by_bytes() {
    let asked = [
        json!({ "get": MAIN }),
        json!({ "tail": MAIN, "messages": 1 }),
        json!({ "tail": MAIN, "bytes": 5 }),
        json!({ "tail": MAIN, "messages": 0 }),
    ];
    let (_host, found) = recalled(json!(true), asked).await;
    assert_eq!((found[1]["texts"].as_array().unwrap().len(), &found[1]["truncated"]), (1, &json!(true)));
    assert_eq!(found[1]["total"], 4, "what was said, and each call and result before this one");
    assert_eq!((&found[2]["texts"], &found[2]["truncated"]), (&json!([]), &json!(true)));
    assert!(found[3]["error"].as_str().unwrap().starts_with("Invalid"), "{}", found[3]);
}

#[tokio::test]
async fn agents_that_are_not_granted_are_refused_and_the_line_is_told_once() {
    let asked =
        [json!({}), json!({ "agent": "main" }), json!({ "get": MAIN }), json!({ "tail": MAIN }), json!({ "get": "main" })];
    for granted in [json!([]), json!(["ops"])] {
        let (host, found) = recalled(granted, asked.clone()).await;
        assert_eq!(found[0], json!([]), "of the granted agents there are none");
        for refused in &found[1..] {
            assert!(refused["error"].as_str().unwrap().starts_with("Denied"), "{refused}");
        }
        let told = host.log().warnings(&["add \"main\" to plugins.entries.reader.capabilities.sessionsRead"]);
        assert_eq!(told.len(), 1, "{told:?}");
    }
    let host = World::new().plugin(reader(json!(false))).start().await;
    assert!(host.problem("reader").contains("plugins.entries.reader.capabilities.sessionsRead"));
}
