//! `cargo xtask soak`: a million traps and a hundred thousand missed deadlines in an optimised build, which must leave nothing behind.
//! The work is a bench of the plugin host; numbers can be made smaller.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::cargo::cargo;

/// Passes `arguments` (`--traps N`, `--timeouts N`) on; fails if the bar is broken.
pub(crate) fn run(workspace: &Path, arguments: &[String]) -> Result<ExitCode> {
    let mut bench = cargo(workspace);
    bench.args(["bench", "--locked", "--package", "plugin-host", "--bench", "soak", "--"]).args(arguments);
    let status = bench.status().context("cannot start cargo")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
