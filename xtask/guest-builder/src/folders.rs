//! Where things are. The only file that knows the layout of `target/guests/`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::GuestBuildError;

/// The folders of one workspace, all absolute.
#[derive(Debug, Clone)]
pub(crate) struct Folders {
    workspace: PathBuf,
    root: PathBuf,
}

impl Folders {
    /// Creates `target/guests/` below `workspace` if it is not there.
    pub(crate) fn new(workspace: &Path) -> Result<Self, GuestBuildError> {
        let workspace = fs::canonicalize(workspace).map_err(GuestBuildError::file("find the workspace", workspace))?;
        let root = workspace.join("target").join("guests");
        fs::create_dir_all(&root).map_err(GuestBuildError::file("create", &root))?;
        Ok(Self { workspace, root })
    }

    /// The root folder of the workspace.
    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Target directory of the inner cargo.
    pub(crate) fn cargo_target(&self) -> &Path {
        &self.root
    }

    /// One folder per example plugin.
    pub(crate) fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// The components of the test guests.
    pub(crate) fn tests(&self) -> PathBuf {
        self.root.join("test")
    }

    /// Held while a builder is at work.
    pub(crate) fn lock(&self) -> PathBuf {
        self.root.join(".lock")
    }

    /// What the last complete build was made of.
    pub(crate) fn stamp(&self) -> PathBuf {
        self.root.join("stamp.json")
    }

    /// The toolchain that was set up, so that it is not searched again.
    pub(crate) fn route(&self) -> PathBuf {
        self.root.join("toolchain").join("route.json")
    }

    /// First on the PATH of the inner cargo: programs that only guests need.
    pub(crate) fn bin(&self) -> PathBuf {
        self.root.join("toolchain").join("bin")
    }

    /// Package lists and downloads, apart from those of the machine.
    pub(crate) fn apt(&self) -> PathBuf {
        self.root.join("toolchain").join("apt")
    }
}
