//! `cargo xtask ci`: every check that a change must pass, in the order in which they fail fastest. Stops at the first failure and
//! says how to run that step alone. The continuous integration runs this and nothing else.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::cargo;
use crate::{components, guests};

/// What a step does.
enum Action {
    /// Builds the guests; the tests after it run them.
    Guests,
    /// Runs cargo with these arguments and, if given, one variable.
    Cargo { arguments: &'static [&'static str], variable: Option<(&'static str, &'static str)> },
}

/// One check.
struct Step {
    name: &'static str,
    action: Action,
}

const STEPS: &[Step] = &[
    cargo_step("format", &["fmt", "--all", "--check"]),
    Step { name: "guests", action: Action::Guests },
    cargo_step("clippy", &["clippy", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    // The test guests are nothing but components: there is nothing in them to run natively.
    cargo_step("test", &["test", "--locked", "--workspace", "--exclude", "test-guests"]),
    Step {
        name: "doc",
        action: Action::Cargo {
            arguments: &["doc", "--locked", "--workspace", "--no-deps"],
            variable: Some(("RUSTDOCFLAGS", "-D warnings")),
        },
    },
];

const fn cargo_step(name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step { name, action: Action::Cargo { arguments, variable: None } }
}

impl Step {
    /// What to type to run only this.
    fn typed(&self) -> String {
        match self.action {
            Action::Guests => "cargo xtask guests".to_owned(),
            Action::Cargo { arguments, variable } => {
                let variable = variable.map(|(name, value)| format!("{name}={value:?} ")).unwrap_or_default();
                format!("{variable}cargo {}", arguments.join(" "))
            }
        }
    }

    fn run(&self, workspace: &Path) -> Result<()> {
        match self.action {
            Action::Guests => guests::build_quietly(workspace).map(drop),
            Action::Cargo { arguments, variable } => {
                let status = cargo(workspace).args(arguments).envs(variable).status().context("cannot start cargo")?;
                ensure!(status.success(), "{status}");
                Ok(())
            }
        }
    }
}

/// Runs all steps, and prints the time of each.
pub(crate) fn run(workspace: &Path) -> Result<()> {
    components::ensure_installed(workspace)?;
    run_steps(STEPS, |step| step.run(workspace))
}

fn run_steps(steps: &[Step], mut each: impl FnMut(&Step) -> Result<()>) -> Result<()> {
    let begin = Instant::now();
    let mut times = Vec::new();
    for step in steps {
        eprintln!("── {}: {}", step.name, step.typed());
        let begin = Instant::now();
        if let Err(error) = each(step) {
            let seconds = seconds(begin.elapsed());
            bail!("step `{}` failed after {seconds}: {error:#}\nrun it alone with: {}", step.name, step.typed());
        }
        times.push(format!("{} {}", step.name, seconds(begin.elapsed())));
        eprintln!("── {} passed in {}", step.name, seconds(begin.elapsed()));
    }
    eprintln!("── all passed in {} ({})", seconds(begin.elapsed()), times.join(", "));
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn first_failure_ends_the_run_and_says_how_to_repeat_it() {
        let mut ran = Vec::new();
        let error = run_steps(STEPS, |step| {
            ran.push(step.name);
            ensure!(step.name != "clippy", "exit status: 101");
            Ok(())
        });
        assert_eq!(ran, ["format", "guests", "clippy"]);
        let text = error.unwrap_err().to_string();
        assert!(text.starts_with("step `clippy` failed after 0.0 s: exit status: 101"), "{text}");
        assert!(text.ends_with("run it alone with: cargo clippy --locked --workspace --all-targets -- -D warnings"), "{text}");
    }

    #[test]
    fn guests_are_built_before_anything_that_uses_them() {
        let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names, ["format", "guests", "clippy", "test", "doc"]);
    }

    #[test]
    fn variable_is_part_of_what_to_type() {
        assert_eq!(STEPS[4].typed(), "RUSTDOCFLAGS=\"-D warnings\" cargo doc --locked --workspace --no-deps");
    }
}
