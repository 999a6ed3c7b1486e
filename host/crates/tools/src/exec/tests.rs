//! The `exec` tool against real processes. That a process is gone is read from a named pipe: it ends when the last process that holds
//! it is dead, so nothing has to be waited out.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use domain::cancel::{Cancel, CancelReason};
use domain::tool::{NoProgress, Progress, ToolFailure, ToolResult};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::net::unix::pipe;

use super::*;
use crate::test_root::{TestRoot, call, call_with, text};

/// No test needs this long; it only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

fn tool() -> (TestRoot, ExecTool) {
    let test = TestRoot::new();
    let tool = ExecTool::new(test.root.clone(), ExecSettings::from_process());
    (test, tool)
}

/// A command whose grandchild ignores TERM and holds the pipe `alive` after it wrote a line into it.
const STUBBORN_GRANDCHILD: &str = "(trap '' TERM; exec 3>alive; echo up >&3; exec sleep 1000 >/dev/null 2>&1) & wait";

/// The pipe `alive`.
struct Alive(BufReader<pipe::Receiver>);

impl Alive {
    fn new(test: &TestRoot) -> Self {
        let path = test.path().join("alive");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        Self(BufReader::new(pipe::OpenOptions::new().open_receiver(path).unwrap()))
    }

    /// Waits until the process is there.
    async fn up(&mut self) {
        let mut line = String::new();
        while line.is_empty() {
            // Nobody has opened the other end yet: an end of file that is none.
            self.0.read_line(&mut line).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(line, "up\n");
    }

    /// Waits until no process holds the pipe any more.
    async fn gone(mut self) {
        let mut rest = Vec::new();
        tokio::time::timeout(PATIENCE, self.0.read_to_end(&mut rest))
            .await
            .expect("a process of the command is still alive")
            .unwrap();
    }
}

/// Remembers partial results and does something at the first.
struct OnFirst<F: Fn() + Send + Sync> {
    seen: Mutex<Vec<String>>,
    act: F,
}

impl<F: Fn() + Send + Sync> OnFirst<F> {
    fn new(act: F) -> Self {
        Self { seen: Mutex::default(), act }
    }
}

impl<F: Fn() + Send + Sync> Progress for OnFirst<F> {
    fn update(&self, partial: &ToolResult) {
        let mut seen = self.seen.lock().unwrap();
        seen.push(text(partial));
        if seen.len() == 1 {
            (self.act)();
        }
    }
}

#[tokio::test]
async fn output_of_both_streams_comes_in_order_with_the_exit_code() {
    let (_test, tool) = tool();
    let result = call(&tool, json!({"command": "echo one; echo two >&2; echo three; exit 3"})).await.unwrap();
    assert_eq!(text(&result), "one\ntwo\nthree\n[exit code 3]");
    let details = result.details.unwrap();
    assert_eq!((&details["exitCode"], &details["signal"], &details["outputBytes"]), (&json!(3), &json!(null), &json!(14)));
}

#[tokio::test]
async fn silence_signals_and_odd_bytes_are_put_into_words() {
    let (_test, tool) = tool();
    for (command, expected) in [
        ("true", "[no output]"),
        ("kill -9 $$", "[ended by signal SIGKILL]"),
        ("printf 'a\\377b'", "a\u{FFFD}b"),
        ("printf x; exit 1", "x\n[exit code 1]"),
    ] {
        assert_eq!(text(&call(&tool, json!({"command": command})).await.unwrap()), expected, "{command}");
    }
}

#[tokio::test]
async fn there_is_no_input_and_no_terminal() {
    let (_test, tool) = tool();
    let result = call(&tool, json!({"command": "cat; (exec </dev/tty) 2>/dev/null || echo none"})).await.unwrap();
    assert_eq!(text(&result), "none\n");
}

#[tokio::test]
async fn it_starts_in_the_workspace_or_a_directory_below() {
    let (test, tool) = tool();
    test.write("a/b/file", "");
    let inside = test.path().join("a");
    for (workdir, expected) in
        [(None, test.path().to_owned()), (Some("a/b"), test.path().join("a/b")), (inside.to_str(), inside.clone())]
    {
        let result = call(&tool, json!({"command": "pwd", "workdir": workdir})).await.unwrap();
        assert_eq!(text(&result), format!("{}\n", expected.display()));
    }
}

#[tokio::test]
async fn it_starts_nowhere_else() {
    let (test, tool) = tool();
    test.write("file", "");
    std::os::unix::fs::symlink("/tmp", test.path().join("link")).unwrap();
    for (workdir, reason) in [
        ("..", "outside the workspace"),
        ("/tmp", "outside the workspace"),
        ("link", "outside the workspace"),
        ("file", "not a directory"),
        ("gone", "does not exist"),
    ] {
        let error = call(&tool, json!({"command": "pwd", "workdir": workdir})).await.unwrap_err();
        assert!(error.to_string().contains(reason), "{workdir}: {error}");
    }
}

#[tokio::test]
async fn keys_of_the_host_stay_behind_and_the_overlay_arrives() {
    let test = TestRoot::new();
    let host = [("PATH", "/usr/bin:/bin"), ("OPENAI_API_KEY", "sk-secret"), ("LC_TIME", "C")];
    let variables = inherited(host.map(|(name, value)| (name.into(), value.into())));
    let tool = ExecTool::new(test.root.clone(), ExecSettings { timeout: None, variables });
    let overlay = BTreeMap::from([("FROM_PLUGIN".to_owned(), "yes".to_owned())]);
    let result = call_with(&tool, json!({"command": "env"}), &overlay, &Cancel::default(), &NoProgress).await.unwrap();
    let text = text(&result);
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split('=').next())
        .filter(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name))
        .collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["FROM_PLUGIN", "LC_TIME", "PATH"]);
}

