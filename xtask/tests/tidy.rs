//! Rules of this repository that a machine can check, and that no lint knows. Reads sources and manifests; builds nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use walkdir::WalkDir;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn metadata() -> Metadata {
    MetadataCommand::new().no_deps().manifest_path(workspace().join("Cargo.toml")).exec().unwrap()
}

/// Names of the packages that `package` is made of, for its users; what only its tests use does not count.
fn dependencies(package: &Package) -> impl Iterator<Item = &str> {
    let normal = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    normal.map(|dependency| dependency.name.as_str())
}

#[test]
fn every_source_file_opens_with_what_it_is_for() {
    let is_source = |path: &Path| path.extension().is_some_and(|extension| extension == "rs");
    let is_walked = |name: &str| !name.starts_with('.') && name != "target";
    let root = workspace();
    let files = WalkDir::new(&root)
        .into_iter()
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name().to_str().is_some_and(is_walked));
    let sources: Vec<_> = files.map(|entry| entry.unwrap().into_path()).filter(|path| is_source(path)).collect();
    assert!(sources.len() > 10, "the walk must find the sources");

    let silent = |path: &PathBuf| !fs::read_to_string(path).unwrap().starts_with("//! ");
    let silent: Vec<_> = sources.into_iter().filter(silent).collect();
    assert!(silent.is_empty(), "these files do not open with `//! `: {silent:#?}");
}

#[test]
fn only_the_plugin_host_knows_the_component_runtime() {
    let metadata = metadata();
    let knows = |package: &&Package| dependencies(package).any(|name| name.starts_with("wasmtime"));
    let knowing: Vec<_> = metadata.packages.iter().filter(knows).map(|package| package.name.as_str()).collect();
    assert_eq!(knowing, ["plugin-host"]);
}

#[test]
fn crates_of_the_host_depend_on_each_other_as_drawn() {
    let file = workspace().join("host/ARCHITECTURE.md");
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("cannot read {}: {error}", file.display()));
    let drawing = Drawing::parse(&text);

    let metadata = metadata();
    let is_host = |package: &&Package| package.manifest_path.starts_with(workspace().join("host"));
    let crates: Vec<_> = metadata.packages.iter().filter(is_host).collect();
    let names: BTreeSet<_> = crates.iter().map(|package| package.name.as_str()).collect();
    for package in &crates {
        let name = package.name.as_str();
        for used in dependencies(package).filter(|used| names.contains(used)) {
            assert!(drawing.allows(name, used), "{name} depends on {used}, which host/ARCHITECTURE.md does not draw");
        }
        assert!(drawing.edges.contains_key(name), "host/ARCHITECTURE.md does not draw {name}");
    }
}

/// Which crate may use which: lines like `agent, gateway ──> hooks, domain   (a remark)` in a block of the architecture.
struct Drawing {
    edges: BTreeMap<String, Allowed>,
}

enum Allowed {
    Everything,
    These(BTreeSet<String>),
}

impl Drawing {
    fn parse(text: &str) -> Self {
        let mut edges = BTreeMap::new();
        for line in text.lines() {
            let Some((users, used)) = line.split_once('─') else { continue };
            let Some((_, used)) = used.split_once('>') else { continue };
            for user in words(users) {
                edges.insert(user, Allowed::parse(used));
            }
        }
        Self { edges }
    }

    fn allows(&self, user: &str, used: &str) -> bool {
        match self.edges.get(user) {
            Some(Allowed::Everything) => true,
            Some(Allowed::These(these)) => these.contains(used),
            None => false,
        }
    }
}

impl Allowed {
    fn parse(text: &str) -> Self {
        let these: BTreeSet<_> = words(text).collect();
        if these.contains("everything") { Self::Everything } else { Self::These(these) }
    }
}

/// The names of a list: what stands before a remark in brackets.
fn words(text: &str) -> impl Iterator<Item = String> {
    let names = text.split('(').next().unwrap_or_default().split(',');
    names.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

#[test]
fn drawing_is_read() {
    let drawing = Drawing::parse(
        "Text ── with a dash.\n\
        creel (the binary) ──> everything, and it alone wires\n\
        agent ───────────────> hooks, domain\n\
        hooks, tools ────────> domain                (no I/O)\n\
        domain ──────────────> nothing of ours\n",
    );
    assert_eq!(drawing.edges.keys().collect::<Vec<_>>(), ["agent", "creel", "domain", "hooks", "tools"]);
    for (user, used, allowed) in [
        ("creel", "tools", true),
        ("agent", "hooks", true),
        ("agent", "tools", false),
        ("tools", "domain", true),
        ("hooks", "tools", false),
        ("domain", "hooks", false),
        ("unknown", "domain", false),
    ] {
        assert_eq!(drawing.allows(user, used), allowed, "{user} uses {used}");
    }
}
