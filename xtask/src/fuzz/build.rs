//! Builds the targets so that the engine sees what code an input reaches. A stable compiler can: these are options of LLVM, which
//! `cargo fuzz` passes too. What it has beyond them, the sanitizers, needs a nightly one; in safe Rust they have little to find.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::cargo;

/// Counts every edge of the control flow, and shows what values are compared with, so that the engine finds the words of a format.
const COVERAGE: &[&str] = &[
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// Where the programs are.
pub(super) struct Built {
    /// One program per target.
    pub(super) programs: PathBuf,
    /// What the engine found interesting, kept from run to run.
    pub(super) corpora: PathBuf,
}

/// Builds all targets. The flags differ from those of everything else, so it is done in a target directory of its own.
pub(super) fn build(workspace: &Path) -> Result<Built> {
    ensure_cpp_compiler()?;
    let directory = env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from).join("fuzz");
    let host = host()?;
    let status = cargo(workspace)
        .args(["build", "--locked", "--package", "fuzz", "--features", "engine", "--bins", "--profile", "fuzz"])
        // With a target named, build scripts and macros are compiled without the flags: they could not be linked with them.
        .args(["--target", &host, "--target-dir"])
        .arg(&directory)
        .env_remove("RUSTFLAGS")
        .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\x1f"))
        .status()
        .context("cannot start cargo")?;
    ensure!(status.success(), "the targets do not build: {status}");
    Ok(Built { programs: directory.join(host).join("fuzz"), corpora: directory.join("corpus") })
}

fn ensure_cpp_compiler() -> Result<()> {
    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let is_there = Command::new(&compiler).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !is_there.is_ok_and(|status| status.success()) {
        bail!(
            "`{compiler}` does not run, and libFuzzer is compiled with it: install a C++ compiler (Debian: apt-get install g++)"
        );
    }
    Ok(())
}

/// The platform that the compiler makes programs for if nobody names one.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("cannot start rustc")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).with_context(|| format!("rustc does not say for which platform it compiles: {text}"))
}
