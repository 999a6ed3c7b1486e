//! One number for everything that a guest is made of. Equal numbers mean equal sources; times of change do not count, so that a
//! fresh clone or a change of branch and back costs nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use walkdir::{DirEntry, WalkDir};

use crate::GuestBuildError;

/// What guests are made of, relative to the workspace: their own sources, what they may depend on, the versions and flags, and this
/// builder, since a new form of it may build them differently. Discovery refuses a guest that depends on anything else.
pub(crate) const INPUTS: &[&str] = &[
    "wit",
    "plugins-sdk",
    "example-plugins",
    "tests/guests",
    "xtask/guest-builder",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain",
    "rust-toolchain.toml",
    ".cargo/config.toml",
];

/// The fingerprint of [`INPUTS`] in the workspace at `root`, as text. What is absent counts as absent.
pub(crate) fn of_workspace(root: &Path) -> Result<String, GuestBuildError> {
    let mut hash = Sha256::new();
    // Paths in the stamp are absolute, so it is worth nothing in a copy of the folder.
    add(&mut hash, root.as_os_str().as_encoded_bytes());
    for input in INPUTS {
        add_tree(&mut hash, root, &root.join(input))?;
    }
    Ok(hex::encode(hash.finalize()))
}

fn add_tree(hash: &mut Sha256, root: &Path, input: &Path) -> Result<(), GuestBuildError> {
    if !input.exists() {
        return Ok(());
    }
    for entry in WalkDir::new(input).sort_by_file_name().into_iter().filter_entry(is_source) {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(input).to_owned();
            GuestBuildError::file("read", path)(error.into())
        })?;
        if !entry.file_type().is_dir() {
            add_file(hash, root, entry.into_path())?;
        }
    }
    Ok(())
}

fn add_file(hash: &mut Sha256, root: &Path, path: PathBuf) -> Result<(), GuestBuildError> {
    let content = match fs::read(&path) {
        Ok(content) => content,
        // Editors come and go with files of their own while we walk.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(GuestBuildError::file("read", path)(error)),
    };
    let name = path.strip_prefix(root).unwrap_or(&path);
    add(hash, name.as_os_str().as_encoded_bytes());
    add(hash, &content);
    Ok(())
}

/// With its length, so that no two lists of parts look alike.
fn add(hash: &mut Sha256, part: &[u8]) {
    hash.update((part.len() as u64).to_le_bytes());
    hash.update(part);
}

/// Leaves out what no build reads: hidden files and backups of editors. What we are asked to walk always counts.
fn is_source(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    entry.depth() == 0 || !(name.starts_with('.') || name.ends_with('~') || (name == "target" && entry.file_type().is_dir()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use tempfile::TempDir;

    use super::*;

    fn workspace(files: &[(&str, &str)]) -> TempDir {
        let root = tempfile::tempdir().unwrap();
        write(&root, files);
        root
    }

    fn write(root: &TempDir, files: &[(&str, &str)]) {
        for (name, content) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    /// What the fingerprint does when one more file is written.
    fn changes_with(name: &str) -> bool {
        let root = workspace(&[("wit/a.wit", "package a;"), ("Cargo.toml", "[workspace]")]);
        let before = of_workspace(root.path()).unwrap();
        assert_eq!(of_workspace(root.path()).unwrap(), before);
        write(&root, &[(name, "new")]);
        of_workspace(root.path()).unwrap() != before
    }

    #[test]
    fn every_input_counts() {
        for input in INPUTS {
            let file = if input.contains("oolchain") || input.contains("Cargo.") || input.contains("config") {
                (*input).to_owned()
            } else {
                format!("{input}/deep/file.rs")
            };
            assert!(changes_with(&file), "{file} must count");
        }
    }

    #[test]
    fn a_changed_letter_counts() {
        assert!(changes_with("wit/a.wit"));
    }

    #[test]
    fn what_no_guest_is_made_of_does_not_count() {
        for name in ["host/src/main.rs", "README.md", "wit/.a.wit.swp", "wit/a.wit~", "example-plugins/target/debug/x"] {
            assert!(!changes_with(name), "{name} must not count");
        }
    }

    #[test]
    fn moving_text_from_one_file_to_the_next_counts() {
        let one = workspace(&[("wit/a", "xy"), ("wit/b", "z")]);
        let before = of_workspace(one.path()).unwrap();
        write(&one, &[("wit/a", "x"), ("wit/b", "yz")]);
        assert_ne!(of_workspace(one.path()).unwrap(), before);
    }

    #[test]
    fn writing_the_same_again_does_not_count() {
        let root = workspace(&[("wit/a", "x")]);
        let before = of_workspace(root.path()).unwrap();
        write(&root, &[("wit/a", "x")]);
        assert_eq!(of_workspace(root.path()).unwrap(), before);
    }
}
