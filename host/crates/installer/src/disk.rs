//! Every change of a disk that an installation makes goes through this port, so that a test can let each of them fail, or let the machine
//! die at it. Reading is not here: it changes nothing.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Changes of a disk. What returned is on the disk as far as the system's `fsync` tells the truth; a directory's names are when
/// [`Disk::sync_dir`] returned.
pub trait Disk: Send + Sync {
    /// Makes a directory that only this user can enter. Its parent exists, it does not.
    ///
    /// # Errors
    /// When the system refuses.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes a file that only this user can read, with these bytes. It does not exist yet, not even as a link.
    ///
    /// # Errors
    /// When the system refuses; half of the file may be there then.
    fn write_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Gives a file or directory another place on the same file system. Replaces a file, and nothing else.
    ///
    /// # Errors
    /// When the system refuses.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Exchanges two directories, so that neither place is empty at any moment.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where the file system cannot; otherwise when the system refuses.
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()>;

    /// Removes a file or a whole directory; what is not there is no error. Follows no link.
    ///
    /// # Errors
    /// When the system refuses; a part of a directory may be gone then.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Brings the names in a directory to the disk.
    ///
    /// # Errors
    /// When the system refuses.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
}

/// The disk of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    fn write_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).map_err(|errno| match errno {
            Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP => io::ErrorKind::Unsupported.into(),
            other => other.into(),
        })
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    fn exchange(&self, _one: &Path, _other: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}
