//! A workspace and a state directory that vanish with the test. Only for the tests of this crate.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};

use crate::Workspace;

/// A workspace below a directory of its own, so that `..` is private to the test as well.
pub(crate) struct Home {
    pub(crate) workspace: Workspace,
    dir: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(&dir.path().join("workspace")).unwrap();
        Self { workspace, dir }
    }

    pub(crate) fn path(&self) -> &Path {
        self.workspace.path()
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), content).unwrap();
    }
}
