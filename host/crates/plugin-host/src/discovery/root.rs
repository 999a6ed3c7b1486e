//! The directory of one plugin or package, as a handle. Everything in it is opened through the handle, so that neither `..`, nor an
//! absolute path, nor a link leads out of it. Reads and listings are bounded, and only regular files are read: a pipe would be waited for
//! without end.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, File, OpenOptions, OpenOptionsExt};

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

/// The names in a directory.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The first ones, in order.
    pub(crate) names: Vec<OsString>,
    /// How many more there are.
    pub(crate) left_out: usize,
}

/// Hidden names, and dependencies of other tools.
fn is_passed_over(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") || name == "node_modules"
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
        // Looked at before it is opened, because opening a device may do something, and again in `open`, because it may be another
        // one by then.
        if self.kind(relative)? != FileKind::File {
            return Err(FileError::NotAFile { path });
        }
        let file = self.open_regular(relative)?;
        let mut content = Vec::new();
        let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
        file.take(limit).read_to_end(&mut content).map_err(|error| self.error(relative, &error))?;
        if content.len() > max { Err(FileError::TooLarge { path, max }) } else { Ok(content) }
    }

    /// Opens a regular file without waiting: that of a pipe without a writer ends at once instead of never.
    fn open_regular(&self, relative: &Path) -> Result<File, FileError> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let file = self.dir.open_with(relative, &options).map_err(|error| self.error(relative, &error))?;
        let metadata = file.metadata().map_err(|error| self.error(relative, &error))?;
        if metadata.is_file() { Ok(file) } else { Err(FileError::NotAFile { path: self.path.join(relative) }) }
    }

    /// The names in a directory inside, sorted; without those that start with a dot, and without dependencies of other tools.
    pub(crate) fn names(&self, relative: &Path) -> Result<Vec<OsString>, FileError> {
        let listing = self.list(relative, |_| true)?;
        if listing.left_out > 0 {
            return Err(FileError::TooMany { path: self.path.join(relative), max: MAX_ENTRIES });
        }
        Ok(listing.names)
    }

    /// The first names of those that count, sorted, and how many are left out beyond [`MAX_ENTRIES`]; which ones are the first does not
    /// depend on the order in which the system lists them.
    pub(crate) fn list(&self, relative: &Path, counts: impl Fn(&DirEntry) -> bool) -> Result<Listing, FileError> {
        let entries = self.dir.read_dir(relative).map_err(|error| self.error(relative, &error))?;
        let (mut names, mut left_out) = (BTreeSet::new(), 0);
        for entry in entries {
            let entry = entry.map_err(|error| self.error(relative, &error))?;
            let name = entry.file_name();
            if is_passed_over(&name) || !counts(&entry) {
                continue;
            }
            names.insert(name);
            if names.len() > MAX_ENTRIES {
                names.pop_last();
                left_out += 1;
            }
        }
        Ok(Listing { names: names.into_iter().collect(), left_out })
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

    /// A pipe that takes the place of a file after it was looked at.
    #[test]
    fn a_pipe_that_was_a_file_a_moment_ago_is_not_waited_for() {
        let (place, root) = place();
        let made = std::process::Command::new("mkfifo").arg(place.path().join("root/pipe")).status();
        assert!(made.unwrap().success());
        assert!(matches!(root.open_regular(Path::new("pipe")), Err(FileError::NotAFile { .. })));
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
        let listing = root.list(Path::new("sub"), |_| true).unwrap();
        let mut expected: Vec<String> = (0..MAX_ENTRIES).map(|n| n.to_string()).chain(["a".to_owned(), "b".to_owned()]).collect();
        expected.sort();
        expected.truncate(MAX_ENTRIES);
        assert_eq!((listing.names.len(), listing.left_out), (MAX_ENTRIES, 2));
        assert!(listing.names.iter().zip(&expected).all(|(name, expected)| name == expected.as_str()));
        let letters = root.list(Path::new("sub"), |entry| entry.file_name().as_encoded_bytes()[0].is_ascii_alphabetic()).unwrap();
        assert_eq!((letters.names, letters.left_out), (vec![OsString::from("a"), OsString::from("b")], 0));
    }
}
