//! Compiled code on disk. Loading code is trusting it like the host itself, so an entry counts only if this host wrote it: it carries
//! a keyed hash over the engine's settings, the digest of the component and the code, and the key never leaves the private directory.
//! What is foreign, damaged, cut or of another engine is not loaded and not repaired; the caller compiles again.
//!
//! An entry is opened once, without following links; what is hashed and what is mapped is the same open file. Against somebody who can
//! write to the files of this user while they are mapped there is no defence here, and none is possible: he can read the key as well.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::Engine;
use wasmtime::component::Component;

/// SHA-256 of a component.
pub type ComponentDigest = [u8; 32];

/// Code of all entries together, in bytes; beyond it the oldest entries go. A Rust plugin has some 400 KiB, a JavaScript one 40 MiB.
const MAX_CACHE_BYTES: u64 = 1 << 30;

/// Bytes of the key, and of a keyed hash.
const HASH_BYTES: usize = 32;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// First bytes that are hashed: this form of the entries.
const FORM: &[u8] = b"creel compiled component 1\0";

const KEY_FILE: &str = "cache.key";
const ENTRY_EXTENSION: &str = "code";

/// Why there is no cache. Plugins are compiled at every start then.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// The directory or the key cannot be made or read.
    #[error("the directory for compiled plugins {path} cannot be used")]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The directory is a link, a file, or somebody else's.
    #[error("the directory for compiled plugins {0} is a link or belongs to another user; remove it")]
    NotPrivate(PathBuf),
    /// The system gave no random bytes.
    #[error("the system gives no random bytes for the key of the compiled plugins: {0}")]
    NoRandom(String),
}

/// The cache of one engine.
pub(crate) struct CodeCache {
    directory: PathBuf,
    key: [u8; HASH_BYTES],
    engine_hash: u64,
}

impl CodeCache {
    /// Opens, or makes, the directory and its key.
    pub(crate) fn open(directory: &Path, engine: &Engine) -> Result<Self, CacheError> {
        let failed = |source| CacheError::Io { path: directory.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        let metadata = fs::symlink_metadata(directory).map_err(failed)?;
        if !metadata.is_dir() || metadata.uid() != own_uid() {
            return Err(CacheError::NotPrivate(directory.to_owned()));
        }
        if metadata.mode() & 0o077 != 0 {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        }
        let key = key(directory)?;
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Ok(Self { directory: directory.to_owned(), key, engine_hash: hasher.finish() })
    }

    /// The code of a component, if it is there and this host wrote it.
    pub(crate) fn load(&self, engine: &Engine, digest: &ComponentDigest) -> Option<Component> {
        let path = self.entry(digest);
        match self.try_load(engine, digest, &path) {
            Ok(component) => Some(component),
            Err(Unusable::Absent) => None,
            Err(Unusable::Rejected(why)) => {
                tracing::warn!(path = %path.display(), "a compiled plugin was not loaded and is compiled again: {why}");
                None
            }
        }
    }

    fn try_load(&self, engine: &Engine, digest: &ComponentDigest, path: &Path) -> Result<Component, Unusable> {
        let mut file = open_private(path)?;
        let length = file.metadata()?.len();
        let code_length = length.checked_sub(HASH_BYTES as u64).filter(|length| *length > 0).ok_or("it is cut short")?;
        let mut hasher = self.hasher(digest);
        let mut chunk = vec![0; CHUNK];
        let mut left = code_length;
        while left > 0 {
            let wanted = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            file.read_exact(&mut chunk[..wanted])?;
            hasher.update(&chunk[..wanted]);
            left -= wanted as u64;
        }
        let mut found = [0; HASH_BYTES];
        file.read_exact(&mut found)?;
        // This comparison takes the same time wherever the two differ.
        if hasher.finalize() != blake3::Hash::from_bytes(found) {
            return Err(Unusable::Rejected("it is damaged, or another host wrote it".to_owned()));
        }
        // By descriptor, so that nobody can put another file into the place of the one that was hashed.
        let same_file = format!("/dev/fd/{}", file.as_raw_fd());
        // SAFETY: the keyed hash says that this host made the code from a component with this digest, for this engine. The directory
        // is private to this user, and entries are replaced by renaming, never written in place.
        unsafe { Component::deserialize_file(engine, same_file) }.map_err(|error| Unusable::Rejected(format!("{error:#}")))
    }

    /// Keeps the code of a component.
    pub(crate) fn store(&self, digest: &ComponentDigest, code: &[u8]) -> io::Result<()> {
        let mut hasher = self.hasher(digest);
        hasher.update(code);
        publish(&self.directory, &self.entry(digest), &[code, hasher.finalize().as_bytes()])?;
        self.prune()
    }

    fn hasher(&self, digest: &ComponentDigest) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(FORM).update(&self.engine_hash.to_le_bytes()).update(digest);
        hasher
    }

