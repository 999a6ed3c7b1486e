//! Who may write to a session: one run at a time, and never a run that lost it (sessions 3.6).

use domain::session::{OpenSession, RunStatus, SessionStore, StoreError};

use crate::support::{
    ChildProcess, Scratch, begun, child, id, main_agent, main_key, message, opening, report, row, run, say, store_in, summary,
};

#[tokio::test]
async fn a_session_has_one_writer() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    let busy = scratch.store.begin_run(&main_key(), &id("s1"), &run("r2"), 200).await.unwrap_err();
    let StoreError::Busy { holder, .. } = &busy else { panic!("{busy}") };
    let pid = std::process::id();
    assert_eq!(holder, &format!("r1 (process {pid}, since 1970-01-01T00:00:00.100Z)"));
    let other = scratch.store.append(row(&main_key(), "s1", "r2", "e1", message("x"))).await.unwrap_err();
    assert!(matches!(other, StoreError::Fenced { .. }), "{other}");
    // The owner may ask again.
    scratch.store.begin_run(&main_key(), &id("s1"), &run("r1"), 300).await.unwrap();
    say(&scratch.store, "e1", "mine").await.unwrap();
}

#[tokio::test]
async fn a_run_that_ended_writes_no_more() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    scratch.store.end_run(&main_key(), &run("r1"), summary(RunStatus::Killed, 200)).await.unwrap();
    let late = say(&scratch.store, "e1", "late").await.unwrap_err();
    assert!(matches!(late, StoreError::Fenced { .. }), "{late}");
    assert_eq!(scratch.store.rows(&main_agent(), &id("s1")).await.unwrap().len(), 1);

    scratch.store.begin_run(&main_key(), &id("s1"), &run("r2"), 300).await.unwrap();
    scratch.store.end_run(&main_key(), &run("r1"), summary(RunStatus::Failed, 400)).await.unwrap();
    let entry = scratch.store.entry(&main_key()).await.unwrap().unwrap();
    assert_eq!(entry.status, Some(RunStatus::Running), "a run that does not own the session cannot end it");
    assert!(matches!(say(&scratch.store, "e1", "late").await, Err(StoreError::Fenced { .. })));
}

#[tokio::test]
async fn a_run_id_of_another_store_is_another_run() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    let other = scratch.second_store();
    assert!(matches!(say(&other, "e1", "x").await, Err(StoreError::Fenced { .. })));
    assert!(matches!(other.begin_run(&main_key(), &id("s1"), &run("r1"), 200).await, Err(StoreError::Busy { .. })));
    other.end_run(&main_key(), &run("r1"), summary(RunStatus::Done, 300)).await.unwrap();
    say(&scratch.store, "e1", "still mine").await.unwrap();
}

#[tokio::test]
async fn a_session_moves_on_only_when_no_run_works() {
    let scratch = Scratch::new();
    begun(&scratch.store).await;
    let fresh = OpenSession { fresh: true, ..opening(&main_key(), "s2", 200) };
    assert!(matches!(scratch.store.open(fresh.clone()).await, Err(StoreError::Busy { .. })));
    scratch.store.end_run(&main_key(), &run("r1"), summary(RunStatus::Done, 300)).await.unwrap();
    scratch.store.open(fresh).await.unwrap();
    // A run that was about to begin with the old transcript comes too late.
    let stale = scratch.store.begin_run(&main_key(), &id("s1"), &run("r2"), 400).await.unwrap_err();
    assert!(matches!(stale, StoreError::Fenced { .. }), "{stale}");
    scratch.store.begin_run(&main_key(), &id("s2"), &run("r2"), 400).await.unwrap();
    let old = scratch.store.append(row(&main_key(), "s1", "r2", "e1", message("x"))).await.unwrap_err();
    assert!(matches!(old, StoreError::Fenced { .. }), "{old}");
}

#[tokio::test]
async fn a_session_that_does_not_exist_cannot_be_begun() {
    let scratch = Scratch::new();
    let missing = scratch.store.begin_run(&main_key(), &id("s1"), &run("r1"), 1).await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound(_)), "{missing}");
    scratch.store.end_run(&main_key(), &run("r1"), summary(RunStatus::Done, 2)).await.unwrap();
}

#[tokio::test]
async fn what_a_dropped_store_held_is_free_in_the_same_process() {
    let mut scratch = Scratch::new();
    begun(&scratch.store).await;
    say(&scratch.store, "e1", "before").await.unwrap();
    let later = scratch.second_store();
    let earlier = std::mem::replace(&mut scratch.store, later);
    let begin = async || scratch.store.begin_run(&main_key(), &id("s1"), &run("r2"), 200).await;
    assert!(matches!(begin().await, Err(StoreError::Busy { .. })));
    earlier.close().await;
    drop(earlier);
    let entry = scratch.store.entry(&main_key()).await.unwrap().unwrap();
    assert_eq!(entry.status, Some(RunStatus::Killed), "nobody was left to write that down");
    begin().await.unwrap();
}

/// Another process that owns the main session until it is killed.
#[tokio::test]
async fn child_that_owns_the_session() {
    let Some(root) = child() else { return };
    let store = store_in(&root);
    begun(&store).await;
    say(&store, "e1", "from the child").await.unwrap();
    report("owns");
    // Ends with the parent.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[tokio::test]
async fn a_live_process_keeps_its_session_and_a_dead_one_loses_it() {
    let scratch = Scratch::new();
    let mut owner = ChildProcess::start("fence::child_that_owns_the_session", scratch.dir.path());
    assert_eq!(owner.report().as_deref(), Some("owns"));
    let begin = async || scratch.store.begin_run(&main_key(), &id("s1"), &run("r2"), 200).await;
    let busy = begin().await.unwrap_err().to_string();
    assert!(busy.contains(&format!("run r1 (process {}", owner.pid())), "{busy}");
    let entry = scratch.store.entry(&main_key()).await.unwrap().unwrap();
    assert_eq!(entry.status, Some(RunStatus::Running));

    owner.kill();
    assert_eq!(scratch.store.entry(&main_key()).await.unwrap().unwrap().status, Some(RunStatus::Killed));
    begin().await.unwrap();
    let next = scratch.store.append(row(&main_key(), "s1", "r2", "e2", message("taken over"))).await.unwrap();
    assert_eq!((next.seq, next.parent_id.as_deref()), (2, Some("e1")));
}
