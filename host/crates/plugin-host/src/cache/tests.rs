//! The cache on disk: what loads, what does not, and what is removed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::process::Command;
use std::time::SystemTime;

use sha2::{Digest, Sha256};

use super::private::{STAGED_EXTENSION, Staged};
use super::*;
use crate::engine::{EngineSettings, PluginEngine};
use crate::test_support::Captured;

struct Fixture {
    directory: tempfile::TempDir,
    engine: PluginEngine,
    digest: ComponentDigest,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Self {
            directory: tempfile::tempdir().unwrap(),
            engine: PluginEngine::start(EngineSettings { live_instances: 4, ..EngineSettings::default() }).unwrap(),
            digest: Sha256::digest(Self::component()).into(),
        };
        let code = fixture.engine.wasmtime().precompile_component(&Self::component()).unwrap();
        fixture.cache().store(&fixture.digest, &code).unwrap();
        fixture
    }

    fn component() -> Vec<u8> {
        wat::parse_str(r#"(component (core module (func (export "f") (result i32) i32.const 7)))"#).unwrap()
    }

    fn cache(&self) -> CodeCache {
        CodeCache::open(&self.directory.path().join("code"), self.engine.wasmtime()).unwrap()
    }

    fn entry(&self) -> PathBuf {
        self.cache().entry(&self.digest)
    }

    /// Whether the entry loads, and what was said about it.
    fn load(&self) -> (bool, String) {
        let cache = self.cache();
        let mut loaded = false;
        let said = Captured::during(|| loaded = cache.load(self.engine.wasmtime(), &self.digest).is_some());
        (loaded, said)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.entry()).unwrap();
        change(&mut bytes);
        fs::write(self.entry(), bytes).unwrap();
    }
}

#[test]
fn what_this_host_wrote_loads() {
    let fixture = Fixture::new();
    assert_eq!(fixture.load(), (true, String::new()));
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&fixture.entry()), mode(&fixture.directory.path().join("code"))), (0o600, 0o700));
}

#[test]
fn the_code_of_one_component_is_forgotten() {
    let fixture = Fixture::new();
    let directory = fixture.directory.path().join("code");
    let other = fixture.cache().entry(&[7; 32]);
    fs::copy(fixture.entry(), &other).unwrap();
    forget_component(&directory, &fixture.digest).unwrap();
    assert!(!fixture.entry().exists() && other.exists() && directory.join(key::KEY_FILE).exists());
    forget_component(&directory.join("nowhere"), &fixture.digest).unwrap();
}

#[test]
fn an_absent_entry_is_silent() {
    let fixture = Fixture::new();
    fs::remove_file(fixture.entry()).unwrap();
    assert_eq!(fixture.load(), (false, String::new()));
}

#[test]
fn a_changed_byte_a_cut_and_an_empty_file_are_rejected() {
    for change in [
        |bytes: &mut Vec<u8>| bytes[100] ^= 1,
        |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() / 2),
        |bytes: &mut Vec<u8>| bytes.push(0),
        |bytes: &mut Vec<u8>| *bytes.last_mut().unwrap() ^= 1,
        Vec::clear,
    ] {
        let fixture = Fixture::new();
        fixture.change(change);
        let (loaded, said) = fixture.load();
        assert!(!loaded && said.contains("is compiled again"), "{said}");
    }
}

#[test]
fn code_of_another_host_is_rejected() {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    fs::copy(other.entry(), fixture.entry()).unwrap();
    assert!(!fixture.load().0);
}

#[test]
fn code_of_another_component_is_rejected() {
    let fixture = Fixture::new();
    let other = [7; 32];
    fs::copy(fixture.entry(), fixture.cache().entry(&other)).unwrap();
    assert!(fixture.cache().load(fixture.engine.wasmtime(), &other).is_none());
}

#[test]
fn links_and_files_that_others_can_write_are_rejected() {
    let fixture = Fixture::new();
    fs::set_permissions(fixture.entry(), fs::Permissions::from_mode(0o620)).unwrap();
    assert!(fixture.load().1.contains("not a private file"));
    let moved = fixture.directory.path().join("elsewhere");
    fs::rename(fixture.entry(), &moved).unwrap();
    fs::set_permissions(&moved, fs::Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&moved, fixture.entry()).unwrap();
    assert!(!fixture.load().0);
}

