//! Counts what lies in a directory, by handles: no link is followed, and nothing outside is looked at.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::sync::Arc;

use cap_std::fs::{Dir, MetadataExt as _};

use crate::grant::MAX_FS_FILES;

/// Deepest nesting that is looked into; a handle is open for each level meanwhile. Whoever nests deeper has used up everything.
const MAX_DEPTH: usize = 32;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Found {
    /// Sizes of files and lengths of links, in bytes.
    pub(super) bytes: u64,
    /// Files, directories and links.
    pub(super) files: u64,
}

impl Found {
    /// More than anybody is granted.
    const TOO_MUCH: Self = Self { bytes: u64::MAX, files: u64::MAX };
}

/// Counts everything below a directory, and what instances still have open after it was removed there.
pub(super) fn scan(root: &File, open: &[Arc<File>]) -> io::Result<Found> {
    let mut scan = Scan { found: Found::default(), seen: HashSet::new() };
    if scan.walk(&Dir::from_std_file(root.try_clone()?), 0)?.is_break() {
        return Ok(Found::TOO_MUCH);
    }
    for file in open {
        let metadata = file.metadata()?;
        if metadata.nlink() == 0 && metadata.is_file() && scan.seen.insert((metadata.dev(), metadata.ino())) {
            scan.found.bytes = scan.found.bytes.saturating_add(metadata.len());
        }
    }
    Ok(scan.found)
}

struct Scan {
    found: Found,
    /// Files with several names, so that their bytes count once.
    seen: HashSet<(u64, u64)>,
}

impl Scan {
    /// Adds what lies below a directory, level by level, so that few handles are open at once. A break: it is too much.
    fn walk(&mut self, dir: &Dir, depth: usize) -> io::Result<ControlFlow<()>> {
        for entry in dir.entries()? {
            let entry = entry?;
            let Some(metadata) = unless_gone(entry.metadata())? else { continue };
            self.found.files += 1;
            if self.found.files > MAX_FS_FILES {
                return Ok(ControlFlow::Break(()));
            }
            if !metadata.is_dir() {
                if metadata.nlink() < 2 || self.seen.insert((metadata.dev(), metadata.ino())) {
                    self.found.bytes = self.found.bytes.saturating_add(metadata.len());
                }
                continue;
            }
            let Some(inner) = unless_gone(entry.open_dir())? else { continue };
            if depth == MAX_DEPTH || self.walk(&inner, depth + 1)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// None: somebody removed it meanwhile.
fn unless_gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(thing) => Ok(Some(thing)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
