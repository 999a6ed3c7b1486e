//! The one directory that file tools may touch. Paths of a model are resolved through a directory handle, so an escape fails in the
//! file system and is not merely looked for; this file never opens a path by name outside that handle.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::{Dir, File, Metadata, OpenOptions, OpenOptionsExt};
use domain::tool::ToolFailure;
use rustix::fs::OFlags;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// The directory that file tools may touch, and the path under which models know it.
#[derive(Clone, Debug)]
pub struct Root {
    dir: Arc<Dir>,
    path: Arc<Path>,
    /// The same without links, if that is another path: commands print it, so models use it.
    real_path: Option<Arc<Path>>,
    changes: Arc<Mutex<()>>,
}

/// Why a file could not be worked on. The text goes to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FileError {
    /// It is not below the root, or a link on the way leads out.
    #[error("`{path}` leads outside the workspace: only `{root}` and what is below it is allowed", root = root.display())]
    Outside {
        /// As given.
        path: String,
        /// The allowed directory.
        root: PathBuf,
    },
    /// No path at all.
    #[error("`{path}` is not a usable path: {reason}")]
    Malformed {
        /// As given.
        path: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// Nothing there.
    #[error("`{0}` does not exist in the workspace")]
    Missing(String),
    /// Something else than a file.
    #[error("`{path}` is {kind}, not a regular file")]
    NotAFile {
        /// As given.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// The system refused.
    #[error("cannot access `{path}`: {reason}")]
    Io {
        /// As given.
        path: String,
        /// In the system's words.
        reason: String,
    },
}

impl From<FileError> for ToolFailure {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Outside { .. } | FileError::Malformed { .. } => Self::Invalid(error.to_string()),
            FileError::Missing(_) | FileError::NotAFile { .. } | FileError::Io { .. } => Self::Failed(error.to_string()),
        }
    }
}

impl Root {
    /// Takes an open directory; `path` is its absolute path, used for texts and to accept absolute paths below it.
    pub fn new(dir: Dir, path: impl Into<PathBuf>) -> Self {
        let path: PathBuf = path.into();
        // Only for comparing names; nothing is ever opened by it.
        let real_path = path.canonicalize().ok().filter(|real| *real != path).map(Into::into);
        Self { dir: Arc::new(dir), path: path.into(), real_path, changes: Arc::new(Mutex::new(())) }
    }

