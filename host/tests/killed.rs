//! `kill -9` of the binary in the middle of a run: the database opens, holds every row that was stored, and takes the next message.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// Tool calls of the run.
const CALLS: usize = 3;
/// A bound for what hangs; a test that passes never reaches it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A state directory whose model calls a command again and again. Each command says through a pipe that it runs.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.workspace()).unwrap();
        let made = Command::new("mkfifo").arg(place.pipe()).status().unwrap();
        assert!(made.success());
        let call = json!({ "play": [{ "call": { "name": "exec", "arguments": { "command": "echo here > pipe" } } }] });
        let last = json!({ "play": [{ "pauseMs": 600_000 }] });
        let turns: Vec<Value> = std::iter::repeat_n(call, CALLS).chain([last]).collect();
        fs::write(place.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
        let config = json!({
            "agents": { "defaults": { "workspace": place.workspace(), "skipBootstrap": true, "model": "offline/script" } },
            "models": { "providers": { "offline": { "script": "script.json" } } },
        });
        fs::write(place.path().join("creel.json"), config.to_string()).unwrap();
        place
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn workspace(&self) -> PathBuf {
        self.path().join("workspace")
    }

    fn pipe(&self) -> PathBuf {
        self.workspace().join("pipe")
    }

    fn creel(&self, arguments: &[&str]) -> Command {
        let mut creel = Command::new(env!("CARGO_BIN_EXE_creel"));
        creel.args(arguments).env("CREEL_STATE_DIR", self.path()).env_remove("CREEL_CONFIG_PATH").stdin(Stdio::null());
        creel
    }

    fn start(&self) -> Child {
        self.creel(&["agent", "--message", "go"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Hears once from each command.
    fn listen(&self) -> Receiver<()> {
        let (sender, receiver) = channel();
        let pipe = self.pipe();
        // The pipe ends with each command, unless the next one has opened it by then.
        thread::spawn(move || {
            while let Ok(pipe) = File::open(&pipe) {
                if BufReader::new(pipe).lines().any(|_| sender.send(()).is_err()) {
                    return;
                }
            }
        });
        receiver
    }

    fn rows(&self) -> Vec<Value> {
        let output = self.creel(&["sessions", "export"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

fn count(rows: &[Value], role: &str) -> usize {
    rows.iter().filter(|row| row["message"]["role"] == role).count()
}

#[test]
fn a_killed_process_leaves_all_stored_rows_and_a_session_that_goes_on() {
    for calls in 1..=CALLS {
        let place = Place::new();
        let heard = place.listen();
        let mut process = place.start();
        for _ in 0..calls {
            heard.recv_timeout(PATIENCE).expect("the run reaches its commands");
        }
        process.kill().unwrap();
        process.wait().unwrap();

        // A command runs when the answer that asks for it, and the result of the one before, are stored.
        let rows = place.rows();
        assert_eq!(count(&rows, "user"), 1, "{rows:?}");
        assert!(count(&rows, "assistant") >= calls && count(&rows, "toolResult") >= calls - 1, "{calls}: {rows:?}");

        let again = place.creel(&["agent", "--message", "are you there", "--model", "offline/echo"]).output().unwrap();
        assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
        assert_eq!(count(&place.rows(), "user"), 2);
    }
}
