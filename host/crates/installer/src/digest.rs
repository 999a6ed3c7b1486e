//! SHA-256 digests of files and of whole directories of plugins.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::stage::Limits;

/// Digests of the files of a directory, by path with `/`, in hex digits.
pub type Files = BTreeMap<String, String>;

/// The digest of bytes, in hex digits.
pub fn sha256(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The content of a file of at most `max` bytes. Follows no link and waits for no pipe.
pub(crate) fn read_file(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max { Err(io::Error::other(format!("it has more than {max} bytes"))) } else { Ok(bytes) }
}

/// Digests of everything in a directory. Names that no plugin can have (hidden ones, dependencies of other tools) are passed over, as
/// discovery does.
///
/// # Errors
/// When there is a link, a pipe or a device, more than an installation may bring, or something that cannot be read.
pub(crate) fn files(root: &Path, limits: &Limits) -> io::Result<Files> {
    let mut walk = Walk { limits, bytes: 0, entries: 0, files: Files::new() };
    walk.directory(root, &PathBuf::new(), 0)?;
    Ok(walk.files)
}

struct Walk<'a> {
    limits: &'a Limits,
    bytes: u64,
    entries: usize,
    files: Files,
}

impl Walk<'_> {
    fn directory(&mut self, root: &Path, relative: &Path, depth: usize) -> io::Result<()> {
        if depth > self.limits.depth {
            return Err(at(relative, "is too deep in the directory"));
        }
        for entry in fs::read_dir(root.join(relative))? {
            let entry = entry?;
            let name = entry.file_name();
            if is_passed_over(name.as_encoded_bytes()) {
                continue;
            }
            self.entries += 1;
            if self.entries > self.limits.entries {
                return Err(at(relative, &format!("brings the directory to more than {} entries", self.limits.entries)));
            }
            let relative = relative.join(name);
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.directory(root, &relative, depth + 1)?;
            } else if kind.is_file() {
                self.file(root, &relative)?;
            } else {
                return Err(at(&relative, "is a link, a pipe or a device"));
            }
        }
        Ok(())
    }

    fn file(&mut self, root: &Path, relative: &Path) -> io::Result<()> {
        let bytes = read_file(&root.join(relative), self.limits.bytes - self.bytes)
            .map_err(|error| at(relative, &format!("cannot be read: {error}")))?;
        self.bytes += bytes.len() as u64;
        let name = relative.to_str().ok_or_else(|| at(relative, "has a name that is not UTF-8"))?;
        self.files.insert(name.to_owned(), sha256(&bytes));
        Ok(())
    }
}

fn at(path: &Path, problem: &str) -> io::Error {
    io::Error::other(format!("{} {problem}", path.display()))
}

/// Whether a name is nothing of a plugin.
pub(crate) fn is_passed_over(name: &[u8]) -> bool {
    name.starts_with(b".") || name == b"node_modules"
}
