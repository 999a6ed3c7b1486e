//! `kill -9` of a host in the middle of a run: whatever the moment, the database opens, holds every row that the run had stored, and
//! takes the next message.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use domain::session::RunStatus;
use serde_json::json;
use system_tests::{Entry, PROBE, Turn, World, call, say};

use crate::script;

/// Tells the child process where its world is.
const DIRECTORY: &str = "CREEL_TEST_CRASH_DIRECTORY";
/// What the child writes before the number of stored messages that it knows of.
const STORED: &str = "stored messages: ";
/// Tool calls of the child's run.
const CALLS: usize = 4;

/// A run of some calls that then waits for its end.
fn turns() -> [Turn; CALLS + 1] {
    std::array::from_fn(|number| match number {
        CALLS => say("never").after_ms(600_000),
        number => call(PROBE, json!({ "says": format!("result {number}") })),
    })
}

/// The child: runs until it is killed, and says how many messages are stored each time when it knows.
#[tokio::test]
#[ignore = "a process of its own, started and killed by the test below"]
async fn child() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let world = World::at(Path::new(&directory)).plugin(script("watcher")).turns(turns());
    let host = world.start().await;
    let run = host.accept(host.request("go")).await.run();
    let tell = async {
        for request in 1..=CALLS + 1 {
            let asked = |entry: &Entry| matches!(entry, Entry::Requested(_));
            host.journal().wait_until(|entries| entries.iter().filter(|entry| asked(entry)).count() >= request).await;
            // A request is built from the rows that are stored.
            #[allow(clippy::print_stdout, reason = "the parent reads it")]
            {
                println!("{STORED}{}", host.requests()[request - 1].messages.len());
            }
        }
    };
    tokio::join!(run, tell);
}

struct Victim {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Victim {
    fn start(directory: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child", "--ignored", "--nocapture", "--test-threads=1"])
            .env(DIRECTORY, directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, lines }
    }

    /// Waits until it has said `reports` times what is stored, kills it, and gives the last number.
    fn kill_after(mut self, reports: usize) -> usize {
        let told = self.lines.by_ref().map_while(Result::ok).filter_map(|line| {
            let (_, number) = line.split_once(STORED)?;
            number.trim().parse().ok()
        });
        let stored = told.take(reports).last().expect("the child runs");
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        stored
    }
}

#[tokio::test]
async fn a_killed_host_leaves_all_stored_rows_and_a_session_that_goes_on() {
    for reports in 1..=CALLS + 1 {
        let directory = tempfile::tempdir().unwrap();
        let stored = Victim::start(directory.path()).kill_after(reports);

        let host = World::at(directory.path()).start().await;
        let rows = host.rows().await;
        assert!(rows.iter().enumerate().all(|(place, row)| row.seq == place as u64), "{rows:?}");
        let before = host.messages().await.len();
        assert!(before >= stored, "{before} of {stored} messages are left");
        assert_eq!(host.say("are you there").await.status, RunStatus::Done, "after {reports}");
        assert_eq!(host.messages().await.len(), before + 2);
    }
}
