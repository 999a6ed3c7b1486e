//! What a request is made of when the transcript is not in order.

use domain::session::TranscriptEvent;
use serde_json::{Value, json};

use crate::support::{Setup, says};

#[tokio::test]
async fn sessions_023_a_missing_result_is_made_up_behind_the_real_one() {
    let chat = Setup::new([says("ok")]).chat();
    let two_calls = json!([
        {"type": "toolCall", "id": "a", "name": "look", "arguments": {}},
        {"type": "toolCall", "id": "b", "name": "look", "arguments": {}},
    ]);
    let before: [Value; 3] = [
        json!({"role": "user", "content": "go"}),
        json!({"role": "assistant", "content": two_calls, "stopReason": "toolUse"}),
        json!({"role": "toolResult", "toolCallId": "a", "toolName": "look", "content": "seen"}),
    ];
    chat.remembers_messages(before).await;
    chat.user("and?").await;
    let request = chat.request(1);
    assert_eq!(request[2..], ["result a: seen", "error b: No result was recorded for this tool call.", "user: and?"]);
    assert_eq!(chat.rows().len(), 3 + 2, "what was made up is not stored");
}

#[tokio::test]
async fn sessions_024_a_result_without_a_call_is_left_out_and_its_row_stays() {
    let chat = Setup::new([says("ok")]).chat();
    chat.remembers_messages([
        json!({"role": "user", "content": "go"}),
        json!({"role": "toolResult", "toolCallId": "z", "toolName": "look", "content": "stray"}),
    ])
    .await;
    let before = chat.raw_rows();
    chat.user("and?").await;
    assert_eq!(chat.request(1), ["user: go", "user: and?"]);
    assert_eq!(chat.raw_rows()[..before.len()], before);
}

#[tokio::test]
async fn sessions_025_calls_of_an_aborted_message_are_not_replayed() {
    let chat = Setup::new([says("ok")]).chat();
    let content = json!([{"type": "text", "text": "half"}, {"type": "toolCall", "id": "a", "name": "look", "arguments": {}}]);
    chat.remembers_messages([
        json!({"role": "user", "content": "go"}),
        json!({"role": "assistant", "content": content, "stopReason": "aborted"}),
    ])
    .await;
    chat.user("and?").await;
    assert_eq!(chat.request(1), ["user: go", "assistant (aborted): half", "user: and?"]);
}

#[tokio::test]
async fn sessions_030_custom_data_stays_out_of_the_context_and_custom_messages_are_in() {
    let chat = Setup::new([says("ok")]).chat();
    chat.remembers([
        TranscriptEvent::Custom { custom_type: "state".into(), data: json!({"secret": 1}) },
        TranscriptEvent::CustomMessage { custom_type: "news".into(), content: "it rains".into(), display: false },
    ])
    .await;
    chat.user("and?").await;
    assert_eq!(chat.request(1), ["user: it rains", "user: and?"]);
}
