//! Opening sessions, appending rows, listing: what the store answers and what it keeps.

use domain::message::AgentMessage;
use domain::session::{OpenSession, RunStatus, RunSummary, SessionStore, StoreError, TranscriptEvent};
use domain::{AgentId, SessionKey};
use serde_json::json;

use crate::support::{Scratch, assert_chain, begun, id, key, main_agent, main_key, message, opening, row, run, say, summary};

#[tokio::test]
async fn the_first_message_makes_entry_transcript_and_header() {
    let scratch = Scratch::new();
    let opened = scratch.store.open(opening(&main_key(), "s1", 100)).await.unwrap();
    assert!(opened.is_new);
    assert_eq!((opened.session_id, opened.previous), (id("s1"), None));
    assert_eq!(scratch.store.entry(&main_key()).await.unwrap(), Some(opened.entry.clone()));
    assert_eq!(
        (opened.entry.session_started_at, opened.entry.last_interaction_at, opened.entry.updated_at, opened.entry.status),
        (100, 100, 100, None)
    );

    let rows = scratch.store.rows(&main_agent(), &id("s1")).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].id.as_str(), rows[0].created_at), ("s1", 100));
    assert_eq!(rows[0].event, TranscriptEvent::Session { cwd: "/work".to_owned(), version: 1, parent_session: None });
}

#[tokio::test]
async fn rows_follow_each_other_and_survive_a_restart() {
    let mut scratch = Scratch::new();
    begun(&scratch.store).await;
    let first = say(&scratch.store, "e1", "hello").await.unwrap();
    let second = say(&scratch.store, "e2", "there").await.unwrap();
    assert_eq!((first.seq, first.parent_id.as_deref(), second.parent_id.as_deref()), (1, Some("s1"), Some("e1")));
    scratch.reopen().await;
    let rows = scratch.store.rows(&main_agent(), &id("s1")).await.unwrap();
    assert_chain(&rows);
    assert_eq!(rows[1..], [first, second]);
}

#[tokio::test]
async fn a_second_open_continues_and_only_interactions_count_for_resets() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    let heartbeat = OpenSession { interaction: false, ..opening(&main_key(), "s2", 500) };
    let opened = scratch.store.open(heartbeat).await.unwrap();
    assert!(!opened.is_new);
    assert_eq!((opened.session_id.as_str(), opened.previous), ("s1", None));
    assert_eq!((opened.entry.last_interaction_at, opened.entry.updated_at), (100, 500));

    let opened = scratch.store.open(opening(&main_key(), "s3", 600)).await.unwrap();
    assert_eq!((opened.session_id.as_str(), opened.entry.last_interaction_at, opened.entry.session_started_at), ("s1", 600, 100));
    assert_eq!(scratch.store.entry(&main_key()).await.unwrap(), Some(opened.entry));
}

#[tokio::test]
async fn a_fresh_session_has_a_new_id_and_the_old_transcript_stays_readable() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    say(&scratch.store, "e1", "old").await.unwrap();
    let tokens = RunSummary { input_tokens: 7, output_tokens: 5, ..summary(RunStatus::Done, 200) };
    scratch.store.end_run(&main_key(), &run("r1"), tokens).await.unwrap();

    let fresh = OpenSession { fresh: true, ..opening(&main_key(), "s2", 300) };
    let opened = scratch.store.open(fresh).await.unwrap();
    assert_eq!((opened.session_id.as_str(), opened.is_new, opened.previous), ("s2", true, Some(id("s1"))));
    assert_eq!((opened.entry.status, opened.entry.input_tokens, opened.entry.session_started_at), (None, 0, 300));
    let header = &scratch.store.rows(&main_agent(), &id("s2")).await.unwrap()[0];
    assert!(matches!(&header.event, TranscriptEvent::Session { parent_session: Some(parent), .. } if parent == "s1"));
    assert_eq!(scratch.store.rows(&main_agent(), &id("s1")).await.unwrap().len(), 2);

    let old = scratch.store.find(&main_agent(), "s1").await.unwrap();
    assert_eq!((old.key, old.closed_at, old.entry.session_id.as_str()), (main_key(), Some(300), "s2"));
    let current = scratch.store.find(&main_agent(), "main").await.unwrap();
    assert_eq!((current.session_id, current.parent_session_id, current.closed_at), (id("s2"), Some(id("s1")), None));
}

