//! Compiled code on disk. Loading code is trusting it like the host itself, so an entry counts only if this host wrote it: it carries
//! a keyed hash over the engine's settings, the digest of the component and the code, and the key never leaves the private directory.
//! What is foreign, damaged, cut or of another engine is not loaded and not repaired; the caller compiles again.
//!
//! An entry is opened once, without following links; what is hashed and what is mapped is the same open file. Against somebody who can
//! write to the files of this user while they are mapped there is no defence here, and none is possible: he can read the key as well.
//! Several processes may share a directory; none removes what another one still writes.

mod key;
mod private;
mod sweep;
mod turn;

use std::fs::{self, DirBuilder};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use wasmtime::Engine;
use wasmtime::component::Component;

pub use sweep::forget_component;
pub(crate) use turn::Turn;

/// SHA-256 of a component.
pub type ComponentDigest = [u8; 32];

/// Bytes of the key, and of a keyed hash.
const HASH_BYTES: usize = 32;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

/// First bytes that are hashed: this form of the entries.
const FORM: &[u8] = b"creel compiled component 1\0";

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
        if !metadata.is_dir() || metadata.uid() != private::own_uid() {
            return Err(CacheError::NotPrivate(directory.to_owned()));
        }
        if metadata.mode() & 0o077 != 0 {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).map_err(failed)?;
        }
        let key = key::obtain(directory)?;
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        Ok(Self { directory: directory.to_owned(), key, engine_hash: hasher.finish() })
    }

    /// Whether there is an entry for a component, whoever wrote it.
    pub(crate) fn has(&self, digest: &ComponentDigest) -> bool {
        fs::symlink_metadata(self.entry(digest)).is_ok()
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
        let mut file = private::open(path)?;
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
        private::publish(&self.directory, &self.entry(digest), &[code, hasher.finalize().as_bytes()])?;
        sweep::prune(&self.directory)
    }

    /// Waits until no other process that shares the directory compiles, at most for `patience`.
    pub(crate) async fn turn(&self, patience: Duration) -> Turn {
        turn::wait(&self.directory, patience).await
    }

    fn hasher(&self, digest: &ComponentDigest) -> blake3::Hasher {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(FORM).update(&self.engine_hash.to_le_bytes()).update(digest);
        hasher
    }

    fn entry(&self, digest: &ComponentDigest) -> PathBuf {
        self.directory.join(format!("{:016x}-{}.{ENTRY_EXTENSION}", self.engine_hash, hex::encode(digest)))
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

#[cfg(test)]
mod tests;
