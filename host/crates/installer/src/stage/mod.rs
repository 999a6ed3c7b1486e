//! Staging: brings what a source holds into a private directory, under limits, without running or believing anything of it. Whether it is
//! a plugin that may be installed is decided elsewhere.

mod archive;
mod directory;
mod name;
mod oci;
mod source;
mod tree;

use std::io;
use std::path::{Path, PathBuf};

use crate::digest::read_file;
use crate::disk::Disk;
use crate::signature;

pub use source::{Source, SourceError, SourceKind};
pub(crate) use tree::Tree;

/// File name of a component that came alone.
const COMPONENT_FILE: &str = "plugin.wasm";

/// How much one installation may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Files and directories.
    pub entries: usize,
    /// Bytes of all files together, unpacked; and of an archive as it is.
    pub bytes: u64,
    /// Directories inside each other.
    pub depth: usize,
}

impl Default for Limits {
    /// A component has at most 64 MiB; the rest is text. A thousand files is what discovery looks at in one directory.
    fn default() -> Self {
        Self { entries: 1_000, bytes: 128 << 20, depth: 16 }
    }
}

/// Why a source cannot be staged.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The source cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The staging directory takes nothing.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// An entry is refused.
    #[error("the entry `{name}` {problem}")]
    Entry {
        /// Its name.
        name: String,
        /// Why.
        problem: String,
    },
    /// It holds too much.
    #[error("it holds more than {max} files and directories (`{name}` is one too many)")]
    TooMany {
        /// The limit.
        max: usize,
        /// The first one above it.
        name: String,
    },
    /// It holds too much.
    #[error("it unpacks to more than {max} bytes")]
    TooLarge {
        /// The limit in bytes.
        max: u64,
    },
    /// The archive is not one.
    #[error("the archive is damaged or not what its name says: {0}")]
    Archive(String),
    /// The image layout is not one that this host takes.
    #[error("the image layout cannot be used: {0}")]
    Oci(String),
}

/// What was staged.
#[derive(Debug)]
pub(crate) struct Staged {
    /// Directory of the plugin.
    pub(crate) root: PathBuf,
    /// A file that was not in the source: the package file of a component that came alone.
    pub(crate) added_file: Option<String>,
    /// The signature that came with it, as it is.
    pub(crate) signature: Option<Vec<u8>>,
}

/// Brings a source into a new directory `into`.
pub(crate) fn stage(source: &Source, into: &Path, disk: &dyn Disk, limits: &Limits) -> Result<Staged, StageError> {
    disk.create_dir(into).map_err(|source| StageError::Write { path: into.to_owned(), source })?;
    let mut tree = Tree::new(disk, into, limits);
    let mut signature = None;
    match source.kind {
        SourceKind::Directory => directory::copy(&source.path, &mut tree)?,
        SourceKind::Tar => archive::unpack_tar(open(&source.path, limits)?, &mut tree)?,
        SourceKind::TarGz => archive::unpack_tar(archive::gunzip(open(&source.path, limits)?), &mut tree)?,
        SourceKind::Zip => archive::unpack_zip(open(&source.path, limits)?, &mut tree)?,
        SourceKind::Component => {
            let bytes = read(&source.path, limits.bytes)?;
            tree.file(COMPONENT_FILE.as_bytes(), &mut bytes.as_slice())?;
            signature =
                signature::beside(&source.path).map_err(|error| read_error(&signature::path_beside(&source.path), error))?;
        }
        SourceKind::OciLayout => signature = oci::unpack(&source.path, &mut tree, limits)?,
    }
    let root = directory::descend(into).map_err(|error| read_error(into, error))?;
    if signature.is_none() {
        let path = root.join(signature::FILE_NAME);
        signature = optional(read_file(&path, signature::MAX_BYTES)).map_err(|error| read_error(&path, error))?;
    }
    let added_file = directory::complete(&root, disk)?.map(str::to_owned);
    Ok(Staged { root, added_file, signature })
}

/// An archive, opened. Its size is bounded, because its list of entries is read as a whole.
fn open(path: &Path, limits: &Limits) -> Result<std::fs::File, StageError> {
    let file = std::fs::File::open(path).map_err(|error| read_error(path, error))?;
    let metadata = file.metadata().map_err(|error| read_error(path, error))?;
    if metadata.len() > limits.bytes {
        return Err(StageError::TooLarge { max: limits.bytes });
    }
    Ok(file)
}

fn read(path: &Path, max: u64) -> Result<Vec<u8>, StageError> {
    // The path that the operator named may be a link.
    let real = std::fs::canonicalize(path).map_err(|error| read_error(path, error))?;
    read_file(&real, max).map_err(|error| read_error(path, error))
}

fn read_error(path: &Path, source: io::Error) -> StageError {
    StageError::Read { path: path.to_owned(), source }
}

/// What is not there is none.
pub(crate) fn optional<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