#[tokio::test]
async fn a_finished_run_leaves_its_sums_in_the_entry() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    assert_eq!(scratch.store.entry(&main_key()).await.unwrap().unwrap().status, Some(RunStatus::Running));
    let summary = RunSummary {
        status: RunStatus::Failed,
        input_tokens: 7,
        output_tokens: 5,
        provider: Some("offline".to_owned()),
        model: Some("echo".to_owned()),
        now: 900,
    };
    scratch.store.end_run(&main_key(), &run("r1"), summary.clone()).await.unwrap();
    scratch.store.begin_run(&main_key(), &id("s1"), &run("r2"), 950).await.unwrap();
    scratch
        .store
        .end_run(&main_key(), &run("r2"), RunSummary { status: RunStatus::Done, provider: None, ..summary })
        .await
        .unwrap();
    let entry = scratch.store.entry(&main_key()).await.unwrap().unwrap();
    assert_eq!((entry.status, entry.input_tokens, entry.output_tokens, entry.updated_at), (Some(RunStatus::Done), 14, 10, 950));
    assert_eq!((&entry.extra["modelProvider"], &entry.extra["model"]), (&json!("offline"), &json!("echo")));
}

#[tokio::test]
async fn a_known_idempotency_key_stores_nothing_and_returns_the_first_row() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    let mut append = row(&main_key(), "s1", "r1", "e1", message("once"));
    append.idempotency_key = Some("k".to_owned());
    let first = scratch.store.append(append.clone()).await.unwrap();
    append.event_id = "e2".to_owned();
    append.event = message("twice");
    assert_eq!(scratch.store.append(append).await.unwrap(), first);
    assert_eq!(scratch.store.rows(&main_agent(), &id("s1")).await.unwrap().len(), 2);
}

#[tokio::test]
async fn ids_are_used_once() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    say(&scratch.store, "e1", "a").await.unwrap();
    let again = say(&scratch.store, "e1", "b").await.unwrap_err();
    assert!(matches!(&again, StoreError::Invalid { message, .. } if message.contains("event id")), "{again}");
    let taken = scratch.store.open(opening(&key("other"), "s1", 100)).await.unwrap_err();
    assert!(matches!(&taken, StoreError::Invalid { message, .. } if message.contains("id is in use")), "{taken}");
    assert_eq!(scratch.store.entry(&key("other")).await.unwrap(), None);
}

#[tokio::test]
async fn what_could_not_be_read_back_is_refused() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    let header = TranscriptEvent::Session { cwd: String::new(), version: 1, parent_session: None };
    let mut deep = json!({});
    for _ in 0..130 {
        deep = json!({ "a": deep });
    }
    let nested = TranscriptEvent::Custom { custom_type: "x".to_owned(), data: deep };
    for bad in [header, nested, TranscriptEvent::Unknown(json!("text"))] {
        let refused = scratch.store.append(row(&main_key(), "s1", "r1", "e1", bad)).await.unwrap_err();
        assert!(matches!(refused, StoreError::Invalid { .. }), "{refused}");
    }
    assert_eq!(scratch.store.rows(&main_agent(), &id("s1")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn unknown_types_are_kept_on_the_path() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    let future = TranscriptEvent::Unknown(json!({"type": "hologram", "depth": 3}));
    scratch.store.append(row(&main_key(), "s1", "r1", "e1", future.clone())).await.unwrap();
    say(&scratch.store, "e2", "after").await.unwrap();
    let rows = scratch.store.rows(&main_agent(), &id("s1")).await.unwrap();
    assert_chain(&rows);
    assert_eq!(rows[1].event, future);
}

#[tokio::test]
async fn other_branches_are_stored_and_invisible() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    say(&scratch.store, "e1", "question").await.unwrap();
    say(&scratch.store, "e2", "first answer").await.unwrap();
    scratch.sql().execute("UPDATE sessions SET leaf_entry_id = 'e1'", []).unwrap();
    let third = say(&scratch.store, "e3", "second answer").await.unwrap();
    assert_eq!((third.seq, third.parent_id.as_deref()), (3, Some("e1")));
    let path: Vec<_> = scratch.store.rows(&main_agent(), &id("s1")).await.unwrap().into_iter().map(|row| row.id).collect();
    assert_eq!(path, ["s1", "e1", "e3"]);
}

