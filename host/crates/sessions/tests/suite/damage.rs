//! Files that are not what they should be: each leads to an error that names the file and what to do, and never to a panic, a hang or
//! a change.

use std::fs;
use std::path::{Path, PathBuf};

use domain::session::{SessionStore, StoreError};
use rusqlite::Connection;

use crate::support::{Scratch, begun, database, id, main_agent, main_key, opening, say, store_in};

/// A scratch directory whose database file holds these bytes.
fn with_file(bytes: &[u8]) -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    let path = database(scratch.dir.path());
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    (scratch, path)
}

fn assert_names(error: &StoreError, path: &Path, part: &str) {
    let text = error.to_string();
    assert!(text.contains(&path.display().to_string()) && text.contains(part), "{text}");
}

#[tokio::test]
async fn garbage_is_refused_and_left_alone() {
    let garbage: Vec<u8> = (0..20_000u32).map(|n| (n * 7919 % 251) as u8).collect();
    let (scratch, path) = with_file(&garbage);
    let refused = scratch.store.open(opening(&main_key(), "s1", 1)).await.unwrap_err();
    assert_names(&refused, &path, "restore a backup");
    assert_eq!(fs::read(&path).unwrap(), garbage);
}

#[tokio::test]
async fn what_is_no_file_is_refused_at_once() {
    for (beside, kind) in [("", "a named pipe"), ("", "a directory"), ("-wal", "a named pipe"), ("-journal", "a directory")] {
        let mut scratch = Scratch::new();
        let path = database(scratch.dir.path());
        if beside.is_empty() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        } else {
            begun(&scratch.store).await;
            scratch.reopen().await;
        }
        let odd = PathBuf::from(format!("{}{beside}", path.display()));
        match kind {
            "a directory" => fs::create_dir(&odd).unwrap(),
            _ => assert!(std::process::Command::new("mkfifo").arg(&odd).status().unwrap().success()),
        }
        assert_eq!(scratch.store.agent_ids().await.unwrap(), [main_agent()], "it is not passed over");
        let refused = scratch.store.list(&main_agent()).await.unwrap_err();
        assert_names(&refused, &path, &format!(" is {kind}, not a file; move it away"));
        let named = if beside.is_empty() { "failed: it is".to_owned() } else { format!("failed: {} is", odd.display()) };
        assert!(refused.to_string().contains(&named), "{refused}");
    }
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let (scratch, path) = with_file(b"");
    assert_eq!(scratch.store.list(&main_agent()).await.unwrap(), []);
    begun(&scratch.store).await;
    assert!(fs::metadata(path).unwrap().len() > 0);
}

