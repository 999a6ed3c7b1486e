//! Whether plugins that are trusted because they ship with the host can be changed by somebody else. Only looks; it never mends anything.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::DiscoveryError;

/// Deepest directory that is looked at; nothing that the host loads is deeper.
const MAX_DEPTH: usize = 16;

/// Permission bits of a file that others than its owner may write to.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Refuses a file or directory that somebody else than root and the host's own user can change.
pub(super) fn check(path: &Path) -> Result<(), DiscoveryError> {
    let metadata = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if is_protected(&metadata) { Ok(()) } else { Err(DiscoveryError::Unprotected { path: path.to_owned() }) }
}

/// The same for all that is below a directory. Links are followed for one step: a link that leads out of a plugin is refused when it is
/// opened.
pub(super) fn check_all(path: &Path) -> Result<(), DiscoveryError> {
    check_below(path, 0)
}

fn check_below(path: &Path, depth: usize) -> Result<(), DiscoveryError> {
    check(path)?;
    let is_directory = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
    if !is_directory || depth == MAX_DEPTH {
        return Ok(());
    }
    for entry in fs::read_dir(path).map_err(|error| unreadable(path, &error))? {
        let path = entry.map_err(|error| unreadable(path, &error))?.path();
        // A link to nothing is no way in.
        if path.exists() {
            check_below(&path, depth + 1)?;
        }
    }
    Ok(())
}

fn is_protected(metadata: &Metadata) -> bool {
    let owners = [0, rustix::process::geteuid().as_raw()];
    metadata.mode() & WRITABLE_BY_OTHERS == 0 && owners.contains(&metadata.uid())
}

fn unreadable(path: &Path, error: &std::io::Error) -> DiscoveryError {
    super::FileError::System { path: path.to_owned(), problem: error.to_string() }.into()
}
