//! What goes from the cache: the oldest entries when all are too large, what processes that died left half written, and the code of
//! plugins that are removed. Several processes may sweep one directory at once, so that something is gone already is no error.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::private::{self, STAGED_EXTENSION};
use super::{ComponentDigest, ENTRY_EXTENSION};

/// Code of all entries together, in bytes; beyond it the oldest entries go. A Rust plugin has some 400 KiB, a JavaScript one 40 MiB.
const MAX_CACHE_BYTES: u64 = 1 << 30;

/// Age from which a staged file that nobody holds is what a process left behind. Writing one takes a second at most; the rest is for
/// clocks that disagree and for file systems without locks.
const STAGED_MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// Removes the oldest entries while all together are too large, those of other engines among them, and what was left half written.
pub(super) fn prune(directory: &Path) -> io::Result<()> {
    prune_to(directory, MAX_CACHE_BYTES, SystemTime::now())
}

pub(super) fn prune_to(directory: &Path, max_bytes: u64, now: SystemTime) -> io::Result<()> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let Some(metadata) = there(fs::symlink_metadata(&path))? else { continue };
        let modified = metadata.modified()?;
        match path.extension().and_then(|extension| extension.to_str()) {
            Some(ENTRY_EXTENSION) => entries.push((modified, metadata.len(), path)),
            Some(STAGED_EXTENSION) if is_old(modified, now) && is_abandoned(&path) => remove(&path)?,
            _ => {}
        }
    }
    remove_oldest(entries, max_bytes)
}

fn remove_oldest(mut entries: Vec<(SystemTime, u64, PathBuf)>, max_bytes: u64) -> io::Result<()> {
    entries.sort_by_key(|(modified, ..)| std::cmp::Reverse(*modified));
    let mut sum = 0_u64;
    for (_, bytes, path) in entries {
        sum = sum.saturating_add(bytes);
        if sum > max_bytes {
            remove(&path)?;
        }
    }
    Ok(())
}

fn is_old(modified: SystemTime, now: SystemTime) -> bool {
    now.duration_since(modified).is_ok_and(|age| age > STAGED_MAX_AGE)
}

/// Whether no process writes a staged file any more: whoever does holds its lock.
fn is_abandoned(path: &Path) -> bool {
    private::open(path).as_ref().is_ok_and(|file: &File| file.try_lock().is_ok())
}

/// Removes the code of a component, of whatever engine, because nobody needs it any more. A directory that is not there holds none.
///
/// # Errors
/// When the directory cannot be read, or an entry not be removed.
pub fn forget_component(directory: &Path, digest: &ComponentDigest) -> io::Result<()> {
    let end = format!("-{}.{ENTRY_EXTENSION}", hex::encode(digest));
    let Some(entries) = there(fs::read_dir(directory))? else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(end.as_bytes())) {
            remove(&path)?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    there(fs::remove_file(path)).map(drop)
}

/// None: there is nothing, or nothing any more.
fn there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
