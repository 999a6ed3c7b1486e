//! Transcripts as JSON lines.

use domain::session::{SessionStore, StoreError};
use serde_json::{Value, json};
use sessions::ExportError;

use crate::support::{Scratch, begun, id, main_agent, main_key, message, row, say};

async fn export(scratch: &Scratch) -> (u64, Vec<Value>) {
    let mut out = Vec::new();
    let count = scratch.store.export(&main_agent(), &id("s1"), &mut out).await.unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.ends_with('\n'));
    (count, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[tokio::test]
async fn an_export_is_the_header_and_then_the_rows() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    say(&scratch.store, "e1", "line\nfeed and 🦀").await.unwrap();
    let future = domain::session::TranscriptEvent::Unknown(json!({"type": "hologram", "depth": 3}));
    scratch.store.append(row(&main_key(), "s1", "r1", "e2", future)).await.unwrap();
    let (count, lines) = export(&scratch).await;
    assert_eq!(count, 3);
    assert_eq!(
        lines,
        [
            json!({"type": "session", "id": "s1", "timestamp": "1970-01-01T00:00:00.100Z", "cwd": "/work", "version": 1}),
            json!({"type": "message", "id": "e1", "parentId": "s1", "timestamp": "1970-01-01T00:00:01.000Z",
                "message": {"role": "user", "content": [{"type": "text", "text": "line\nfeed and 🦀"}], "timestamp": 1}}),
            json!({"type": "hologram", "id": "e2", "parentId": "e1", "timestamp": "1970-01-01T00:00:01.000Z", "depth": 3}),
        ]
    );
}

#[tokio::test]
async fn long_transcripts_are_exported_page_by_page_with_all_branches() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    for n in 1..=300 {
        say(&scratch.store, &format!("e{n}"), "x").await.unwrap();
    }
    scratch.sql().execute("UPDATE sessions SET leaf_entry_id = 'e7'", []).unwrap();
    let (count, lines) = export(&scratch).await;
    assert_eq!((count, lines.len()), (301, 301));
    assert!(lines[1..].iter().enumerate().all(|(n, line)| line["id"] == format!("e{}", n + 1)));
}

#[tokio::test]
async fn a_receiver_that_fails_and_a_row_that_is_damaged_end_the_export() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    for n in 1..=3 {
        scratch.store.append(row(&main_key(), "s1", "r1", &format!("e{n}"), message("x"))).await.unwrap();
    }
    let mut small = [0; 64];
    let failed = scratch.store.export(&main_agent(), &id("s1"), &mut std::io::Cursor::new(&mut small[..])).await;
    assert!(matches!(failed, Err(ExportError::Write(_))), "{failed:?}");

    let damaged = |failed: Result<u64, ExportError>, at: u64| match failed {
        Err(ExportError::Store(StoreError::Damaged { seq, .. })) => assert_eq!(seq, at),
        other => panic!("{other:?}"),
    };
    scratch.sql().execute("UPDATE transcript_events SET event_json = '{' WHERE seq = 3", []).unwrap();
    let mut out = Vec::new();
    damaged(scratch.store.export(&main_agent(), &id("s1"), &mut out).await, 3);
    assert_eq!(String::from_utf8(out).unwrap().lines().count(), 3, "what was written before is whole lines");
    scratch.sql().execute("DELETE FROM transcript_events WHERE seq = 1", []).unwrap();
    damaged(scratch.store.export(&main_agent(), &id("s1"), &mut Vec::new()).await, 1);

    let missing = scratch.store.export(&main_agent(), &id("s9"), &mut Vec::new()).await;
    assert!(matches!(missing, Err(ExportError::Store(StoreError::NotFound(_)))));
}
