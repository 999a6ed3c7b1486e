//! Files of the cache's directory: opened only if they are private to this user, written under another name and moved into place.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Ending of files that are still written.
pub(super) const STAGED_EXTENSION: &str = "new";

pub(super) fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Opens a file of this user that nobody else can touch. Links are not followed, and pipes not waited for.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let file = careful().read(true).open(path)?;
    if is_private(&file)? { Ok(file) } else { Err(io::Error::other("it is not a private file of this user")) }
}

/// The same for a file that is only there to be locked; it is made if it is not there.
pub(super) fn open_lock(path: &Path) -> io::Result<File> {
    let file = careful().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if is_private(&file)? { Ok(file) } else { Err(io::Error::other("it is not a private file of this user")) }
}

fn careful() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

fn is_private(file: &File) -> io::Result<bool> {
    let metadata = file.metadata()?;
    Ok(metadata.is_file() && metadata.uid() == own_uid() && metadata.mode() & 0o077 == 0)
}

/// A file that is written under a name of its own, and locked as long as it is: so others can tell it from what a process that died left
/// behind. It vanishes when it is dropped.
pub(super) struct Staged {
    path: PathBuf,
    _locked: File,
}

impl Staged {
    pub(super) fn write(directory: &Path, parts: &[&[u8]]) -> io::Result<Self> {
        // By chance and not by process: a directory may be shared by containers, in which numbers of processes repeat.
        let mut name = [0; 16];
        getrandom::fill(&mut name).map_err(io::Error::other)?;
        let path = directory.join(format!(".{}.{STAGED_EXTENSION}", hex::encode(name)));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        // On a file system without locks its age alone tells.
        let _ = file.try_lock();
        let written = parts.iter().try_for_each(|part| file.write_all(part));
        let staged = Self { path, _locked: file };
        written.map(|()| staged)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // It is not there any more if it was moved, and nobody else has its name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Writes a file so that nobody sees half of it.
pub(super) fn publish(directory: &Path, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    let staged = Staged::write(directory, parts)?;
    fs::rename(staged.path(), path)
}
