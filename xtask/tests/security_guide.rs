//! `docs/security.md` says which test proves which promise. Every test that it names exists, every family of hostile guests is named, and
//! no promise stands there without a proof.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Where tests are, by the word that their names begin with: the first table of the guide.
type Places = BTreeMap<String, PathBuf>;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn guide() -> String {
    fs::read_to_string(workspace().join("docs/security.md")).unwrap()
}

/// Rows of all tables, without their heads.
fn rows(guide: &str) -> Vec<Vec<&str>> {
    let lines: Vec<&str> = guide.lines().collect();
    let is_rule = |at: usize| lines.get(at).is_some_and(|line| line.starts_with("| ---"));
    let is_row = |at: &usize| lines[*at].starts_with("| ") && !is_rule(*at) && !is_rule(at + 1);
    (0..lines.len()).filter(is_row).map(|at| lines[at].trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Takes the first table from the others.
fn places<'g>(rows: &mut Vec<Vec<&'g str>>) -> Places {
    let (table, rest): (Vec<Vec<&'g str>>, _) =
        rows.drain(..).partition(|row| row.get(2).is_some_and(|cell| cell.starts_with("`cargo ")));
    *rows = rest;
    let word = |cell: &str| quoted(cell).next().unwrap_or_else(|| panic!("no word in {cell}")).to_owned();
    table.iter().map(|row| (word(row[0]), workspace().join(word(row[1])))).collect()
}

/// The tests that a row names: `(place, module, test)`.
fn proofs<'r>(row: &[&'r str], places: &Places) -> Vec<(&'r str, &'r str, &'r str)> {
    let named = quoted(row.last().unwrap());
    named
        .map(|name| {
            let (place, path) = name.split_once(' ').unwrap_or_else(|| panic!("`{name}` does not say where it is"));
            assert!(places.contains_key(place), "`{name}` begins with a word that the first table does not have");
            let (module, test) = path.split_once("::").unwrap_or_else(|| panic!("`{name}` names no module"));
            (place, module, test)
        })
        .collect()
}

/// Names of the tests in a file.
fn tests(file: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let is_test = |at: &usize| lines[*at].starts_with("#[test]") || lines[*at].starts_with("#[tokio::test");
    let name = |at: usize| {
        let function = lines[at + 1..].iter().find_map(|line| line.strip_prefix("async fn ").or(line.strip_prefix("fn ")))?;
        Some(function.split('(').next()?.to_owned())
    };
    (0..lines.len()).filter(is_test).filter_map(name).collect()
}

#[test]
fn every_promise_names_tests_that_exist() {
    let guide = guide();
    let mut rows = rows(&guide);
    let places = places(&mut rows);
    assert!(places.len() >= 4 && rows.len() >= 20, "the tables must be found");
    for row in &rows {
        let proofs = proofs(row, &places);
        assert!(!proofs.is_empty(), "no proof: {row:?}");
        for (place, module, test) in proofs {
            let found = tests(&places[place].join(format!("{module}.rs")));
            let exists = if test == "*" { !found.is_empty() } else { found.contains(test) };
            assert!(exists, "docs/security.md names `{place} {module}::{test}`, which does not exist");
        }
    }
}

#[test]
fn every_family_of_hostile_guests_is_named() {
    let guide = guide();
    let folder = workspace().join("host/crates/plugin-host/tests/hostile");
    let mut number = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let rows = tests(&path).len();
        let module = path.file_stem().unwrap().to_str().unwrap();
        assert!(
            rows == 0 || guide.contains(&format!("`hostile {module}::")),
            "docs/security.md does not name `hostile {module}`"
        );
        number += rows;
    }
    assert!(number >= 40, "{number} hostile guests");
}