#[tokio::test]
async fn the_tail_is_bounded_and_says_whether_there_is_more() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    for n in 1..=5 {
        say(&scratch.store, &format!("e{n}"), "x").await.unwrap();
    }
    let ids = |tail: &sessions::TranscriptTail| tail.rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>();
    let tail = scratch.store.tail(&main_agent(), &id("s1"), 2).await.unwrap();
    assert_eq!((ids(&tail), tail.has_earlier), (vec!["e4".to_owned(), "e5".to_owned()], true));
    let all = scratch.store.tail(&main_agent(), &id("s1"), 6).await.unwrap();
    assert_eq!((all.rows.len(), all.has_earlier), (6, false));
    let none = scratch.store.tail(&main_agent(), &id("s1"), 0).await.unwrap();
    assert_eq!((none.rows.len(), none.has_earlier), (0, true));
}

#[tokio::test]
async fn keys_are_compared_exactly_and_never_share_a_transcript() {
    let scratch = Scratch::new();
    let long = format!("agent:main:{}", "k".repeat(500));
    let keys = ["a/b", "a_b", "A", "a", "../../x", "caf\u{e9}", "cafe\u{301}", "con", "cron:a", "hook:a", long.as_str()];
    for (n, text) in keys.iter().enumerate() {
        let opened = scratch.store.open(opening(&key(text), &format!("s{n}"), 100)).await.unwrap();
        assert!(opened.is_new, "{text}");
    }
    for (n, text) in keys.iter().enumerate() {
        let found = scratch.store.find(&main_agent(), text).await.unwrap();
        assert_eq!((found.session_id, found.key), (id(&format!("s{n}")), key(text)));
    }
    assert_eq!(scratch.store.list(&main_agent()).await.unwrap().len(), keys.len());
}

#[tokio::test]
async fn the_list_shows_the_newest_change_first() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    scratch.store.open(opening(&key("b"), "s2", 200)).await.unwrap();
    scratch.store.open(opening(&key("c"), "s3", 150)).await.unwrap();
    let list = |list: Vec<domain::session::SessionSummary>| {
        list.into_iter().map(|summary| (summary.key.to_string(), summary.rows)).collect::<Vec<_>>()
    };
    let before = list(scratch.store.list(&main_agent()).await.unwrap());
    assert_eq!(before, [("agent:main:b".into(), 1), ("agent:main:c".into(), 1), ("agent:main:main".into(), 1)]);
    say(&scratch.store, "e1", "x").await.unwrap();
    assert_eq!(list(scratch.store.list(&main_agent()).await.unwrap())[0], ("agent:main:main".into(), 2));
}

