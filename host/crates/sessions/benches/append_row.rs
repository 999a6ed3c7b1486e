//! What a row costs: appending one with the sync policy in use, against a bare insert into a table of the same shape on the same
//! disk, and loading a session of 10,000 rows, against reading the same texts and parsing them. Both ratios are printed; they are
//! measured in turns, so that a disk that gets slower hurts both sides.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a bench reports to the terminal and may stop at the first fault")]
#![allow(missing_docs, reason = "criterion's macros make public items")]

use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use domain::message::AgentMessage;
use domain::session::{AppendRow, OpenSession, SessionStore, TranscriptEvent};
use domain::{AgentId, RunId, SessionId, SessionKey};
use rusqlite::{Connection, TransactionBehavior};
use sessions::{SqliteSessions, StateDir};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Rows of the long session.
const LONG: u64 = 10_000;

/// Turns of the comparison.
const TURNS: usize = 400;

fn event() -> TranscriptEvent {
    TranscriptEvent::Message { message: AgentMessage::user("word ".repeat(200), 1_782_898_200_250) }
}

fn key() -> SessionKey {
    SessionKey::main(&AgentId::main())
}

/// A store with a session that a run owns.
struct Store {
    _dir: TempDir,
    sessions: SqliteSessions,
    appended: u64,
}

impl Store {
    async fn new() -> Self {
        // Beside the build, not in a temporary directory, which may lie in memory.
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let sessions = SqliteSessions::new(StateDir::new(dir.path()));
        let open = OpenSession {
            key: key(),
            now: 1,
            new_id: SessionId::new("s"),
            fresh: false,
            interaction: true,
            cwd: "/work".to_owned(),
        };
        sessions.open(open).await.unwrap();
        sessions.begin_run(&key(), &SessionId::new("s"), &RunId::new("r"), 1).await.unwrap();
        Self { _dir: dir, sessions, appended: 0 }
    }

    async fn append(&mut self) {
        self.appended += 1;
        let row = AppendRow {
            key: key(),
            session_id: SessionId::new("s"),
            run_id: RunId::new("r"),
            event_id: format!("event-{}", self.appended),
            event: event(),
            now: 1,
            idempotency_key: None,
        };
        self.sessions.append(row).await.unwrap();
    }

    async fn load(&self) -> usize {
        self.sessions.rows(&AgentId::main(), &SessionId::new("s")).await.unwrap().len()
    }
}

/// A bare table with the same primary key, journal and sync policy.
struct Bare {
    _dir: TempDir,
    connection: Connection,
    appended: i64,
}

impl Bare {
    fn new() -> Self {
        let dir = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let connection = Connection::open(Path::new(dir.path()).join("bare.sqlite")).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.pragma_update(None, "synchronous", "full").unwrap();
        connection
            .execute_batch(
                "CREATE TABLE events (session_id TEXT, seq INTEGER, event_id TEXT, event_json TEXT,
                    PRIMARY KEY (session_id, seq), UNIQUE (session_id, event_id)) STRICT",
            )
            .unwrap();
        Self { _dir: dir, connection, appended: 0 }
    }

    fn append(&mut self) {
        self.appended += 1;
        let text = serde_json::to_string(&event()).unwrap();
        let tx = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        tx.prepare_cached("INSERT INTO events VALUES ('s', ?1, ?2, ?3)")
            .unwrap()
            .execute((self.appended, format!("event-{}", self.appended), text))
            .unwrap();
        tx.commit().unwrap();
    }

    fn load(&self) -> usize {
        let mut select =
            self.connection.prepare_cached("SELECT event_json FROM events WHERE session_id = 's' ORDER BY seq").unwrap();
        let mut rows = select.query([]).unwrap();
        let mut count = 0;
        while let Some(row) = rows.next().unwrap() {
            let value: serde_json::Value = serde_json::from_slice(row.get_ref(0).unwrap().as_bytes().unwrap()).unwrap();
            count += usize::from(value.is_object());
        }
        count
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    std::hint::black_box(work());
    start.elapsed()
}

fn compare(name: &str, turns: usize, mut ours: impl FnMut(), mut bare: impl FnMut()) {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..turns {
        a.push(timed(&mut ours));
        b.push(timed(&mut bare));
    }
    let (a, b) = (median(a), median(b));
    println!("{name}: {a:?}, bare {b:?}, ratio {:.2}", a.as_secs_f64() / b.as_secs_f64());
}

fn append_row(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let (mut store, mut bare) = (runtime.block_on(Store::new()), Bare::new());
    compare("append_row", TURNS, || runtime.block_on(store.append()), || bare.append());
    let mut group = criterion.benchmark_group("append_row");
    group.sample_size(20);
    group.bench_function("store", |bencher| bencher.iter(|| runtime.block_on(store.append())));
    group.bench_function("bare_insert", |bencher| bencher.iter(|| bare.append()));
    group.finish();
}

fn load_session(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let (mut store, mut bare) = (runtime.block_on(Store::new()), Bare::new());
    for _ in 0..LONG {
        runtime.block_on(store.append());
        bare.append();
    }
    compare("load_10000_rows", 20, || assert_eq!(runtime.block_on(store.load()), 10_001), || assert_eq!(bare.load(), 10_000));
    let mut group = criterion.benchmark_group("load_10000_rows");
    group.sample_size(10);
    group.bench_function("store", |bencher| bencher.iter(|| runtime.block_on(store.load())));
    group.bench_function("bare_select_and_parse", |bencher| bencher.iter(|| bare.load()));
    group.finish();
}

criterion_group!(benches, append_row, load_session);
criterion_main!(benches);
