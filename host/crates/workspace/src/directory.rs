//! Opening the workspace directory. The only place of this crate that reaches a directory by its name; everything else goes through
//! the handle that is opened here.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// An open workspace.
#[derive(Debug)]
pub struct Workspace {
    dir: Dir,
    path: PathBuf,
    created: bool,
}

/// Why a workspace cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is not there and cannot be made.
    #[error("cannot create the workspace directory `{}`; choose another with `agents.defaults.workspace`", path.display())]
    Create {
        /// The configured path.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Something else is there.
    #[error("the workspace `{}` is not a directory; choose another with `agents.defaults.workspace`", path.display())]
    NotADirectory {
        /// The configured path.
        path: PathBuf,
    },
    /// It is there and cannot be opened.
    #[error("cannot open the workspace directory `{}`; check that this user may read it", path.display())]
    Open {
        /// The configured path.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl Workspace {
    /// Opens the directory and makes it, and missing ones above it, first if necessary (8.1.1).
    ///
    /// # Errors
    /// When there can be no directory, or this process may not read it.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let created = !path.exists();
        if created {
            Dir::create_ambient_dir_all(path, ambient_authority())
                .map_err(|source| OpenError::Create { path: path.to_owned(), source })?;
        } else if !path.is_dir() {
            return Err(OpenError::NotADirectory { path: path.to_owned() });
        }
        let cannot_open = |source| OpenError::Open { path: path.to_owned(), source };
        let real = path.canonicalize().map_err(cannot_open)?;
        let dir = Dir::open_ambient_dir(&real, ambient_authority()).map_err(cannot_open)?;
        Ok(Self { dir, path: real, created })
    }

    /// The real path: absolute and without links. It is what commands see as their working directory, so prompts and tools should
    /// use it too.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether opening made the directory.
    pub fn was_created(&self) -> bool {
        self.created
    }

    /// A handle of its own, for whoever may work in the workspace.
    ///
    /// # Errors
    /// When the process has no file descriptor left.
    pub fn handle(&self) -> io::Result<Dir> {
        self.dir.try_clone()
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;

    #[test]
    fn a_missing_directory_is_made_with_those_above_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b");
        let first = Workspace::open(&path).unwrap();
        assert!(first.was_created() && path.is_dir());
        assert!(!Workspace::open(&path).unwrap().was_created());
        first.handle().unwrap().write("x", "y").unwrap();
        assert_eq!(std::fs::read_to_string(path.join("x")).unwrap(), "y");
    }

    #[test]
    fn the_path_is_the_real_one() {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, home.path().join("link")).unwrap();
        assert_eq!(Workspace::open(&home.path().join("link")).unwrap().path(), real);
    }

    #[test]
    fn what_cannot_be_a_directory_is_refused_with_a_remedy() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("file");
        std::fs::write(&file, "").unwrap();
        let error = Workspace::open(&file).unwrap_err();
        assert!(matches!(error, OpenError::NotADirectory { .. }));
        let error = Workspace::open(&file.join("below")).unwrap_err();
        assert!(matches!(&error, OpenError::Create { .. }) && error.to_string().contains("agents.defaults.workspace"), "{error}");
    }
}
