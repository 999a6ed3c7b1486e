//! What an operator names as the source of an installation, told apart by its look.

use std::io::Read;
use std::path::{Path, PathBuf};

/// What kind of thing a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// A plugin's directory.
    Directory,
    /// A component with its manifest in it.
    Component,
    /// `.tar`.
    Tar,
    /// `.tar.gz`, `.tgz`.
    TarGz,
    /// `.zip`.
    Zip,
    /// A directory with an OCI image layout.
    OciLayout,
}

/// A source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where it is, absolute.
    pub path: PathBuf,
    /// What it is.
    pub kind: SourceKind,
}

/// Why a path is no source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Nothing is there.
    #[error("{} cannot be read: {problem}", path.display())]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What the system says.
        problem: String,
    },
    /// Something else is there.
    #[error("{} is none of these: a plugin's directory, a component (.wasm), an archive (.tar, .tar.gz, .tgz, .zip), an OCI image layout", path.display())]
    Unknown {
        /// The path.
        path: PathBuf,
    },
    /// The name says one thing, the content another.
    #[error("{} is named like {expected} and does not begin like one", path.display())]
    Mismatch {
        /// The path.
        path: PathBuf,
        /// What the name says.
        expected: &'static str,
    },
}

impl Source {
    /// Looks at a path.
    ///
    /// # Errors
    /// When nothing is there, or nothing that can be installed.
    pub fn find(path: &Path) -> Result<Self, SourceError> {
        let unreadable = |error: std::io::Error| SourceError::Unreadable { path: path.to_owned(), problem: error.to_string() };
        let absolute = std::path::absolute(path).map_err(unreadable)?;
        let metadata = std::fs::metadata(&absolute).map_err(unreadable)?;
        let kind = if metadata.is_dir() {
            if absolute.join("oci-layout").is_file() { SourceKind::OciLayout } else { SourceKind::Directory }
        } else if metadata.is_file() {
            Self::of_file(&absolute)?
        } else {
            return Err(SourceError::Unknown { path: absolute });
        };
        Ok(Self { path: absolute, kind })
    }

    fn of_file(path: &Path) -> Result<SourceKind, SourceError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let (kind, expected, start): (_, _, &[u8]) = match name.as_str() {
            name if name.ends_with(".wasm") => (SourceKind::Component, "a component", b"\0asm"),
            name if name.ends_with(".tar.gz") || name.ends_with(".tgz") => (SourceKind::TarGz, "a gzip archive", b"\x1f\x8b"),
            name if name.ends_with(".zip") => (SourceKind::Zip, "a zip archive", b"PK"),
            name if name.ends_with(".tar") => (SourceKind::Tar, "a tar archive", b""),
            _ => return Err(SourceError::Unknown { path: path.to_owned() }),
        };
        let mut found = vec![0; start.len()];
        let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut found));
        if read.is_err() || found != start {
            return Err(SourceError::Mismatch { path: path.to_owned(), expected });
        }
        Ok(kind)
    }
}

impl SourceKind {
    /// `request.kind` of an installation (plugin-hooks 4.10).
    pub fn request_kind(self) -> &'static str {
        match self {
            Self::Directory | Self::OciLayout => "plugin-dir",
            Self::Component => "plugin-file",
            Self::Tar | Self::TarGz | Self::Zip => "plugin-archive",
        }
    }

    /// `source.kind` for the install policy (plugin-hooks 10).
    pub fn policy_kind(self) -> &'static str {
        match self {
            Self::Directory | Self::OciLayout => "local-path",
            Self::Component => "file",
            Self::Tar | Self::TarGz | Self::Zip => "archive",
        }
    }

    /// How it is called in the lockfile.
    pub fn name(self) -> &'static str {
        match self {
            Self::Directory => "directory",
            Self::Component => "component",
            Self::Tar | Self::TarGz | Self::Zip => "archive",
            Self::OciLayout => "oci-layout",
        }
    }
}
