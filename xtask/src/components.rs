//! The parts of the Rust toolchain that the checks need beside cargo itself. What is missing is added by rustup, if that is there; else
//! the error says what to type, before anything has been built for nothing.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::cargo;

/// Names of components, and the subcommands of cargo that each one brings.
const NEEDED: [(&str, &str); 2] = [("rustfmt", "fmt"), ("clippy", "clippy")];

/// Makes sure that all of them are there.
pub(crate) fn ensure_installed(workspace: &Path) -> Result<()> {
    let is_there = |subcommand: &str| {
        let quiet = cargo(workspace).args([subcommand, "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    };
    let add = |components: &[&str]| {
        let status = Command::new("rustup").current_dir(workspace).args(["component", "add"]).args(components).status();
        let status = status.context("rustup cannot be started")?;
        ensure!(status.success(), "rustup: {status}");
        Ok(())
    };
    ensure(is_there, add)
}

fn ensure(is_there: impl Fn(&str) -> bool, add: impl FnOnce(&[&str]) -> Result<()>) -> Result<()> {
    let missing = || -> Vec<&str> {
        NEEDED.iter().filter(|(_, subcommand)| !is_there(subcommand)).map(|(component, _)| *component).collect()
    };
    let wanted = missing();
    if wanted.is_empty() {
        return Ok(());
    }
    let advice = format!("the checks need {}: run `rustup component add {}`", wanted.join(" and "), wanted.join(" "));
    add(&wanted).with_context(|| advice.clone())?;
    if missing().is_empty() { Ok(()) } else { bail!("{advice}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::cell::RefCell;

    use anyhow::bail;

    use super::*;

    #[test]
    fn what_is_there_is_not_added() {
        ensure(|_| true, |_| bail!("nothing is missing")).unwrap();
    }

    #[test]
    fn what_is_missing_is_added() {
        let there = RefCell::new(vec!["fmt".to_owned()]);
        let add = |components: &[&str]| {
            assert_eq!(components, ["clippy"]);
            there.borrow_mut().push("clippy".to_owned());
            Ok(())
        };
        ensure(|subcommand| there.borrow().iter().any(|it| it == subcommand), add).unwrap();
    }

    #[test]
    fn what_cannot_be_added_is_told_in_one_sentence() {
        let advice = "the checks need rustfmt and clippy: run `rustup component add rustfmt clippy`";
        let without_rustup = ensure(|_| false, |_| bail!("rustup cannot be started"));
        assert_eq!(format!("{:#}", without_rustup.unwrap_err()), format!("{advice}: rustup cannot be started"));
        let in_vain = ensure(|_| false, |_| Ok(()));
        assert_eq!(in_vain.unwrap_err().to_string(), advice);
    }

    #[test]
    fn the_toolchain_of_this_test_is_complete() {
        ensure_installed(Path::new(".")).unwrap();
    }
}
