//! The `exec` tool: runs a shell command in the workspace. What a command may do is decided before it gets here, by policy, hooks and
//! approvals; this file only makes sure that it ends, that nothing of it goes on afterwards, and that what it prints stays bounded.
//! The working directory starts in the workspace, but a command can go where the host's user can.

mod capture;
mod environment;
mod process;
mod supervise;
#[cfg(test)]
mod tests;

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use async_trait::async_trait;
use domain::tool::{Invocation, Tool, ToolFailure, ToolOwner, ToolResult, ToolSpec};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

pub use capture::{KEPT_HEAD_BYTES, KEPT_TAIL_BYTES};
pub use environment::{INHERITED_VARIABLES, Variables, inherited};
pub use supervise::{DRAIN_GRACE, KILL_GRACE, PROGRESS_INTERVAL, STOP_GRACE};

use crate::params;
use crate::root::Root;
use supervise::{Ending, Outcome};

/// Time limit of a command when nothing else is said (agent-loop 14.7).
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1800);
/// Largest time limit that a call can ask for, seconds: a week. Longer is meant as none, and 0 says that.
pub const MAX_TIMEOUT_SEC: u64 = 7 * 24 * 60 * 60;

/// What the host decides for all commands.
#[derive(Debug, Clone)]
pub struct ExecSettings {
    /// Time limit of a command that asks for none (`tools.exec.timeoutSec`); none: it may run as long as the run.
    pub timeout: Option<Duration>,
    /// Variables that every command gets, see [`inherited`].
    pub variables: Variables,
}

impl ExecSettings {
    /// The defaults, with what commands inherit of this process's environment.
    pub fn from_process() -> Self {
        Self { timeout: Some(DEFAULT_TIMEOUT), variables: inherited(std::env::vars_os()) }
    }
}

/// Runs shell commands.
pub struct ExecTool {
    root: Root,
    settings: ExecSettings,
    spec: ToolSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    command: &'a str,
    workdir: Option<&'a str>,
    timeout_sec: Option<u64>,
}

impl ExecTool {
    /// A tool that runs commands which start below `root`.
    pub fn new(root: Root, settings: ExecSettings) -> Self {
        Self { root, settings, spec: spec() }
    }

    fn limit(&self, asked_sec: Option<u64>) -> Option<Duration> {
        match asked_sec {
            Some(0) => None,
            Some(seconds) => Some(Duration::from_secs(seconds.min(MAX_TIMEOUT_SEC))),
            None => self.settings.timeout,
        }
    }

    fn directory(&self, workdir: Option<&str>) -> Result<PathBuf, ToolFailure> {
        let Some(given) = workdir else { return Ok(self.root.path().to_owned()) };
        let explain = |error: std::io::Error| self.root.explain(given, &error);
        let inside = self.root.dir().canonicalize(self.root.relative(given)?).map_err(explain)?;
        if self.root.dir().metadata(&inside).map_err(explain)?.is_dir() {
            Ok(self.root.path().join(inside))
        } else {
            Err(ToolFailure::Invalid(format!("`{given}` is not a directory, so no command can start there")))
        }
    }

    fn variables(&self, overlay: &std::collections::BTreeMap<String, String>) -> Variables {
        let mut variables = self.settings.variables.clone();
        variables.extend(overlay.iter().map(|(name, value)| (name.into(), value.into())));
        variables
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "exec".to_owned(),
        label: "Exec".to_owned(),
        description: format!(
            "Runs a shell command (`/bin/sh -c`) in the workspace and returns what it prints and its exit code. It has no terminal \
             and no input. Processes that it leaves behind are ended with it. Of long output the first {} KB and the last {} KB are \
             kept.",
            KEPT_HEAD_BYTES / 1024,
            KEPT_TAIL_BYTES / 1024
        ),
        parameters: json!({
            "type": "object",
            "properties": {
                "command": { "type": "string", "minLength": 1, "description": "The command" },
                "workdir": { "type": "string", "minLength": 1, "description": "Where to start, relative to the workspace; default: the workspace" },
                "timeoutSec": { "type": "integer", "minimum": 0, "maximum": MAX_TIMEOUT_SEC, "description": "Time limit in seconds; 0: none" }
            },
            "required": ["command"],
            "additionalProperties": false
        }),
        output_schema: None,
        optional: false,
        owner: ToolOwner::Host,
        sequential: false,
    }
}

#[async_trait]
impl Tool for ExecTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn stop_grace(&self) -> Duration {
        STOP_GRACE + KILL_GRACE
    }

    async fn execute(&self, call: Invocation<'_>) -> Result<ToolResult, ToolFailure> {
        let params: Params<'_> = params::parse(call.params)?;
        let directory = self.directory(params.workdir)?;
        let limit = self.limit(params.timeout_sec);
        if call.cancel.is_cancelled() {
            return Err(ToolFailure::Aborted);
        }
        let broken = |error: std::io::Error| ToolFailure::Failed(format!("the command could not be run: {error}"));
        let start = Instant::now();
        let process = process::spawn(params.command, &directory, &self.variables(call.env)).map_err(broken)?;
        let outcome = supervise::supervise(process, limit, call.cancel, call.progress).await.map_err(broken)?;
        match outcome.ending {
            Ending::Exited(status) => Ok(finished(status, &outcome, start.elapsed())),
            Ending::TimedOut => Err(ToolFailure::TimedOut(timed_out(limit.unwrap_or_default(), &outcome))),
            Ending::Aborted => Err(aborted(&outcome)),
        }
    }
}

fn finished(status: ExitStatus, outcome: &Outcome, took: Duration) -> ToolResult {
    let mut notes = Vec::new();
    if let Some(code) = status.code().filter(|code| *code != 0) {
        notes.push(format!("exit code {code}"));
    }
    let signal = status.signal().map(signal_name);
    if let Some(signal) = &signal {
        notes.push(format!("ended by signal {signal}"));
    }
    if outcome.left_behind {
        notes.push("processes that the command left behind were ended".to_owned());
    }
    let mut text = outcome.output.text();
    if text.is_empty() && notes.is_empty() {
        notes.push("no output".to_owned());
    }
    for note in notes {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{note}]"));
    }
    ToolResult::text(text).with_details(json!({
        "exitCode": status.code(),
        "signal": signal,
        "durationMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "outputBytes": outcome.output.total(),
        "truncated": outcome.output.omitted() > 0,
    }))
}

fn timed_out(limit: Duration, outcome: &Outcome) -> String {
    let said = format!(
        "the command ran longer than its limit of {} s and was ended; give a larger `timeoutSec`, or 0 for no limit",
        limit.as_secs()
    );
    match shown(outcome) {
        Some(output) => format!("{said}. {output}"),
        None => said,
    }
}

fn aborted(outcome: &Outcome) -> ToolFailure {
    shown(outcome).map_or(ToolFailure::Aborted, ToolFailure::AbortedWith)
}

/// What a command printed before it was ended, if it printed anything.
fn shown(outcome: &Outcome) -> Option<String> {
    let output = outcome.output.text();
    (!output.is_empty()).then(|| format!("Output until then:\n{output}"))
}

fn signal_name(number: i32) -> String {
    let name = match number {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        _ => return number.to_string(),
    };
    name.to_owned()
}
