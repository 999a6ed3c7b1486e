//! One target for a bounded time: starts libFuzzer, takes its statistics, or what it found.

use std::collections::VecDeque;
use std::fmt;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::build::Built;

/// Longest input, in bytes: what is wrong with a long one is wrong with a short one, and short ones are fast and readable.
const MAX_INPUT_BYTES: usize = 4 << 10;

/// An input that takes longer counts as a finding, in seconds.
const TIME_OF_ONE_INPUT: u32 = 10;

/// A target that takes more memory counts as a finding, in MiB.
const MEMORY_MIB: u32 = 2048;

/// Lines of the engine that are shown with a finding.
const SHOWN_LINES: usize = 60;

/// One target, and for how long.
pub(super) struct Campaign<'a> {
    pub(super) workspace: &'a Path,
    pub(super) built: &'a Built,
    pub(super) target: &'a str,
    pub(super) time: Duration,
}

/// How it ended.
pub(super) enum Outcome {
    /// The time was up.
    Clean(Statistics),
    /// An input broke a rule.
    Found {
        /// The last lines of the engine.
        report: String,
        /// The input.
        artifact: PathBuf,
    },
}

/// What the engine did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Statistics {
    inputs: u64,
    per_second: u64,
    kept: u64,
    peak_mib: u64,
}

impl Campaign<'_> {
    pub(super) fn run(&self) -> Result<Outcome> {
        // The engine writes what it keeps to the first directory; the committed inputs are only read.
        let kept = self.built.corpora.join(self.target);
        let committed = self.workspace.join("fuzz/corpus").join(self.target);
        let artifacts = self.workspace.join("fuzz/artifacts").join(self.target);
        for directory in [&kept, &artifacts] {
            fs::create_dir_all(directory).with_context(|| format!("cannot make {}", directory.display()))?;
        }
        let program = self.built.programs.join(self.target);
        let mut engine = Command::new(&program)
            .arg(format!("-max_total_time={}", self.time.as_secs()))
            .arg(format!("-max_len={MAX_INPUT_BYTES}"))
            .arg(format!("-timeout={TIME_OF_ONE_INPUT}"))
            .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .args(["-print_final_stats=1", "-verbosity=1"])
            .args([&kept, &committed])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let lines = engine.stderr.take().map(read).unwrap_or_default();
        let status = engine.wait().context("cannot wait for the engine")?;
        if status.success() {
            return Ok(Outcome::Clean(Statistics::of(&lines)));
        }
        let report = lines.iter().map(|line| format!("{line}\n")).collect();
        match artifact(&lines) {
            Some(artifact) => Ok(Outcome::Found { report, artifact }),
            None => bail!("{} ended with {status} and left no input:\n{report}", program.display()),
        }
    }
}

/// The last lines; they go by as they come, so that a pipe that is full never stops the engine.
fn read(from: impl Read) -> VecDeque<String> {
    let mut last = VecDeque::new();
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        if last.len() == SHOWN_LINES {
            last.pop_front();
        }
        last.push_back(String::from_utf8_lossy(&line).into_owned());
    }
    last
}

/// The file that the engine says it wrote.
fn artifact(lines: &VecDeque<String>) -> Option<PathBuf> {
    lines.iter().find_map(|line| line.split_once("Test unit written to ")).map(|(_, path)| PathBuf::from(path.trim()))
}

impl Statistics {
    fn of(lines: &VecDeque<String>) -> Self {
        let number = |name: &str| {
            let value = lines.iter().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name)?.strip_prefix(':'));
            value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
        };
        Self {
            inputs: number("number_of_executed_units"),
            per_second: number("average_exec_per_sec"),
            kept: number("new_units_added"),
            peak_mib: number("peak_rss_mb"),
        }
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inputs, per_second, kept, peak_mib } = self;
        write!(f, "{inputs} inputs, {per_second} a second, {kept} new ones kept, {peak_mib} MiB")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn statistics_are_read_from_what_the_engine_says() {
        let text = "Done 9 runs in 2 second(s)\nstat::number_of_executed_units: 900\nstat::average_exec_per_sec:     450\n\
            stat::new_units_added:          7\nstat::slowest_unit_time_sec:    0\nstat::peak_rss_mb:              61\n";
        let statistics = Statistics::of(&read(text.as_bytes()));
        assert_eq!(statistics, Statistics { inputs: 900, per_second: 450, kept: 7, peak_mib: 61 });
        assert_eq!(statistics.to_string(), "900 inputs, 450 a second, 7 new ones kept, 61 MiB");
    }

    #[test]
    fn what_was_found_is_named_and_the_last_lines_are_kept() {
        let text = format!("{}artifact_prefix='a/'; Test unit written to a/crash-1\nBase64: AA==\n", "INFO\n".repeat(100));
        let lines = read(text.as_bytes());
        assert_eq!(lines.len(), SHOWN_LINES);
        assert_eq!(artifact(&lines).unwrap(), Path::new("a/crash-1"));
        assert_eq!(artifact(&read(&b"killed"[..])), None);
    }
}
