//! Developer tasks, run as `cargo xtask <task>`. Holds what cargo cannot say by itself and nothing else: a check that can be a test
//! is one (see `tests/tidy.rs`).

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a developer task talks to the terminal")]

mod cargo;
mod ci;
mod components;
mod demo;
mod fuzz;
mod guests;
mod soak;

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};

const USAGE: &str = "\
usage: cargo xtask <task>

tasks:
  guests [--verbose] [--route rustup|debian]
          build the example plugins and the test guests to components in target/guests
  demo [arguments]
          build the guests, then run `creel demo` with them
  ci      check everything as the continuous integration does
  fuzz [TARGET] [--seconds N]
          look for inputs that break the host (manifests, components, guest answers, configuration); a minute for all targets
  soak [--traps N] [--timeouts N]
          fail plugin calls a million times, and check that nothing of them is left
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match run(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    let Some((task, rest)) = arguments.split_first() else { bail!("no task was named\n\n{USAGE}") };
    match task.as_str() {
        "guests" => guests::run(&workspace(), rest).map(|()| ExitCode::SUCCESS),
        "demo" => demo::run(&workspace(), rest),
        "ci" if rest.is_empty() => ci::run(&workspace()).map(|()| ExitCode::SUCCESS),
        "ci" => bail!("`ci` takes no arguments\n\n{USAGE}"),
        "fuzz" => fuzz::run(&workspace(), rest),
        "soak" => soak::run(&workspace(), rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        other => bail!("there is no task `{other}`\n\n{USAGE}"),
    }
}

/// The root folder of the workspace that this program was built from.
fn workspace() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn refusal(words: &[&str]) -> String {
        run(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()).unwrap_err().to_string()
    }

    #[test]
    fn unknown_words_are_refused_with_the_usage() {
        for words in
            [&[][..], &["deploy"], &["ci", "--fast"], &["guests", "--route"], &["guests", "--route", "nix"], &["guests", "x"]]
        {
            assert!(refusal(words).contains("usage: cargo xtask"), "{words:?}");
        }
    }

    #[test]
    fn workspace_is_the_folder_with_the_workspace_manifest() {
        let manifest = std::fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }
}
