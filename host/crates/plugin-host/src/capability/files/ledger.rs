//! How much a plugin keeps in its directory. What is added is counted before it is written, by the size that the file really has then, so
//! the count is never below the truth; what is taken away is found out by looking at the directory again, when the count reaches the
//! quota. One change at a time, over all instances.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, OnceLock};

use tokio::sync::Mutex;
use wasmtime_wasi::runtime::spawn_blocking;

use super::InUse;
use super::scan::scan;
use crate::grant::FsGrant;

/// The directory is looked at again after this part of the quota was added, because other processes of the operator write there too.
const TRUSTED_PART: u64 = 16;

/// What a plugin keeps, and may keep.
pub(super) struct Ledger {
    grant: FsGrant,
    root: OnceLock<Arc<File>>,
    in_use: Arc<InUse>,
    used: Arc<Mutex<Used>>,
}

/// What is there; never less than the truth.
#[derive(Default)]
pub(super) struct Used {
    bytes: u64,
    files: u64,
    /// What may be added before the directory is looked at again. Nothing before it was looked at once.
    trusted_bytes: u64,
    trusted_files: u64,
}

/// Why something is not added.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    /// Too many bytes.
    #[error("the files would take {after} bytes; the quota is {max}")]
    Bytes {
        /// Afterwards.
        after: u64,
        /// Granted.
        max: u64,
    },
    /// Too many files.
    #[error("there would be {after} files and directories; the quota is {max}")]
    Files {
        /// Afterwards.
        after: u64,
        /// Granted.
        max: u64,
    },
    /// The directory cannot be looked at.
    #[error("the files cannot be counted")]
    Unreadable(#[source] io::Error),
}

/// Why a change of a file was not made.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChangeError {
    /// The quota.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The file.
    #[error(transparent)]
    File(#[from] io::Error),
}

/// Where a write goes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    /// So many bytes after the start.
    At(u64),
    /// Behind the last byte.
    End,
}

impl Ledger {
    pub(super) fn new(grant: FsGrant, in_use: Arc<InUse>) -> Self {
        Self { grant, root: OnceLock::new(), in_use, used: Arc::default() }
    }

    /// Says which directory it counts.
    pub(super) fn set_root(&self, root: Arc<File>) {
        let _ = self.root.set(root);
    }

    /// Counts further files or directories, and bytes of links, before they are made.
    pub(super) async fn add(self: &Arc<Self>, files: u64, bytes: u64) -> Result<(), Refusal> {
        self.change(move |ledger, used| ledger.take(used, files, bytes)).await
    }

    /// Writes to a file; how much was written.
    pub(super) async fn write(
        self: &Arc<Self>,
        file: Arc<File>,
        place: Place,
        bytes: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<usize, ChangeError> {
        self.change(move |ledger, used| {
            let bytes = bytes.as_ref();
            let length = file.metadata()?.len();
            let start = match place {
                Place::At(offset) => offset,
                Place::End => length,
            };
            ledger.take(used, 0, start.saturating_add(bytes.len() as u64).saturating_sub(length))?;
            Ok(match place {
                Place::At(offset) => file.write_at(bytes, offset)?,
                Place::End => append(&file, bytes)?,
            })
        })
        .await
    }

    /// Sets the length of a file.
    pub(super) async fn set_size(self: &Arc<Self>, file: Arc<File>, size: u64) -> Result<(), ChangeError> {
        self.change(move |ledger, used| {
            ledger.take(used, 0, size.saturating_sub(file.metadata()?.len()))?;
            Ok(file.set_len(size)?)
        })
        .await
    }

    /// One change, on a thread that may wait. It is finished even if nobody waits for it any more.
    async fn change<T: Send + 'static>(self: &Arc<Self>, work: impl FnOnce(&Self, &mut Used) -> T + Send + 'static) -> T {
        let mut used = Arc::clone(&self.used).lock_owned().await;
        let ledger = Arc::clone(self);
        spawn_blocking(move || work(&ledger, &mut used)).await
    }

    fn take(&self, used: &mut Used, files: u64, bytes: u64) -> Result<(), Refusal> {
        if (files, bytes) == (0, 0) {
            return Ok(());
        }
        if self.check(used, files, bytes).is_err() || used.trusted_bytes < bytes || used.trusted_files < files {
            *used = self.look().map_err(Refusal::Unreadable)?;
        }
        self.check(used, files, bytes)?;
        used.files += files;
        used.bytes += bytes;
        used.trusted_files = used.trusted_files.saturating_sub(files);
        used.trusted_bytes = used.trusted_bytes.saturating_sub(bytes);
        Ok(())
    }

    fn check(&self, used: &Used, files: u64, bytes: u64) -> Result<(), Refusal> {
        let FsGrant { max_bytes, max_files, .. } = self.grant;
        match (used.files.saturating_add(files), used.bytes.saturating_add(bytes)) {
            (after, _) if files > 0 && after > max_files => Err(Refusal::Files { after, max: max_files }),
            (_, after) if bytes > 0 && after > max_bytes => Err(Refusal::Bytes { after, max: max_bytes }),
            _ => Ok(()),
        }
    }

    fn look(&self) -> io::Result<Used> {
        let root = self.root.get().ok_or_else(|| io::Error::other("BUG: the directory was not opened"))?;
        let found = scan(root, &self.in_use.files())?;
        let FsGrant { max_bytes, max_files, .. } = self.grant;
        let part = |max: u64| (max / TRUSTED_PART).max(1);
        Ok(Used { bytes: found.bytes, files: found.files, trusted_bytes: part(max_bytes), trusted_files: part(max_files) })
    }
}

/// Adds to the end, wherever that is by now: another process may append to the same file.
fn append(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

    // The handle belongs to one descriptor of a guest, and changes of a plugin's files are made one after another.
    let flags = fcntl_getfl(file)?;
    fcntl_setfl(file, flags | OFlags::APPEND)?;
    let written = io::Write::write(&mut file, bytes);
    fcntl_setfl(file, flags)?;
    written
}