#[tokio::test]
async fn a_flood_keeps_beginning_and_end() {
    let (_test, tool) = tool();
    let result = call(&tool, json!({"command": "echo begin; yes | head -c 20000000; echo end"})).await.unwrap();
    let text = text(&result);
    assert!(text.starts_with("begin\ny\n") && text.ends_with("end\n"));
    assert!(text.len() < KEPT_HEAD_BYTES + KEPT_TAIL_BYTES + 100, "{}", text.len());
    let details = result.details.unwrap();
    assert_eq!((&details["truncated"], &details["outputBytes"]), (&json!(true), &json!(20_000_010)));
}

#[tokio::test]
async fn a_flood_without_end_does_not_hide_a_cancel() {
    let (_test, tool) = tool();
    let cancel = Cancel::default();
    let progress = OnFirst::new(|| cancel.cancel(CancelReason::User));
    let result = call_with(&tool, json!({"command": "yes"}), &BTreeMap::new(), &cancel, &progress).await;
    assert!(matches!(&result, Err(ToolFailure::AbortedWith(told)) if told.contains("\ny\ny\n")), "{result:?}");
}

#[tokio::test]
async fn a_command_that_ignores_term_is_killed_with_its_children_when_time_is_up() {
    let (test, tool) = tool();
    let alive = Alive::new(&test);
    // From its first output on, time jumps whenever nothing else happens: to the limit, then through the grace.
    let progress = OnFirst::new(tokio::time::pause);
    let command = "trap '' TERM; (exec 3>alive; echo ready; exec sleep 1000) & wait";
    let result = call_with(&tool, json!({"command": command}), &BTreeMap::new(), &Cancel::default(), &progress).await;
    let Err(ToolFailure::TimedOut(told)) = result else { panic!("{result:?}") };
    assert!(told.contains("its limit of 1800 s") && told.ends_with("Output until then:\nready\n"), "{told}");
    tokio::time::resume();
    alive.gone().await;
}

#[tokio::test]
async fn a_command_that_heeds_term_may_clean_up() {
    let (test, tool) = tool();
    let cancel = Cancel::default();
    let progress = OnFirst::new(|| cancel.cancel(CancelReason::User));
    let command = "trap 'echo cleaned > done; echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done";
    let result = call_with(&tool, json!({"command": command}), &BTreeMap::new(), &cancel, &progress).await;
    assert_eq!(test.read("done"), "cleaned\n");
    let told = result.unwrap_err();
    assert_eq!(told.to_string(), "the operation was aborted. Output until then:\nready\nbye\n");
    assert_eq!(told.outcome(), domain::tool::ToolOutcome::Aborted);
}

