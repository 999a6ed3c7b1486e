//! What the tests share: a store in a scratch directory, short ways to make rows, and child processes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use domain::message::AgentMessage;
use domain::session::{
    AppendRow, OpenSession, OpenedSession, RunStatus, RunSummary, SessionStore, StoreError, TranscriptEvent, TranscriptRow,
};
use domain::{AgentId, RunId, SessionId, SessionKey};
use rusqlite::Connection;
use sessions::{SqliteSessions, StateDir};
use tempfile::TempDir;

/// A store in a directory of its own.
pub(crate) struct Scratch {
    pub(crate) dir: TempDir,
    pub(crate) store: SqliteSessions,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let store = store_in(dir.path());
        Self { dir, store }
    }

    /// A second store on the same files, as another process would have it.
    pub(crate) fn second_store(&self) -> SqliteSessions {
        store_in(self.dir.path())
    }

    /// Closes the store and opens its files again.
    pub(crate) async fn reopen(&mut self) {
        self.store.close().await;
        self.store = store_in(self.dir.path());
    }

    /// The database behind the store's back.
    pub(crate) fn sql(&self) -> Connection {
        Connection::open(database(self.dir.path())).unwrap()
    }
}

pub(crate) fn store_in(root: &Path) -> SqliteSessions {
    SqliteSessions::new(StateDir::new(root))
}

pub(crate) fn database(root: &Path) -> std::path::PathBuf {
    StateDir::new(root).agent_database(&main_agent()).unwrap()
}

pub(crate) fn main_agent() -> AgentId {
    AgentId::main()
}

pub(crate) fn main_key() -> SessionKey {
    SessionKey::main(&main_agent())
}

pub(crate) fn key(text: &str) -> SessionKey {
    SessionKey::parse(text, None, &main_agent()).unwrap()
}

pub(crate) fn id(text: &str) -> SessionId {
    SessionId::new(text)
}

pub(crate) fn run(text: &str) -> RunId {
    RunId::new(text)
}

pub(crate) fn opening(key: &SessionKey, new_id: &str, now: u64) -> OpenSession {
    OpenSession { key: key.clone(), now, new_id: id(new_id), fresh: false, interaction: true, cwd: "/work".to_owned() }
}

pub(crate) fn message(text: &str) -> TranscriptEvent {
    TranscriptEvent::Message { message: AgentMessage::user(text, 1) }
}

pub(crate) fn row(key: &SessionKey, session: &str, run: &str, event_id: &str, event: TranscriptEvent) -> AppendRow {
    AppendRow {
        key: key.clone(),
        session_id: id(session),
        run_id: RunId::new(run),
        event_id: event_id.to_owned(),
        event,
        now: 1_000,
        idempotency_key: None,
    }
}

pub(crate) fn summary(status: RunStatus, now: u64) -> RunSummary {
    RunSummary { status, input_tokens: 0, output_tokens: 0, provider: None, model: None, now }
}

/// Opens the main session with the transcript `s1` and gives it to run `r1`.
pub(crate) async fn begun(store: &SqliteSessions) -> OpenedSession {
    let opened = store.open(opening(&main_key(), "s1", 100)).await.unwrap();
    store.begin_run(&main_key(), &opened.session_id, &run("r1"), 100).await.unwrap();
    opened
}

/// Appends a user message as run `r1` of the main session.
pub(crate) async fn say(store: &SqliteSessions, event_id: &str, text: &str) -> Result<TranscriptRow, StoreError> {
    store.append(row(&main_key(), "s1", "r1", event_id, message(text))).await
}

/// Asserts what must hold of every transcript: `seq` without gaps from the header on, each row below the one before it.
pub(crate) fn assert_chain(rows: &[TranscriptRow]) {
    assert!(matches!(rows[0].event, TranscriptEvent::Session { .. }));
    for (seq, row) in rows.iter().enumerate() {
        assert_eq!(row.seq, seq as u64);
        assert_eq!(row.parent_id.as_ref(), seq.checked_sub(1).map(|before| &rows[before].id));
    }
}

/// Numbers that look random and are the same in every run of a test.
pub(crate) struct Seeded(u64);

impl Seeded {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `bound` (SplitMix64).
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// This test binary again, running one test that acts as another process. Reports by lines on its standard output, and goes on until
/// it is killed or its standard input ends.
pub(crate) struct ChildProcess {
    child: Child,
    lines: BufReader<ChildStdout>,
    _stdin: ChildStdin,
}

/// Where a child process finds its state directory; unset in ordinary tests.
const CHILD_DIR: &str = "CREEL_TEST_CHILD_DIR";

/// What each line of a report begins with; the test harness prints lines of its own.
const REPORT: &str = "report: ";

impl ChildProcess {
    pub(crate) fn start(test: &str, root: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(CHILD_DIR, root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let stdin = child.stdin.take().unwrap();
        Self { child, lines, _stdin: stdin }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next report; none when the child has ended.
    pub(crate) fn report(&mut self) -> Option<String> {
        let mut line = String::new();
        while self.lines.read_line(&mut line).unwrap() > 0 {
            // A line that was cut by the end of the child reports nothing.
            if let Some(report) = line.strip_suffix('\n').and_then(|line| line.strip_prefix(REPORT)) {
                return Some(report.to_owned());
            }
            line.clear();
        }
        None
    }

    /// Kills it as `kill -9` does and returns what it had reported and nobody had read.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        let rest = std::iter::from_fn(|| self.report()).collect();
        let status = self.child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "the child ended by itself: {status}");
        rest
    }
}

/// The state directory, if this process is a child.
pub(crate) fn child() -> Option<std::path::PathBuf> {
    std::env::var_os(CHILD_DIR).map(Into::into)
}

/// Reports a line to the parent process.
pub(crate) fn report(line: &str) {
    let mut out = std::io::stdout().lock();
    // The harness leaves its own line unfinished.
    out.write_all(format!("\n{REPORT}{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}