    fn entry(&self, digest: &ComponentDigest) -> PathBuf {
        self.directory.join(format!("{:016x}-{}.{ENTRY_EXTENSION}", self.engine_hash, hex::encode(digest)))
    }

    /// Removes the oldest entries while all together are too large, those of other engines among them.
    fn prune(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == ENTRY_EXTENSION) {
                let metadata = fs::symlink_metadata(&path)?;
                entries.push((metadata.modified()?, metadata.len(), path));
            }
        }
        entries.sort_by_key(|(modified, ..)| std::cmp::Reverse(*modified));
        let mut sum = 0;
        for (_, bytes, path) in entries {
            sum += bytes;
            if sum > MAX_CACHE_BYTES {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// Why an entry is not used.
enum Unusable {
    Absent,
    Rejected(String),
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Absent } else { Self::Rejected(error.to_string()) }
    }
}

impl From<&str> for Unusable {
    fn from(why: &str) -> Self {
        Self::Rejected(why.to_owned())
    }
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Opens a file of this user that nobody else can touch; links are not followed.
fn open_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.uid() != own_uid() || metadata.mode() & 0o077 != 0 {
        return Err(io::Error::other("it is not a private file of this user"));
    }
    Ok(file)
}

/// Writes a file under another name and moves it into place, so that nobody sees half of it.
fn publish(directory: &Path, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let staged = stage(directory, parts)?;
    fs::rename(&staged, path).inspect_err(|_| drop(fs::remove_file(&staged)))
}

fn stage(directory: &Path, parts: &[&[u8]]) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!(".{}-{}.new", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let path = directory.join(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    parts.iter().try_for_each(|part| file.write_all(part)).inspect_err(|_| drop(fs::remove_file(&path)))?;
    Ok(path)
}

/// The key of this host; made at the first start, and again when it is damaged or was not private.
fn key(directory: &Path) -> Result<[u8; HASH_BYTES], CacheError> {
    let path = directory.join(KEY_FILE);
    let failed = |source| CacheError::Io { path: path.clone(), source };
    match read_key(&path) {
        Ok(key) => return Ok(key),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            tracing::warn!(path = %path.display(), "the key of the compiled plugins is replaced, they are compiled again: {error}");
            fs::remove_file(&path).map_err(failed)?;
        }
    }
    let mut key = [0; HASH_BYTES];
    getrandom::fill(&mut key).map_err(|error| CacheError::NoRandom(error.to_string()))?;
    let staged = stage(directory, &[&key]).map_err(failed)?;
    // Of two hosts that start at once, one sets the key and both use it.
    let linked = fs::hard_link(&staged, &path);
    fs::remove_file(&staged).map_err(failed)?;
    match linked {
        Ok(()) => Ok(key),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read_key(&path).map_err(failed),
        Err(error) => Err(failed(error)),
    }
}

fn read_key(path: &Path) -> io::Result<[u8; HASH_BYTES]> {
    let mut file = open_private(path)?;
    if file.metadata()?.len() != HASH_BYTES as u64 {
        return Err(io::Error::other("it has the wrong length"));
    }
    let mut key = [0; HASH_BYTES];
    file.read_exact(&mut key)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use sha2::{Digest, Sha256};

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
        let path = fixture.directory.path().join("code").join(KEY_FILE);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(!fixture.load().0);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }
}
