//! Every committed input through its target, so that what the fuzzer found once stays mended, with no fuzzer at hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fuzz::{TARGETS, Target};

/// Largest committed input, in bytes: people read them.
const MAX_INPUT_BYTES: usize = 4 << 10;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn replay(target: &Target) {
    let inputs = files(&folder("corpus").join(target.name));
    assert!(inputs.len() >= 3, "{}: few inputs are no corpus", target.name);
    for path in inputs {
        let input = fs::read(&path).unwrap();
        assert!(input.len() <= MAX_INPUT_BYTES, "{}: {} bytes", path.display(), input.len());
        // What the engine cuts off comes in as well.
        for length in [input.len(), input.len() / 2] {
            let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input[..length])));
            assert!(outcome.is_ok(), "{}: a rule does not hold for its first {length} bytes; see above", path.display());
        }
    }
}

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap()
}

macro_rules! replayed {
    ($($test:ident = $name:literal;)*) => {
        $(#[test] fn $test() { replay(target($name)); })*

        const REPLAYED: &[&str] = &[$($name),*];
    };
}

replayed! {
    answers_of_the_corpus_keep_the_rules = "answers";
    components_of_the_corpus_keep_the_rules = "component";
    configurations_of_the_corpus_keep_the_rules = "configuration";
    sections_of_the_corpus_keep_the_rules = "embedded";
    manifests_of_the_corpus_keep_the_rules = "manifest";
}

#[test]
fn each_target_has_its_test_its_file_and_its_corpus() {
    let names = |paths: Vec<PathBuf>| -> BTreeSet<String> {
        paths.iter().map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
    };
    let targets: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(names(files(&folder("targets"))), targets);
    assert_eq!(names(files(&folder("corpus"))), targets);
    assert_eq!(REPLAYED.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), targets);
}

/// The rules can bite: a committed input must not be able to pass because nothing looks at it.
#[test]
fn the_corpus_reaches_both_outcomes() {
    let read = |path: &str| fs::read(folder("corpus").join(path)).unwrap();
    let manifest = |path: &str| plugin_host::manifest::Manifest::parse(&read(path), "corpus");
    assert!(manifest("manifest/every-key").is_ok() && manifest("manifest/schema").is_ok());
    assert!(manifest("manifest/wrong-types").is_err() && manifest("manifest/terminal-codes").is_err());

    let inspect = |path: &str| plugin_host::inspect::inspect(&fuzz::wasm::binary(&read(path)));
    assert_eq!(inspect("component/gateway-start").unwrap().hooks().len(), 1);
    assert!(inspect("component/core-module").is_err());

    let loading = plugin_host::fuzzing::Loading::start().unwrap();
    let load = |path: &str| loading.load(&fuzz::wasm::binary(&read(path)), &inspect(path).unwrap());
    load("component/gateway-start").unwrap();
    load("component/log").unwrap();
    assert!(load("component/unknown-export").is_err() && load("component/asks-for-everything").is_err());

    let packed = plugin_host::embedded::read(&fuzz::wasm::binary(&read("embedded/packed"))).map(|text| text.map(<[u8]>::to_vec));
    assert_eq!(packed.unwrap().unwrap(), br#"{"id":"guard","configSchema":{}}"#);
}
