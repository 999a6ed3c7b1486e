//! `kill -9` at any moment: what was acknowledged is there, and the files open. Each round kills another process, after a number of
//! acknowledged rows and a spin that both come from a seed, so that the kill lands anywhere inside a later commit.

use std::sync::Arc;

use domain::ids::PluginId;
use domain::ports::{KvLimits, PluginKv};
use domain::session::{SessionStore, StoreError, TranscriptEvent};
use domain::test_support::FakeClock;
use sessions::{SqlitePluginKv, StateDir};
use tempfile::TempDir;

use crate::support::{
    ChildProcess, Seeded, assert_chain, child, database, id, main_agent, main_key, message, opening, report, row, run, store_in,
};

const ROUNDS: u64 = 36;
const QUOTA: KvLimits = KvLimits { max_bytes: 1_000_000, max_keys: 1_000 };

fn kv_in(root: &std::path::Path) -> SqlitePluginKv {
    SqlitePluginKv::new(&StateDir::new(root), Arc::new(FakeClock::at(1)))
}

/// Another process: takes over the session, then appends rows of many sizes and counts them, and reports each one that it was told is
/// stored.
#[tokio::test]
async fn child_that_appends_until_it_is_killed() {
    let Some(root) = child() else { return };
    report("opening");
    let (store, kv) = (store_in(&root), kv_in(&root));
    store.open(opening(&main_key(), "s1", 1)).await.unwrap();
    let first = store.rows(&main_agent(), &id("s1")).await.unwrap().len() as u64;
    let run_id = format!("run from {first}");
    store.begin_run(&main_key(), &id("s1"), &run(&run_id), 1).await.unwrap();
    let mut sizes = Seeded::new(first);
    for seq in first.. {
        let text = "x".repeat(sizes.below(40_000) as usize);
        let stored = store.append(row(&main_key(), "s1", &run_id, &format!("e{seq}"), message(&text))).await.unwrap();
        report(&format!("row {} {}", stored.seq, text.len()));
        report(&format!("count {}", kv.increment(&PluginId::new("p"), "rows", 1, QUOTA).await.unwrap()));
    }
}

fn spin(turns: u64) {
    for _ in 0..turns {
        std::hint::spin_loop();
    }
}

/// Checks the files as SQLite sees them.
fn assert_sound(path: &std::path::Path) {
    let sql = rusqlite::Connection::open(path).unwrap();
    let verdict: String = sql.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let dangling: i64 = sql.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
    assert_eq!(dangling, 0);
}

/// Sizes of the texts that were acknowledged, and the last acknowledged count.
#[derive(Default)]
struct Acknowledged {
    rows: Vec<(u64, usize)>,
    count: i64,
}

impl Acknowledged {
    fn note(&mut self, report: &str) {
        let numbers: Vec<u64> = report.split(' ').skip(1).map(|number| number.parse().unwrap()).collect();
        match (report.split(' ').next(), numbers.as_slice()) {
            (Some("row"), [seq, size]) => self.rows.push((*seq, *size as usize)),
            (Some("count"), [count]) => self.count = *count as i64,
            _ => assert_eq!(report, "opening"),
        }
    }
}

async fn assert_nothing_lost(root: &std::path::Path, acknowledged: &Acknowledged, before: &[(u64, usize)]) -> Vec<(u64, usize)> {
    let rows = store_in(root).rows(&main_agent(), &id("s1")).await.unwrap();
    assert_chain(&rows);
    let sizes: Vec<_> = rows[1..]
        .iter()
        .map(|row| match &row.event {
            TranscriptEvent::Message { message } => (row.seq, message.text().len()),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [before, &acknowledged.rows].concat();
    assert_eq!(sizes[..expected.len()], expected, "an acknowledged row is missing or changed");
    assert!(sizes.len() <= expected.len() + 1, "only the row that was being written may be there besides");
    sizes
}

#[tokio::test]
async fn a_kill_loses_nothing_that_was_acknowledged() {
    let root = TempDir::new().unwrap();
    let mut random = Seeded::new(20_260_701);
    let (mut before, mut count) = (Vec::new(), 0);
    for round in 0..ROUNDS {
        let mut child = ChildProcess::start("crash::child_that_appends_until_it_is_killed", root.path());
        let mut acknowledged = Acknowledged { count, ..Acknowledged::default() };
        for _ in 0..random.below(40) + 2 {
            acknowledged.note(&child.report().unwrap_or_else(|| panic!("round {round}: the child ended")));
        }
        spin(random.below(200_000));
        for report in child.kill() {
            acknowledged.note(&report);
        }
        assert_sound(&database(root.path()));
        before = assert_nothing_lost(root.path(), &acknowledged, &before).await;
        let kv = kv_in(root.path());
        let stored = kv.increment(&PluginId::new("p"), "rows", 0, QUOTA).await.unwrap();
        assert!((acknowledged.count..=acknowledged.count + 1).contains(&stored), "{stored} of {}", acknowledged.count);
        count = stored;
    }
    assert!(before.len() as u64 > ROUNDS, "the rounds must have written something");
}

#[tokio::test]
async fn a_kill_while_the_database_is_made_leaves_nothing_in_the_way() {
    let mut random = Seeded::new(7);
    for round in 0..24 {
        let root = TempDir::new().unwrap();
        let mut child = ChildProcess::start("crash::child_that_appends_until_it_is_killed", root.path());
        assert_eq!(child.report().as_deref(), Some("opening"), "round {round}");
        spin(random.below(400_000));
        let mut acknowledged = Acknowledged::default();
        for report in child.kill() {
            acknowledged.note(&report);
        }
        let store = store_in(root.path());
        match store.rows(&main_agent(), &id("s1")).await {
            Ok(_) => drop(assert_nothing_lost(root.path(), &acknowledged, &[]).await),
            Err(StoreError::NotFound(_)) => assert_eq!(acknowledged.rows, []),
            Err(error) => panic!("round {round}: {error}"),
        }
        let opened = store.open(opening(&main_key(), "s1", 1)).await.unwrap();
        store.begin_run(&main_key(), &opened.session_id, &run("next"), 2).await.unwrap();
        let next = store.append(row(&main_key(), "s1", "next", "next", message("goes on"))).await.unwrap();
        assert!(next.seq >= 1);
        assert_sound(&database(root.path()));
    }
}