    /// The path under which models know it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Waits for the right to change files. Calls of one batch run at the same time, and an edit is a read and a write: without this,
    /// one of two edits of a file would be lost.
    pub(crate) async fn change(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.changes).lock_owned().await
    }

    /// Turns a model's path into one relative to the root. `..` stays in it: only the file system knows where it leads.
    pub(crate) fn relative(&self, given: &str) -> Result<PathBuf, FileError> {
        let malformed = |reason| Err(FileError::Malformed { path: given.to_owned(), reason });
        if given.trim().is_empty() {
            return malformed("it is empty");
        }
        if given.contains('\0') {
            return malformed("it holds a NUL character");
        }
        if given == "~" || given.starts_with("~/") {
            return malformed("`~` is not expanded; give a path relative to the workspace");
        }
        let path = Path::new(given);
        let inside = if path.is_absolute() { self.below(path).ok_or_else(|| self.outside(given))? } else { path };
        let plain: PathBuf = inside.components().filter(|part| *part != Component::CurDir).collect();
        Ok(if plain.as_os_str().is_empty() { PathBuf::from(".") } else { plain })
    }

    fn below<'a>(&self, absolute: &'a Path) -> Option<&'a Path> {
        let names = [Some(&self.path), self.real_path.as_ref()];
        names.into_iter().flatten().find_map(|name| absolute.strip_prefix(name).ok())
    }

    /// Opens an existing regular file for reading. A pipe or device is refused without waiting for it.
    pub(crate) fn open_file(&self, given: &str) -> Result<(File, Metadata), FileError> {
        let relative = self.relative(given)?;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = self.dir.open_with(relative, &options).map_err(|error| self.explain(given, &error))?;
        let metadata = file.metadata().map_err(|error| self.explain(given, &error))?;
        self.regular(given, &metadata)?;
        Ok((file, metadata))
    }

    /// Refuses what is not a regular file.
    pub(crate) fn regular(&self, given: &str, metadata: &Metadata) -> Result<(), FileError> {
        if metadata.is_file() {
            return Ok(());
        }
        let kind = if metadata.is_dir() { "a directory" } else { "a pipe, socket or device" };
        Err(FileError::NotAFile { path: given.to_owned(), kind })
    }

    /// Puts a system error into words that help.
    pub(crate) fn explain(&self, given: &str, error: &io::Error) -> FileError {
        match error.kind() {
            // An escape is refused by the handle itself and carries no system error number.
            io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => self.outside(given),
            io::ErrorKind::NotFound => FileError::Missing(given.to_owned()),
            _ => FileError::Io { path: given.to_owned(), reason: error.to_string() },
        }
    }

    fn outside(&self, given: &str) -> FileError {
        FileError::Outside { path: given.to_owned(), root: self.path.to_path_buf() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::test_root::TestRoot;

    #[test]
    fn absolute_paths_count_only_below_the_root() {
        let test = TestRoot::new();
        let inside = test.path().join("a/./b.txt");
        assert_eq!(test.root.relative(inside.to_str().unwrap()).unwrap(), Path::new("a/b.txt"));
        assert_eq!(test.root.relative(test.path().to_str().unwrap()).unwrap(), Path::new("."));
        let beside = format!("{}-evil/x", test.path().display());
        for outside in ["/etc/passwd", beside.as_str()] {
            let error = test.root.relative(outside).unwrap_err();
            assert!(matches!(error, FileError::Outside { .. }), "{outside}");
            assert!(error.to_string().contains(test.path().to_str().unwrap()), "{error}");
        }
    }

    #[test]
    fn a_workspace_behind_a_link_is_known_by_both_names() {
        let test = TestRoot::new();
        let link = test.path().with_file_name("link");
        symlink(test.path(), &link).unwrap();
        let root = Root::new(test.root.dir().try_clone().unwrap(), &link);
        for name in [&link, test.path()] {
            assert_eq!(root.relative(name.join("a").to_str().unwrap()).unwrap(), Path::new("a"));
        }
    }

    #[test]
    fn malformed_paths_are_refused() {
        let test = TestRoot::new();
        for bad in ["", "  ", "a\0b", "~", "~/x"] {
            assert!(matches!(test.root.relative(bad), Err(FileError::Malformed { .. })), "{bad:?}");
        }
    }

    #[test]
    fn every_way_out_is_refused_when_opening() {
        let test = TestRoot::new();
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "s").unwrap();
        symlink(outside.path().join("secret"), test.path().join("file-link")).unwrap();
        symlink(outside.path(), test.path().join("dir-link")).unwrap();
        symlink("../", test.path().join("up-link")).unwrap();
        let name = outside.path().file_name().unwrap().to_str().unwrap();
        let up = format!("../{name}/secret");
        let through = format!("{}/../{name}/secret", test.path().display());
        let linked = format!("up-link/{name}/secret");
        for path in [up.as_str(), &through, &linked, "file-link", "dir-link/secret"] {
            let error = test.root.open_file(path).map(|_| ()).unwrap_err();
            assert!(matches!(error, FileError::Outside { .. }), "{path}: {error}");
        }
    }

    #[test]
    fn links_and_dots_that_stay_inside_work() {
        let test = TestRoot::new();
        test.write("a/real.txt", "x");
        symlink("a/real.txt", test.path().join("link.txt")).unwrap();
        assert!(test.root.open_file("link.txt").is_ok());
        assert!(test.root.open_file("a/../a/real.txt").is_ok());
    }

    #[test]
    fn directories_and_pipes_are_told_apart_without_blocking() {
        let test = TestRoot::new();
        std::fs::create_dir(test.path().join("d")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(test.path().join("pipe")).status().unwrap();
        assert!(made.success());
        assert_eq!(test.root.open_file("d").map(|_| ()).unwrap_err().to_string(), "`d` is a directory, not a regular file");
        let error = test.root.open_file("pipe").map(|_| ()).unwrap_err();
        assert_eq!(error.to_string(), "`pipe` is a pipe, socket or device, not a regular file");
        assert_eq!(test.root.open_file("gone").map(|_| ()).unwrap_err(), FileError::Missing("gone".to_owned()));
    }
}
