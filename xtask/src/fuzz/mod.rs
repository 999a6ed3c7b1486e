//! `cargo xtask fuzz`: changes hostile inputs for a bounded time, guided by what code they reach, and fails with the input that breaks a
//! rule of the host. What is run is the package `fuzz`; the engine is libFuzzer (`host/decisions`, fuzzing).

mod build;
mod campaign;

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use campaign::{Campaign, Outcome};

/// Time of all targets together, if nobody names another.
const DEFAULT_TIME: Duration = Duration::from_secs(60);

const USAGE: &str = "usage: cargo xtask fuzz [TARGET] [--seconds N]";

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    target: Option<String>,
    time: Duration,
}

/// Builds and runs one target, or all of them one after another. The time is that of all together, without the build.
pub(crate) fn run(workspace: &Path, arguments: &[String]) -> Result<ExitCode> {
    let options = Options::parse(arguments)?;
    let names = chosen(targets(workspace)?, options.target.as_deref())?;
    let time = share(options.time, names.len());
    let built = build::build(workspace)?;

    let mut is_clean = true;
    for name in &names {
        let campaign = Campaign { workspace, built: &built, target: name, time };
        eprintln!("── {name}: {} s", time.as_secs());
        match campaign.run()? {
            Outcome::Clean(statistics) => println!("{name:<14} nothing found; {statistics}"),
            Outcome::Found { report, artifact } => {
                is_clean = false;
                eprintln!("{report}");
                println!("{name:<14} FOUND {}", artifact.display());
                println!("{:14} copy it to fuzz/corpus/{name}/ under a name that says what it is, and mend what", "");
                println!("{:14} `cargo test --package fuzz` then shows", "");
            }
        }
    }
    Ok(if is_clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self { target: None, time: DEFAULT_TIME };
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--seconds" => options.time = seconds(words.next())?,
                name if !name.starts_with('-') && options.target.is_none() => options.target = Some(name.to_owned()),
                other => bail!("`{other}` is not understood\n\n{USAGE}"),
            }
        }
        Ok(options)
    }
}

/// The engine takes 0 for "without end".
fn seconds(word: Option<&str>) -> Result<Duration> {
    match word.map(str::parse) {
        Some(Ok(seconds @ 1..)) => Ok(Duration::from_secs(seconds)),
        _ => bail!("`--seconds` takes a whole number from 1 on\n\n{USAGE}"),
    }
}

fn share(time: Duration, targets: usize) -> Duration {
    let each = time.as_secs() / u64::try_from(targets).unwrap_or(u64::MAX).max(1);
    Duration::from_secs(each.max(1))
}

/// Names of all targets: those of the files that tie them to the engine.
fn targets(workspace: &Path) -> Result<Vec<String>> {
    let folder = workspace.join("fuzz/targets");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot list {}", folder.display()))?.path();
        names.extend(path.file_stem().and_then(|name| name.to_str()).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn chosen(all: Vec<String>, wanted: Option<&str>) -> Result<Vec<String>> {
    match wanted {
        None => Ok(all),
        Some(name) if all.iter().any(|target| target == name) => Ok(vec![name.to_owned()]),
        Some(name) => bail!("there is no target `{name}`; there are {}\n\n{USAGE}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn parse(words: &[&str]) -> Result<Options> {
        Options::parse(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn time_and_target_are_read() {
        assert_eq!(parse(&[]).unwrap(), Options { target: None, time: DEFAULT_TIME });
        let one = Options { target: Some("manifest".to_owned()), time: Duration::from_secs(7) };
        assert_eq!(parse(&["manifest", "--seconds", "7"]).unwrap(), one);
        assert_eq!(parse(&["--seconds", "7", "manifest"]).unwrap(), one);
        for words in [&["--seconds"][..], &["--seconds", "0"], &["--seconds", "-1"], &["--fast"], &["a", "b"]] {
            assert!(parse(words).unwrap_err().to_string().contains("usage: cargo xtask fuzz"), "{words:?}");
        }
    }

    #[test]
    fn time_is_shared() {
        assert_eq!(share(Duration::from_secs(60), 5), Duration::from_secs(12));
        assert_eq!(share(Duration::from_secs(3), 5), Duration::from_secs(1));
    }

    #[test]
    fn targets_are_those_with_a_file() {
        let all = targets(&crate::workspace()).unwrap();
        assert!(all.contains(&"configuration".to_owned()), "{all:?}");
        assert_eq!(chosen(all.clone(), Some("configuration")).unwrap(), ["configuration"]);
        let refusal = chosen(all, Some("cofniguration")).unwrap_err().to_string();
        assert!(refusal.contains("there are answers, component, configuration"), "{refusal}");
    }
}
