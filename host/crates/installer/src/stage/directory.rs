//! Copies a directory into the staging directory, and completes what was staged so that discovery finds a plugin in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use plugin_host::{manifest, package};

use super::tree::{Tree, refuse};
use super::{StageError, optional, read_error};
use crate::digest::{is_passed_over, read_file};
use crate::disk::Disk;

/// Copies everything in a directory, except names that are nothing of a plugin. A link is refused: what it points at is not the
/// plugin's.
pub(super) fn copy(root: &Path, tree: &mut Tree<'_>) -> Result<(), StageError> {
    // The directory that the operator named may be a link.
    let root = fs::canonicalize(root).map_err(|error| read_error(root, error))?;
    copy_below(&root, &PathBuf::new(), tree)
}

fn copy_below(root: &Path, relative: &Path, tree: &mut Tree<'_>) -> Result<(), StageError> {
    let directory = root.join(relative);
    let failed = |error| read_error(&directory, error);
    let mut entries = fs::read_dir(&directory).map_err(failed)?.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        if is_passed_over(name.as_encoded_bytes()) {
            continue;
        }
        let relative = relative.join(name);
        let raw = relative.as_os_str().as_encoded_bytes();
        let kind = entry.file_type().map_err(|error| read_error(&entry.path(), error))?;
        if kind.is_dir() {
            tree.directory(raw)?;
            copy_below(root, &relative, tree)?;
        } else if kind.is_file() {
            let left = tree.bytes_left();
            let bytes = read_file(&entry.path(), left.saturating_add(1)).map_err(|error| read_error(&entry.path(), error))?;
            tree.file(raw, &mut bytes.as_slice())?;
        } else {
            return Err(refuse(raw, "is a link, a pipe or a device; a plugin holds files and directories only"));
        }
    }
    Ok(())
}

/// The directory of the plugin in what was unpacked: the one directory in it, if there is nothing else, as archives are often made.
pub(super) fn descend(into: &Path) -> io::Result<PathBuf> {
    let mut entries = fs::read_dir(into)?;
    let (first, second) = (entries.next().transpose()?, entries.next());
    Ok(match (first, second) {
        (Some(only), None) if only.file_type()?.is_dir() => only.path(),
        _ => into.to_owned(),
    })
}

/// Gives a component that came without any manifest file a package file that names it, because a plugin's directory is found by one of
/// both. What the component says about itself stays as it is. Gives the name of the file that was added.
pub(super) fn complete(root: &Path, disk: &dyn Disk) -> Result<Option<&'static str>, StageError> {
    if root.join(manifest::FILE_NAME).exists() || root.join(package::FILE_NAME).exists() {
        return Ok(None);
    }
    let names =
        fs::read_dir(root).and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>());
    let names = names.map_err(|error| read_error(root, error))?;
    let components: Vec<_> = names.iter().filter(|name| package::is_component(Path::new(name))).collect();
    let [component] = components.as_slice() else { return Ok(None) };
    let Some(component) = component.to_str() else { return Ok(None) };
    let text = serde_json::json!({ "openclaw": { "extensions": [component] } }).to_string();
    let path = root.join(package::FILE_NAME);
    disk.write_new(&path, text.as_bytes()).map_err(|source| StageError::Write { path, source })?;
    Ok(Some(package::FILE_NAME))
}

/// A file of the source that need not be there.
pub(super) fn optional_file(path: &Path, max: u64) -> Result<Option<Vec<u8>>, StageError> {
    optional(read_file(path, max)).map_err(|error| read_error(path, error))
}
