//! Guards between processes: one installer at a time, and nobody reads plugins in the moment in which they are switched. A guard is a
//! lock on an open file; the system takes it back when its process ends, however it ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::disk::Disk;
use crate::layout::Layout;

/// Held by an installer from its first change to its last.
const INSTALLER: &str = "installer.guard";

/// Held by an installer while it switches, shared by those who read.
const SWITCH: &str = "switch.guard";

/// A guard that is held until it is dropped.
#[derive(Debug)]
pub struct Guard {
    _file: File,
}

/// Makes the private directory of changes, if need be.
pub(crate) fn prepare(layout: &Layout, disk: &dyn Disk) -> io::Result<()> {
    std::fs::create_dir_all(layout.state())?;
    for directory in [layout.plugins(), layout.work()] {
        match disk.create_dir(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    check_private(&layout.work())
}

/// Refuses a directory of changes that somebody else could reach into.
fn check_private(work: &Path) -> io::Result<()> {
    let metadata = std::fs::symlink_metadata(work)?;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
    if metadata.is_dir() && is_own && metadata.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::other(format!("{} is not a private directory of this user; remove it", work.display())))
}

/// The guard of installers; none: another one is at work.
pub(crate) fn try_installer(layout: &Layout) -> io::Result<Option<Guard>> {
    let file = open(layout, INSTALLER)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Guard { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The guard of the switch, for the one who switches. Waits for readers.
pub(crate) fn switch(layout: &Layout) -> io::Result<Guard> {
    let file = open(layout, SWITCH)?;
    file.lock()?;
    Ok(Guard { _file: file })
}

/// Keeps installed plugins from being switched while they are read. None: nothing was ever installed here. Waits while a switch is under
/// way, which takes a few renames.
///
/// # Errors
/// When the guard cannot be taken.
pub fn reading(layout: &Layout) -> io::Result<Option<Guard>> {
    if !layout.work().is_dir() {
        return Ok(None);
    }
    let file = open(layout, SWITCH)?;
    file.lock_shared()?;
    Ok(Some(Guard { _file: file }))
}

fn open(layout: &Layout, name: &str) -> io::Result<File> {
    let path = layout.work().join(name);
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}
