//! `cargo xtask demo`: builds guests and host, and says so, then gives them to `creel demo`, which owns the terminal from then on.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use crate::cargo::cargo;
use crate::guests;

/// Passes `arguments` on; returns the exit code of `creel`.
pub(crate) fn run(workspace: &Path, arguments: &[String]) -> Result<ExitCode> {
    guests::build_quietly(workspace)?;
    eprintln!("demo: building creel; the first time this takes some minutes");
    let built = cargo(workspace).args(["build", "--package", "creel"]).status().context("cannot start cargo")?;
    ensure!(built.success(), "creel was not built; cargo says above why");
    let mut creel = cargo(workspace);
    creel.args(["run", "--quiet", "--package", "creel", "--", "demo", "--plugins", "target/guests/plugins"]).args(arguments);
    let status = creel.status().context("cannot start cargo")?;
    // A program that a signal ended has no code.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}