#[tokio::test]
async fn a_database_of_another_program_is_refused() {
    let (scratch, path) = with_file(b"");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE songs (title TEXT)").unwrap();
    let before = fs::read(&path).unwrap();
    let refused = scratch.store.open(opening(&main_key(), "s1", 1)).await.unwrap_err();
    assert_names(&refused, &path, "another program");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[tokio::test]
async fn the_database_of_another_agent_is_refused() {
    let mut scratch = Scratch::new();
    begun(&scratch.store).await;
    scratch.reopen().await;
    let moved = scratch.dir.path().join("agents/ops/agent/creel-agent.sqlite");
    fs::create_dir_all(moved.parent().unwrap()).unwrap();
    fs::copy(database(scratch.dir.path()), &moved).unwrap();
    let refused = scratch.store.list(&domain::AgentId::new("ops")).await.unwrap_err();
    assert_names(&refused, &moved, "belongs to agent `main`");
}

/// Every file of a directory with its bytes.
fn files_in(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = directory
        .read_dir()
        .unwrap()
        .map(|file| file.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn sessions_029_a_newer_database_is_refused_and_nothing_is_written() {
    for journal in ["delete", "wal"] {
        let mut scratch = Scratch::new();
        begun(&scratch.store).await;
        scratch.reopen().await;
        let path = database(scratch.dir.path());
        {
            let newer = Connection::open(&path).unwrap();
            newer.pragma_update(None, "journal_mode", journal).unwrap();
            newer.pragma_update(None, "user_version", 999).unwrap();
        }
        let before = files_in(path.parent().unwrap());
        for refused in [
            scratch.store.open(opening(&main_key(), "s2", 1)).await.map(drop).unwrap_err(),
            scratch.store.list(&main_agent()).await.map(drop).unwrap_err(),
        ] {
            assert_names(&refused, &path, "schema version 999");
            assert!(refused.to_string().contains("use the newer creel"), "{refused}");
        }
        assert!(files_in(path.parent().unwrap()) == before, "{journal}: the files changed");
    }
}

#[tokio::test]
async fn a_truncated_database_never_panics_and_never_invents_rows() {
    let mut scratch = Scratch::new();
    begun(&scratch.store).await;
    for n in 1..=60 {
        say(&scratch.store, &format!("e{n}"), &"long ".repeat(200)).await.unwrap();
    }
    let rows = scratch.store.rows(&main_agent(), &id("s1")).await.unwrap();
    scratch.reopen().await;
    let whole = fs::read(database(scratch.dir.path())).unwrap();
    let mut refused = 0;
    // From 2 on: SQLite takes an empty file, or one of a single byte, for a new database.
    for length in (2..whole.len()).step_by(1_111) {
        let (cut, path) = with_file(&whole[..length]);
        match cut.store.rows(&main_agent(), &id("s1")).await {
            Ok(found) => assert_eq!(found, rows, "{length}"),
            Err(error) => {
                refused += 1;
                assert_names(&error, &path, "");
            }
        }
    }
    assert!(refused > 10, "cutting must hurt: {refused}");
}

#[tokio::test]
async fn a_damaged_row_is_named_by_file_transcript_and_seq() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    for n in 1..=3 {
        say(&scratch.store, &format!("e{n}"), "x").await.unwrap();
    }
    let sql = scratch.sql();
    for bad in [
        "'{\"type\":\"message\",'",
        "'[]'",
        "'{\"type\":\"message\",\"message\":{\"content\":[]}}'",
        "'{\"type\":\"custom\"}'",
        "CAST(X'7bff7d' AS TEXT)",
    ] {
        sql.execute_batch(&format!("UPDATE transcript_events SET event_json = {bad} WHERE seq = 2")).unwrap();
        let error = scratch.store.rows(&main_agent(), &id("s1")).await.unwrap_err();
        assert!(matches!(&error, StoreError::Damaged { session_id, seq: 2, .. } if session_id == "s1"), "{error}");
        assert_names(&error, &database(scratch.dir.path()), "row 2 of transcript s1");
        // What does not touch the row still works.
        assert_eq!(scratch.store.tail(&main_agent(), &id("s1"), 1).await.unwrap().rows[0].id, "e3");
    }
    say(&scratch.store, "e4", "the session is not stuck").await.unwrap();
}

#[tokio::test]
async fn broken_links_are_named_and_cannot_run_in_circles() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    for n in 1..=3 {
        say(&scratch.store, &format!("e{n}"), "x").await.unwrap();
    }
    let sql = scratch.sql();
    for (parent, wrong) in [("e3", "a circle"), ("nobody", "a parent that is not there"), ("e2", "its own parent")] {
        sql.execute("UPDATE transcript_events SET parent_id = ?1 WHERE seq = 2", [parent]).unwrap();
        let error = scratch.store.rows(&main_agent(), &id("s1")).await.unwrap_err();
        assert!(matches!(error, StoreError::Damaged { seq: 2, .. }), "{wrong}: {error}");
    }
    sql.execute("UPDATE sessions SET leaf_entry_id = 'gone'", []).unwrap();
    let error = scratch.store.rows(&main_agent(), &id("s1")).await.unwrap_err();
    assert!(error.to_string().contains("`gone`"), "{error}");
}

#[tokio::test]
async fn a_damaged_entry_is_named() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    scratch.sql().execute("UPDATE session_entries SET entry_json = 'x'", []).unwrap();
    let error = scratch.store.entry(&main_key()).await.unwrap_err();
    assert_names(&error, &database(scratch.dir.path()), "entry of session `agent:main:main`");
}

#[tokio::test]
async fn a_state_directory_that_cannot_be_made_is_an_error() {
    let scratch = Scratch::new();
    let file = scratch.dir.path().join("file");
    fs::write(&file, "").unwrap();
    let store = store_in(&file);
    let error = store.open(opening(&main_key(), "s1", 1)).await.unwrap_err();
    assert_names(&error, &database(&file), "can be written");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_read_only_file_system_is_an_error() {
    let store = store_in(Path::new("/proc/self/creel"));
    let error = store.open(opening(&main_key(), "s1", 1)).await.unwrap_err();
    assert_names(&error, &database(Path::new("/proc/self/creel")), "can be written");
    assert_eq!(store.list(&main_agent()).await.unwrap(), []);
}

#[tokio::test]
async fn a_failed_open_is_tried_again() {
    let (scratch, path) = with_file(b"this is no database, but it will be replaced by one before long");
    assert!(scratch.store.open(opening(&main_key(), "s1", 1)).await.is_err());
    fs::remove_file(&path).unwrap();
    scratch.store.open(opening(&main_key(), "s1", 1)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stores_that_open_a_new_database_at_the_same_time_agree() {
    for _ in 0..10 {
        let scratch = Scratch::new();
        let root = scratch.dir.path().to_owned();
        let opens: Vec<_> = (0..4)
            .map(|n| {
                let store = store_in(&root);
                tokio::spawn(async move {
                    store.open(opening(&main_key(), &format!("s{n}"), 1)).await.map(|opened| opened.session_id)
                })
            })
            .collect();
        let mut ids = Vec::new();
        for open in opens {
            ids.push(open.await.unwrap().unwrap());
        }
        assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    }
}
