//! Writes what a source holds into the staging directory, under limits: entries, bytes, depth, and no two names that a file system could
//! take for one.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::name::{self, EntryName};
use super::{Limits, StageError};
use crate::disk::Disk;

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
}

/// A directory that is being filled.
pub(crate) struct Tree<'a> {
    disk: &'a dyn Disk,
    root: &'a Path,
    limits: &'a Limits,
    /// By path in lower case: some file systems do not tell cases apart.
    taken: BTreeMap<String, (PathBuf, Kind)>,
    entries: usize,
    bytes: u64,
}

impl<'a> Tree<'a> {
    /// A tree below a directory that exists and is empty.
    pub(crate) fn new(disk: &'a dyn Disk, root: &'a Path, limits: &'a Limits) -> Self {
        Self { disk, root, limits, taken: BTreeMap::new(), entries: 0, bytes: 0 }
    }

    /// What it is held to.
    pub(crate) fn limits(&self) -> &Limits {
        self.limits
    }

    /// Bytes that may still come.
    pub(crate) fn bytes_left(&self) -> u64 {
        self.limits.bytes - self.bytes
    }

    /// Adds a directory.
    pub(crate) fn directory(&mut self, raw: &[u8]) -> Result<(), StageError> {
        self.count(raw)?;
        match self.name(raw)? {
            EntryName::Path(path) => self.make_directories(&path),
            EntryName::Root | EntryName::PassedOver => Ok(()),
        }
    }

    /// Adds a file with what `content` gives.
    pub(crate) fn file(&mut self, raw: &[u8], content: &mut dyn Read) -> Result<(), StageError> {
        self.count(raw)?;
        let path = match self.name(raw)? {
            EntryName::Path(path) => path,
            EntryName::Root => return Err(refuse(raw, "has an empty part or a `.` in its path")),
            EntryName::PassedOver => return Ok(()),
        };
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            self.make_directories(parent)?;
        }
        self.take(&path, Kind::File)?;
        let mut bytes = Vec::new();
        content
            .take(self.bytes_left() + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| refuse(raw, &format!("cannot be unpacked: {error}")))?;
        if bytes.len() as u64 > self.bytes_left() {
            return Err(StageError::TooLarge { max: self.limits.bytes });
        }
        self.bytes += bytes.len() as u64;
        let target = self.root.join(path);
        self.disk.write_new(&target, &bytes).map_err(|source| StageError::Write { path: target, source })
    }

    fn count(&mut self, raw: &[u8]) -> Result<(), StageError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(StageError::TooMany { max: self.limits.entries, name: shown(raw) });
        }
        Ok(())
    }

    fn name(&self, raw: &[u8]) -> Result<EntryName, StageError> {
        name::read(raw, self.limits.depth).map_err(|problem| StageError::Entry { name: shown(raw), problem })
    }

    /// Makes a directory and those above it.
    fn make_directories(&mut self, path: &Path) -> Result<(), StageError> {
        let mut so_far = PathBuf::new();
        for part in path {
            so_far.push(part);
            if self.take(&so_far, Kind::Directory)? {
                let target = self.root.join(&so_far);
                self.disk.create_dir(&target).map_err(|source| StageError::Write { path: target, source })?;
            }
        }
        Ok(())
    }

    /// Takes a path; false: it is a directory that is there already.
    fn take(&mut self, path: &Path, kind: Kind) -> Result<bool, StageError> {
        let key = path.to_string_lossy().to_lowercase();
        match self.taken.get(&key) {
            None => {
                self.taken.insert(key, (path.to_owned(), kind));
                Ok(true)
            }
            Some((known, Kind::Directory)) if kind == Kind::Directory && known == path => Ok(false),
            Some((known, _)) => Err(StageError::Entry {
                name: path.display().to_string(),
                problem: format!("is there twice, the other time as {}", known.display()),
            }),
        }
    }
}

/// A refusal of an entry.
pub(crate) fn refuse(raw: &[u8], problem: &str) -> StageError {
    StageError::Entry { name: shown(raw), problem: problem.to_owned() }
}

/// A name as a message can show it.
fn shown(raw: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(raw).chars().take(120).collect();
    text.escape_debug().to_string()
}
