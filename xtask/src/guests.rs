//! `cargo xtask guests`: builds all guests and says what there is.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use guest_builder::{Guests, Options, Progress, RouteKind};

use crate::USAGE;

/// Builds as `arguments` say, then prints a table.
pub(crate) fn run(workspace: &Path, arguments: &[String]) -> Result<()> {
    let wish = Wish::parse(arguments)?;
    let guests = build(workspace, &wish)?;
    print!("{}", table(&rows(workspace, &guests)?));
    Ok(())
}

/// Builds by the first route that works, and tells the steps on standard error.
pub(crate) fn build_quietly(workspace: &Path) -> Result<Guests> {
    build(workspace, &Wish::default())
}

fn build(workspace: &Path, wish: &Wish) -> Result<Guests> {
    let report = |progress: Progress<'_>| match progress {
        Progress::Step(step) => eprintln!("guests: {step}"),
        Progress::Output(line) if wish.verbose => eprintln!("        {line}"),
        Progress::Output(_) => {}
    };
    let options = Options::new(workspace).route(wish.route).progress(&report);
    guest_builder::build(&options).context("the guests were not built")
}

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Wish {
    verbose: bool,
    route: Option<RouteKind>,
}

impl Wish {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut wish = Self::default();
        let mut arguments = arguments.iter().map(String::as_str);
        while let Some(argument) = arguments.next() {
            match argument {
                "--verbose" | "-v" => wish.verbose = true,
                "--route" => wish.route = Some(route(arguments.next().unwrap_or_default())?),
                other => bail!("`guests` does not know `{other}`\n\n{USAGE}"),
            }
        }
        Ok(wish)
    }
}

fn route(name: &str) -> Result<RouteKind> {
    let known = [RouteKind::Installed, RouteKind::Debian];
    let found = known.into_iter().find(|kind| kind.to_string() == name);
    found.with_context(|| format!("there is no route `{name}`\n\n{USAGE}"))
}

/// One line of the table.
struct Row {
    name: String,
    bytes: u64,
    path: PathBuf,
}

fn rows(workspace: &Path, guests: &Guests) -> Result<Vec<Row>> {
    let row = |(name, component): (&str, &Path)| {
        let metadata = fs::metadata(component).with_context(|| format!("cannot look at {}", component.display()))?;
        let path = component.strip_prefix(workspace).unwrap_or(component).to_owned();
        Ok(Row { name: name.to_owned(), bytes: metadata.len(), path })
    };
    guests.components().map(row).collect()
}

fn table(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no guests: example-plugins/ and tests/guests/ hold no packages\n".to_owned();
    }
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    let line = |row: &Row| format!("{:<width$}  {:>6} kB  {}\n", row.name, row.bytes.div_ceil(1000), row.path.display());
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn wish(words: &[&str]) -> Wish {
        Wish::parse(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn options_are_read() {
        assert_eq!(wish(&[]), Wish { verbose: false, route: None });
        assert_eq!(wish(&["-v", "--route", "debian"]), Wish { verbose: true, route: Some(RouteKind::Debian) });
        assert_eq!(wish(&["--route", "rustup"]).route, Some(RouteKind::Installed));
    }

    #[test]
    fn table_is_aligned() {
        let row = |name: &str, bytes| Row { name: name.into(), bytes, path: format!("{name}.wasm").into() };
        assert_eq!(
            table(&[row("tool-guard", 61_001), row("x", 1)]),
            "tool-guard      62 kB  tool-guard.wasm\nx                1 kB  x.wasm\n"
        );
        assert!(table(&[]).starts_with("no guests"));
    }
}
