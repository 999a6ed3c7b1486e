//! The directory of one plugin or package, as a handle. Everything in it is opened through the handle, so that neither `..`, nor an
//! absolute path, nor a link leads out of it. Reads and listings are bounded.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// Most entries of one directory that are looked at.
pub(crate) const MAX_ENTRIES: usize = 1_000;

/// Why a file or directory cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// It is not there.
    #[error("{} does not exist", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// It is somewhere else.
    #[error("{} leads out of {}; files of a plugin must be inside its directory", path.display(), root.display())]
    Outside {
        /// The file.
        path: PathBuf,
        /// Where it should be.
        root: PathBuf,
    },
    /// It is a directory, a pipe, a device.
    #[error("{} is not a file", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// It is too large.
    #[error("{} has more than {max} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        max: usize,
    },
    /// A directory holds too much.
    #[error("{} has more than {max} entries", path.display())]
    TooMany {
        /// The directory.
        path: PathBuf,
        /// The limit.
        max: usize,
    },
    /// The system refuses.
    #[error("cannot read {}: {problem}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// What the system says.
        problem: String,
    },
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    File,
    Directory,
    Other,
}

/// A directory.
#[derive(Debug)]
pub(crate) struct Root {
    path: PathBuf,
    dir: Dir,
}

impl Root {
    /// Opens a directory. It may be a link; what is inside may not lead out of what it points to.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| from_io(path, path, &error))?;
        Ok(Self { path: path.to_owned(), dir })
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What stands at a path inside, links followed.
    pub(crate) fn kind(&self, relative: &Path) -> Result<FileKind, FileError> {
        let metadata = self.dir.metadata(relative).map_err(|error| self.error(relative, &error))?;
        Ok(match (metadata.is_file(), metadata.is_dir()) {
            (true, _) => FileKind::File,
            (_, true) => FileKind::Directory,
            _ => FileKind::Other,
        })
    }

    /// Whether a file stands at a path inside.
    pub(crate) fn has_file(&self, relative: &Path) -> bool {
        matches!(self.kind(relative), Ok(FileKind::File))
    }

    /// The content of a file of at most `max` bytes.
    pub(crate) fn read(&self, relative: &Path, max: usize) -> Result<Vec<u8>, FileError> {
        let path = self.path.join(relative);
        // Opening a pipe would wait for its other end.
        if self.kind(relative)? != FileKind::File {
            return Err(FileError::NotAFile { path });
        }
        let file = self.dir.open(relative).map_err(|error| self.error(relative, &error))?;
        let mut content = Vec::new();
        let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
        file.take(limit).read_to_end(&mut content).map_err(|error| self.error(relative, &error))?;
        if content.len() > max { Err(FileError::TooLarge { path, max }) } else { Ok(content) }
    }

    /// The names in a directory inside, sorted; without those that start with a dot, and without dependencies of other tools.
    pub(crate) fn names(&self, relative: &Path) -> Result<Vec<OsString>, FileError> {
        let entries = self.dir.read_dir(relative).map_err(|error| self.error(relative, &error))?;
        let mut names = Vec::new();
        for entry in entries {
            let name = entry.map_err(|error| self.error(relative, &error))?.file_name();
            if name.as_encoded_bytes().starts_with(b".") || name == "node_modules" {
                continue;
            }
            if names.len() == MAX_ENTRIES {
                return Err(FileError::TooMany { path: self.path.join(relative), max: MAX_ENTRIES });
            }
            names.push(name);
        }
        names.sort();
        Ok(names)
    }

    /// Whether a path inside is itself a link.
    pub(crate) fn is_link(&self, relative: &Path) -> bool {
        self.dir.symlink_metadata(relative).is_ok_and(|metadata| metadata.is_symlink())
    }

    /// The path with all links and dots resolved, relative to the directory.
    pub(crate) fn resolve(&self, relative: &Path) -> Result<PathBuf, FileError> {
        self.dir.canonicalize(relative).map_err(|error| self.error(relative, &error))
    }

    fn error(&self, relative: &Path, error: &io::Error) -> FileError {
        from_io(&self.path.join(relative), &self.path, error)
    }
}

fn from_io(path: &Path, root: &Path, error: &io::Error) -> FileError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => FileError::Missing { path },
        // A refusal of the handle itself has no code of the system.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => FileError::Outside { path, root: root.to_owned() },
        _ => FileError::System { path, problem: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use std::fs;

    use super::*;

    fn place() -> (tempfile::TempDir, Root) {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("root/sub")).unwrap();
        fs::write(place.path().join("secret"), "s").unwrap();
        fs::write(place.path().join("root/file"), "12345").unwrap();
        let root = Root::open(&place.path().join("root")).unwrap();
        (place, root)
    }

    #[test]
    fn reads_are_bounded_and_of_files_only() {
        let (_place, root) = place();
        assert_eq!(root.read(Path::new("./sub/../file"), 5).unwrap(), b"12345");
        assert!(matches!(root.read(Path::new("file"), 4), Err(FileError::TooLarge { max: 4, .. })));
        assert!(matches!(root.read(Path::new("sub"), 5), Err(FileError::NotAFile { .. })));
        assert!(matches!(root.read(Path::new("none"), 5), Err(FileError::Missing { .. })));
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let (place, root) = place();
        let made = std::process::Command::new("mkfifo").arg(place.path().join("root/pipe")).status();
        if made.is_ok_and(|status| status.success()) {
            assert!(matches!(root.read(Path::new("pipe"), 5), Err(FileError::NotAFile { .. })));
        }
    }

    #[cfg(unix)]
    #[test]
    fn nothing_leads_out() {
        let (place, root) = place();
        std::os::unix::fs::symlink("../secret", place.path().join("root/link")).unwrap();
        std::os::unix::fs::symlink(place.path(), place.path().join("root/up")).unwrap();
        std::os::unix::fs::symlink("sub", place.path().join("root/inner")).unwrap();
        let absolute = place.path().join("secret");
        for path in [Path::new("link"), Path::new("up/secret"), Path::new("../secret"), &absolute] {
            assert!(matches!(root.read(path, 5), Err(FileError::Outside { .. })), "{path:?}");
            assert!(matches!(root.resolve(path), Err(FileError::Outside { .. })), "{path:?}");
        }
        assert_eq!(root.resolve(Path::new("inner")).unwrap(), Path::new("sub"));
        assert!(root.is_link(Path::new("inner")) && !root.is_link(Path::new("sub")));
    }

    #[test]
    fn listings_are_sorted_and_bounded() {
        let (place, root) = place();
        for name in ["b", ".hidden", "node_modules", "a"] {
            fs::write(place.path().join("root/sub").join(name), "").unwrap();
        }
        assert_eq!(root.names(Path::new("sub")).unwrap(), ["a", "b"]);
        for n in 0..MAX_ENTRIES {
            fs::write(place.path().join(format!("root/sub/{n}")), "").unwrap();
        }
        assert!(matches!(root.names(Path::new("sub")), Err(FileError::TooMany { .. })));
    }
}