#[test]
fn a_directory_that_is_a_link_is_refused() {
    let fixture = Fixture::new();
    let link = fixture.directory.path().join("link");
    std::os::unix::fs::symlink(fixture.directory.path().join("code"), &link).unwrap();
    assert!(matches!(CodeCache::open(&link, fixture.engine.wasmtime()), Err(CacheError::NotPrivate(_))));
}

#[test]
fn a_key_that_was_not_private_is_replaced() {
    let fixture = Fixture::new();
    let path = fixture.directory.path().join("code").join(key::KEY_FILE);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(!fixture.load().0);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
}

/// A pipe in the place of an entry or the key would be waited for without end.
#[test]
fn pipes_are_rejected_at_once() {
    let fixture = Fixture::new();
    let pipe = |path: &Path| {
        fs::remove_file(path).unwrap();
        assert!(Command::new("mkfifo").args(["-m", "600"]).arg(path).status().unwrap().success());
    };
    pipe(&fixture.entry());
    let (loaded, said) = fixture.load();
    assert!(!loaded && said.contains("not a private file"), "{said}");

    let key = fixture.directory.path().join("code").join(key::KEY_FILE);
    pipe(&key);
    let said = Captured::during(|| drop(fixture.cache()));
    assert!(said.contains("is replaced") && fs::metadata(&key).unwrap().is_file(), "{said}");
}

/// An hour and more in the future, when staged files of today are old.
fn later() -> SystemTime {
    SystemTime::now() + Duration::from_secs(2 * 60 * 60)
}

fn staged(directory: &Path) -> usize {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == STAGED_EXTENSION)).count()
}

#[test]
fn a_staged_file_goes_when_it_is_old_and_nobody_writes_it() {
    let fixture = Fixture::new();
    let directory = fixture.directory.path().join("code");
    let prune = |now| sweep::prune_to(&directory, u64::MAX, now).unwrap();
    let held = Staged::write(&directory, &[b"half"]).unwrap();
    prune(later());
    assert_eq!(staged(&directory), 1, "somebody writes it");

    // What a process that was killed leaves: the file, and no lock.
    std::mem::forget(Staged::write(&directory, &[b"half"]).unwrap());
    drop(held);
    assert_eq!(staged(&directory), 1, "what is dropped is gone");
    let left = directory.join(format!(".left.{STAGED_EXTENSION}"));
    fs::copy(fixture.entry(), &left).unwrap();
    prune(SystemTime::now());
    assert!(left.exists(), "it may be written");
    prune(later());
    assert!(!left.exists());
    assert!(fixture.load().0, "entries stay");
}

#[test]
fn the_oldest_entries_go_first() {
    let fixture = Fixture::new();
    let (cache, directory) = (fixture.cache(), fixture.directory.path().join("code"));
    let age = |entry: &Path, seconds: u64| {
        let file = fs::File::options().write(true).open(entry).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    let others = [[1; 32], [2; 32]].map(|digest| cache.entry(&digest));
    for (entry, seconds) in others.iter().zip([10, 20]) {
        fs::copy(fixture.entry(), entry).unwrap();
        age(entry, seconds);
    }
    let bytes = fs::metadata(fixture.entry()).unwrap().len();
    sweep::prune_to(&directory, bytes * 2, SystemTime::now()).unwrap();
    assert_eq!((fixture.entry().exists(), others[0].exists(), others[1].exists()), (true, true, false));
}

#[tokio::test(start_paused = true)]
async fn one_process_compiles_at_a_time_and_the_next_one_looks_again() {
    let fixture = Fixture::new();
    let patience = Duration::from_secs(60);
    let (first, second) = (fixture.cache(), fixture.cache());
    let held = first.turn(patience).await;
    assert!(!held.has_waited);
    let mut waiting = std::pin::pin!(second.turn(patience));
    assert!(tokio::time::timeout(patience / 2, &mut waiting).await.is_err(), "the first one compiles");
    drop(held);
    let next = waiting.await;
    assert!(next.has_waited);

    let started = tokio::time::Instant::now();
    let impatient = first.turn(patience).await;
    assert!(impatient.has_waited && started.elapsed() >= patience && started.elapsed() < patience * 2);
}

#[tokio::test]
async fn a_lock_that_cannot_be_had_is_done_without() {
    let fixture = Fixture::new();
    let lock = fixture.directory.path().join("code/compile.lock");
    fs::create_dir(&lock).unwrap();
    assert!(!fixture.cache().turn(Duration::from_secs(60)).await.has_waited);
}