#[tokio::test]
async fn agents_have_databases_of_their_own() {
    let scratch = Scratch::new();
    let ops = AgentId::parse("ops").unwrap();
    begun(&scratch.store).await;
    scratch.store.open(opening(&SessionKey::main(&ops), "s1", 100)).await.unwrap();
    assert_eq!(scratch.store.agent_ids().await.unwrap(), [main_agent(), ops.clone()]);
    assert!(matches!(scratch.store.rows(&ops, &id("s2")).await, Err(StoreError::NotFound(_))));
    assert_eq!(scratch.store.rows(&ops, &id("s1")).await.unwrap().len(), 1);
    let outside = SessionKey::from_stored("k", AgentId::new("../x"));
    assert!(matches!(scratch.store.open(opening(&outside, "s9", 1)).await, Err(StoreError::Database { .. })));
}

#[tokio::test]
async fn reading_makes_no_files() {
    let scratch = Scratch::new();
    assert_eq!(scratch.store.entry(&main_key()).await.unwrap(), None);
    assert_eq!(scratch.store.list(&main_agent()).await.unwrap(), []);
    assert_eq!(scratch.store.agent_ids().await.unwrap(), []);
    assert!(matches!(scratch.store.rows(&main_agent(), &id("s1")).await, Err(StoreError::NotFound(_))));
    assert!(matches!(scratch.store.find(&main_agent(), "main").await, Err(StoreError::NotFound(_))));
    assert_eq!(scratch.dir.path().read_dir().unwrap().count(), 0);
}

#[tokio::test]
async fn the_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    let file = crate::support::database(scratch.dir.path());
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    assert_eq!(mode(&file.with_extension("sqlite-wal")), 0o600);
}

#[tokio::test]
async fn a_closed_store_refuses_and_does_not_hang() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    scratch.store.close().await;
    let refused = say(&scratch.store, "e1", "x").await.unwrap_err();
    assert!(refused.to_string().contains("was closed"), "{refused}");
    assert!(scratch.store.rows(&main_agent(), &id("s1")).await.is_err());
    let wal = crate::support::database(scratch.dir.path()).with_extension("sqlite-wal");
    assert!(!wal.exists(), "closing folds the log into the file");
}

#[tokio::test]
async fn a_caller_that_goes_away_does_not_take_its_row_back() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    // Somebody else holds the write lock, so the append cannot be done before its caller is gone.
    let sql = scratch.sql();
    sql.execute_batch("BEGIN IMMEDIATE").unwrap();
    {
        let mut append = std::pin::pin!(say(&scratch.store, "e1", "kept"));
        tokio::select! {
            biased;
            answer = &mut append => panic!("stored without the lock: {answer:?}"),
            () = std::future::ready(()) => {}
        }
    }
    sql.execute_batch("COMMIT").unwrap();
    // The next row queues behind it.
    assert_eq!(say(&scratch.store, "e2", "next").await.unwrap().seq, 2);
}

#[tokio::test]
async fn many_writers_at_once_leave_no_gaps() {
    let scratch = std::sync::Arc::new(Scratch::new());
    begun(&scratch.store).await;
    let appends: Vec<_> = (0..50)
        .map(|n| {
            let scratch = std::sync::Arc::clone(&scratch);
            tokio::spawn(async move { say(&scratch.store, &format!("e{n}"), "x").await.unwrap() })
        })
        .collect();
    for append in appends {
        append.await.unwrap();
    }
    let rows = scratch.store.rows(&main_agent(), &id("s1")).await.unwrap();
    assert_eq!(rows.len(), 51);
    assert_chain(&rows);
}

#[tokio::test]
async fn messages_keep_what_no_column_knows() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    let value = json!({"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
        {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a"}}, {"type": "hologram", "x": [1, 2]}],
        "usage": {"input": 3}, "stopReason": "toolUse", "timestamp": 6, "responseId": "r", "origin": "mirror"});
    let event = TranscriptEvent::Message { message: AgentMessage::from_value(value).unwrap() };
    scratch.store.append(row(&main_key(), "s1", "r1", "e1", event.clone())).await.unwrap();
    assert_eq!(scratch.store.rows(&main_agent(), &id("s1")).await.unwrap()[1].event, event);
}