/// What the executor is told is what supervision takes at most, so that neither cuts the other short.
#[tokio::test]
async fn a_command_that_ignores_term_ends_within_the_declared_grace() {
    let (test, tool) = tool();
    let alive = Alive::new(&test);
    let cancel = Cancel::default();
    let asked = Mutex::new(None);
    let progress = OnFirst::new(|| {
        tokio::time::pause();
        *asked.lock().unwrap() = Some(Instant::now());
        cancel.cancel(CancelReason::User);
    });
    let command = "trap '' TERM; (exec 3>alive; echo ready; exec sleep 1000) & wait";
    let result = call_with(&tool, json!({"command": command}), &BTreeMap::new(), &cancel, &progress).await;
    let took = asked.lock().unwrap().unwrap().elapsed();
    // Each timer of the runtime is rounded up to the next millisecond; what the executor adds is far more.
    assert!(took >= STOP_GRACE && took <= tool.stop_grace() + Duration::from_millis(10), "{took:?}");
    assert_eq!(result, Err(ToolFailure::AbortedWith("Output until then:\nready\n".to_owned())));
    tokio::time::resume();
    alive.gone().await;
}

#[tokio::test]
async fn cancelling_ends_grandchildren_that_ignore_term() {
    let (test, tool) = tool();
    let mut alive = Alive::new(&test);
    let cancel = Cancel::default();
    let (env, params) = (BTreeMap::new(), json!({"command": STUBBORN_GRANDCHILD}));
    let (result, ()) = tokio::join!(call_with(&tool, params, &env, &cancel, &NoProgress), async {
        alive.up().await;
        cancel.cancel(CancelReason::User);
    });
    assert_eq!(result, Err(ToolFailure::Aborted));
    alive.gone().await;
}

#[tokio::test]
async fn dropping_the_call_ends_grandchildren_at_once() {
    let (test, tool) = tool();
    let mut alive = Alive::new(&test);
    tokio::select! {
        result = call(&tool, json!({"command": STUBBORN_GRANDCHILD})) => panic!("{result:?}"),
        () = alive.up() => {}
    }
    alive.gone().await;
}

#[tokio::test]
async fn what_a_command_leaves_behind_is_ended_and_told() {
    let (test, tool) = tool();
    let alive = Alive::new(&test);
    // The shell ends only after the other process holds the pipe.
    let command = "(exec 3>alive; echo started; touch held; exec sleep 1000) & until [ -e held ]; do sleep 0.01; done";
    let result = call(&tool, json!({"command": command})).await.unwrap();
    assert_eq!(text(&result), "started\n[processes that the command left behind were ended]");
    alive.gone().await;
}

#[tokio::test]
async fn a_call_that_was_cancelled_before_starts_nothing() {
    let (test, tool) = tool();
    let cancel = Cancel::default();
    cancel.cancel(CancelReason::Shutdown);
    let result = call_with(&tool, json!({"command": "touch made"}), &BTreeMap::new(), &cancel, &NoProgress).await;
    assert_eq!(result, Err(ToolFailure::Aborted));
    assert!(!test.path().join("made").exists());
}

#[tokio::test]
async fn partial_results_are_throttled() {
    let (_test, tool) = tool();
    let progress = OnFirst::new(|| ());
    // Prints in many small writes; how long that takes depends on the machine, so the bound is taken from the measured time.
    let params = json!({"command": "i=0; while [ $i -lt 2000 ]; do echo $i; i=$((i+1)); done"});
    let result = call_with(&tool, params, &BTreeMap::new(), &Cancel::default(), &progress).await.unwrap();
    let took = result.details.unwrap()["durationMs"].as_u64().unwrap();
    let seen = progress.seen.lock().unwrap();
    let most = took / u64::try_from(PROGRESS_INTERVAL.as_millis()).unwrap() + 2;
    assert!(!seen.is_empty() && seen.len() as u64 <= most, "{} updates in {took} ms", seen.len());
}

#[test]
fn limits_are_the_calls_own_then_the_settings() {
    let (_test, tool) = tool();
    assert_eq!(tool.limit(None), Some(DEFAULT_TIMEOUT));
    assert_eq!(tool.limit(Some(5)), Some(Duration::from_secs(5)));
    assert_eq!(tool.limit(Some(0)), None);
    assert_eq!(tool.limit(Some(u64::MAX)), Some(Duration::from_secs(MAX_TIMEOUT_SEC)));
}

#[tokio::test]
async fn a_command_that_cannot_start_is_a_failure() {
    let (_test, tool) = tool();
    let error = call(&tool, json!({"command": "a\0b"})).await.unwrap_err();
    assert!(matches!(error, ToolFailure::Failed(_)), "{error}");
    let error = call(&tool, json!({"command": "x".repeat(3_000_000)})).await.unwrap_err();
    assert!(error.to_string().contains("could not be run"), "{error}");
}
