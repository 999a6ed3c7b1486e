//! Rules about dependencies that a machine can check without a network: each one is used, each one is declared once, and all come from the
//! registry. Reads manifests and sources; builds nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{Dependency, Metadata, MetadataCommand, Package};
use walkdir::{DirEntry, WalkDir};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn metadata() -> Metadata {
    MetadataCommand::new().no_deps().manifest_path(workspace().join("Cargo.toml")).exec().unwrap()
}

/// All sources of a package, without those of packages in folders below it.
fn sources(package: &Package) -> String {
    let folder = package.manifest_path.parent().unwrap().as_std_path();
    let is_own = |entry: &DirEntry| {
        let is_other_package = entry.depth() > 0 && entry.path().join("Cargo.toml").exists();
        !is_other_package && entry.file_name() != "target"
    };
    let files = WalkDir::new(folder).into_iter().filter_entry(is_own).map(|entry| entry.unwrap().into_path());
    let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    sources.map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Name of a dependency as sources have it.
fn name_in_sources(dependency: &Dependency) -> String {
    dependency.rename.as_deref().unwrap_or(&dependency.name).replace('-', "_")
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part_of_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_part_of_word) && !text[at + word.len()..].starts_with(is_part_of_word))
}

#[test]
fn every_dependency_is_used() {
    let mut unused = Vec::new();
    for package in &metadata().packages {
        let sources = sources(package);
        let of_package = package.dependencies.iter().filter(|dependency| !has_word(&sources, &name_in_sources(dependency)));
        unused.extend(of_package.map(|dependency| format!("{}: {}", package.name, dependency.name)));
    }
    assert!(unused.is_empty(), "no source of these packages names these dependencies: {unused:#?}");
}

#[test]
fn every_dependency_of_the_workspace_has_a_user() {
    let text = fs::read_to_string(workspace().join("Cargo.toml")).unwrap();
    let (_, table) = text.split_once("[workspace.dependencies]\n").unwrap();
    let table = table.split("\n[").next().unwrap();
    let declared: BTreeSet<&str> =
        table.lines().filter(|line| !line.starts_with('#')).filter_map(|line| Some(line.split_once(" = ")?.0)).collect();
    assert!(declared.len() > 10, "the table must be read: {declared:?}");

    let metadata = metadata();
    let used: BTreeSet<&str> = metadata
        .packages
        .iter()
        .flat_map(|package| &package.dependencies)
        .map(|dependency| dependency.rename.as_deref().unwrap_or(&dependency.name))
        .collect();
    let idle: Vec<_> = declared.difference(&used).collect();
    assert!(idle.is_empty(), "nobody uses these dependencies of the workspace: {idle:?}");
}

/// So what is built is what the lock file says, whoever owns some other server.
#[test]
fn all_code_of_others_comes_from_the_registry() {
    let lock = fs::read_to_string(workspace().join("Cargo.lock")).unwrap();
    let sources: BTreeSet<&str> = lock.lines().filter_map(|line| line.strip_prefix("source = ")).collect();
    assert_eq!(sources.into_iter().collect::<Vec<_>>(), ["\"registry+https://github.com/rust-lang/crates.io-index\""]);
}

#[test]
fn words_are_found_as_wholes() {
    for (text, word, is_there) in [
        ("use serde::Deserialize;", "serde", true),
        ("use serde_json::json;", "serde", false),
        ("my_serde::x(), serde::y()", "serde", true),
        ("", "serde", false),
    ] {
        assert_eq!(has_word(text, word), is_there, "{text}");
    }
}
