//! Public keys that may sign plugins: files `<key id>.pub` of the trust directory, and lines of the configuration. Only what its owner
//! alone can change counts, since a key more is a door more.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::key::{KeyError, KeyId, PublicKey};
use crate::digest::read_file;
use crate::disk::{Disk, SystemDisk};

/// Most keys of a trust directory.
const MAX_KEYS: usize = 256;

/// Largest key file, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 10;

/// A key that may sign plugins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedKey {
    /// The key.
    pub key: PublicKey,
    /// Whose it is, in the operator's words.
    pub remark: String,
    /// Its file; none: it stands in the configuration.
    pub file: Option<PathBuf>,
}

/// Why the trust store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A file cannot be read or written.
    #[error("{} cannot be used: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else could put a key there.
    #[error("{} can be changed by others, so no key in it can be trusted; it must belong to you or root and be writable for its owner alone", path.display())]
    NotOwn {
        /// The file or directory.
        path: PathBuf,
    },
    /// There are too many.
    #[error("{} holds more than {MAX_KEYS} keys", path.display())]
    TooMany {
        /// The directory.
        path: PathBuf,
    },
    /// A key cannot be read.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// There is no such key.
    #[error("no key {0} is trusted by a file in the trust directory; `creel plugins trust list` shows all")]
    NoSuchKey(KeyId),
}

/// All trusted keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustStore {
    keys: Vec<TrustedKey>,
}

impl TrustStore {
    /// Reads the keys of a directory, which need not exist, and those that the configuration names.
    ///
    /// # Errors
    /// When one of them cannot be read or trusted. A store with a doubtful key is not used at all.
    pub fn read(directory: &Path, configured: &[String]) -> Result<Self, TrustError> {
        let mut keys = Vec::new();
        for (index, line) in configured.iter().enumerate() {
            let (key, remark) = PublicKey::parse(line, &format!("plugins.install.trustedKeys[{index}]"))?;
            keys.push(TrustedKey { key, remark, file: None });
        }
        for path in key_files(directory)? {
            let text = read_own(&path)?;
            let (key, remark) = PublicKey::parse(&String::from_utf8_lossy(&text), &path.display().to_string())?;
            keys.push(TrustedKey { key, remark, file: Some(path) });
        }
        Ok(Self { keys })
    }

    /// All keys, those of the configuration first.
    pub fn keys(&self) -> &[TrustedKey] {
        &self.keys
    }

    /// The key of that id.
    pub fn key(&self, id: &KeyId) -> Option<&TrustedKey> {
        self.keys.iter().find(|trusted| trusted.key.id() == *id)
    }

    /// Adds a key to a directory, which is made if need be. A key that is there gets the new remark.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn add(directory: &Path, key: &PublicKey, remark: &str) -> Result<PathBuf, TrustError> {
        let path = directory.join(format!("{}.pub", key.id()));
        let written = || {
            if let Some(parent) = directory.parent() {
                fs::create_dir_all(parent)?;
            }
            if !directory.exists() {
                SystemDisk.create_dir(directory)?;
            }
            SystemDisk.remove(&path)?;
            SystemDisk.write_new(&path, key.to_line(remark).as_bytes())
        };
        written().map_err(|source| TrustError::File { path: path.clone(), source })?;
        check_own(directory)?;
        Ok(path)
    }

    /// Removes a key from a directory.
    ///
    /// # Errors
    /// When no file there holds it.
    pub fn remove(directory: &Path, id: &KeyId) -> Result<PathBuf, TrustError> {
        let store = Self::read(directory, &[])?;
        let path = store.key(id).and_then(|trusted| trusted.file.clone()).ok_or_else(|| TrustError::NoSuchKey(id.clone()))?;
        SystemDisk.remove(&path).map_err(|source| TrustError::File { path: path.clone(), source })?;
        Ok(path)
    }
}

/// The files of a directory that are keys, sorted.
fn key_files(directory: &Path) -> Result<Vec<PathBuf>, TrustError> {
    let failed = |source| TrustError::File { path: directory.to_owned(), source };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    check_own(directory)?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "pub") {
            files.push(path);
        }
        if files.len() > MAX_KEYS {
            return Err(TrustError::TooMany { path: directory.to_owned() });
        }
    }
    files.sort();
    Ok(files)
}

fn read_own(path: &Path) -> Result<Vec<u8>, TrustError> {
    check_own(path)?;
    read_file(path, MAX_FILE_BYTES).map_err(|source| TrustError::File { path: path.to_owned(), source })
}

/// Refuses what others can change.
fn check_own(path: &Path) -> Result<(), TrustError> {
    let metadata = fs::symlink_metadata(path).map_err(|source| TrustError::File { path: path.to_owned(), source })?;
    let is_own = [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid());
    if is_own && metadata.mode() & 0o022 == 0 { Ok(()) } else { Err(TrustError::NotOwn { path: path.to_owned() }) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::os::unix::fs::PermissionsExt;

    use super::super::SigningKey;
    use super::*;

    fn key(dir: &Path) -> PublicKey {
        SigningKey::generate(&dir.join(format!("{}.key", uuid::Uuid::now_v7()))).unwrap().public().clone()
    }

    #[test]
    fn keys_come_and_go() {
        let dir = tempfile::tempdir().unwrap();
        let trust = dir.path().join("state/trust");
        assert_eq!(TrustStore::read(&trust, &[]).unwrap().keys(), []);
        let (first, second) = (key(dir.path()), key(dir.path()));
        TrustStore::add(&trust, &first, "one").unwrap();
        TrustStore::add(&trust, &first, "the first").unwrap();
        let store = TrustStore::read(&trust, &[second.to_line("configured")]).unwrap();
        assert_eq!(store.keys().len(), 2);
        assert_eq!(store.key(&first.id()).unwrap().remark, "the first");
        assert_eq!(store.key(&second.id()).unwrap().file, None);
        TrustStore::remove(&trust, &first.id()).unwrap();
        assert!(matches!(TrustStore::remove(&trust, &second.id()), Err(TrustError::NoSuchKey(_))));
        assert_eq!(TrustStore::read(&trust, &[]).unwrap().keys(), []);
    }

    #[test]
    fn what_others_can_change_is_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        let trust = dir.path().join("trust");
        let path = TrustStore::add(&trust, &key(dir.path()), "").unwrap();
        for (spoiled, mode) in [(&path, 0o620), (&path, 0o602), (&trust, 0o770), (&trust, 0o707)] {
            let before = fs::metadata(spoiled).unwrap().permissions();
            fs::set_permissions(spoiled, fs::Permissions::from_mode(mode)).unwrap();
            assert!(matches!(TrustStore::read(&trust, &[]), Err(TrustError::NotOwn { .. })), "{spoiled:?} {mode:o}");
            fs::set_permissions(spoiled, before).unwrap();
        }
        assert_eq!(TrustStore::read(&trust, &[]).unwrap().keys().len(), 1);
        let elsewhere = dir.path().join("elsewhere");
        fs::rename(&path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        assert!(TrustStore::read(&trust, &[]).is_err(), "a link is no key");
    }

    #[test]
    fn one_damaged_key_spoils_the_store() {
        let dir = tempfile::tempdir().unwrap();
        TrustStore::add(dir.path(), &key(dir.path()), "").unwrap();
        fs::write(dir.path().join("bad.pub"), "nonsense").unwrap();
        assert!(matches!(TrustStore::read(dir.path(), &[]), Err(TrustError::Key(_))));
    }
}
