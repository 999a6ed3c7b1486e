//! Whether a file is still the one that was seen before, without reading it. Never proves what is in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

/// One file, as it was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    path: PathBuf,
    bytes: u64,
    /// Nanoseconds since 1970; files that are older count as of 1970.
    modified_ns: u128,
}

impl Evidence {
    /// Looks at the file now. `None` if there is none.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        let modified = metadata.modified().ok()?;
        let modified_ns = modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        Some(Self { path: path.to_owned(), bytes: metadata.len(), modified_ns })
    }

    /// Looks at all files; `None` if one is missing.
    pub(crate) fn of_all<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Option<Vec<Self>> {
        paths.into_iter().map(Self::of).collect()
    }

    /// Whether the file looks as it did.
    pub(crate) fn holds(&self) -> bool {
        Self::of(&self.path).as_ref() == Some(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn holds_until_the_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(Evidence::of(&path), None);
        assert_eq!(Evidence::of(folder.path()), None, "a folder is no evidence");

        fs::write(&path, "one").unwrap();
        let evidence = Evidence::of(&path).unwrap();
        assert!(evidence.holds());
        fs::write(&path, "three").unwrap();
        assert!(!evidence.holds());
        fs::remove_file(&path).unwrap();
        assert!(!evidence.holds());
    }
}
