//! Puts the finished guests where hosts and tests look for them. A reader sees the old file or the new one, never a part; a file
//! that did not change is left alone. What no guest made any more is removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use crate::compile::Compiler;
use crate::discovery::{PluginSource, Sources, TestSource};
use crate::folders::Folders;
use crate::{BuiltPlugin, GuestBuildError, Guests};

/// File name of a plugin manifest.
pub(crate) const MANIFEST: &str = "creel.plugin.json";

/// How a component begins: magic number, version 13, layer 1. A core module has version 1, layer 0.
const COMPONENT_HEADER: &[u8] = b"\0asm\x0d\0\x01\0";

/// The manifest of a plugin folder.
pub(crate) fn manifest_in(folder: &Path) -> PathBuf {
    folder.join(MANIFEST)
}

/// Compiles everything in `sources` and puts it in place, one guest after the other.
pub(crate) fn all(folders: &Folders, sources: &Sources, compiler: &Compiler<'_>) -> Result<Guests, GuestBuildError> {
    let mut guests = Guests::default();
    for plugin in &sources.plugins {
        guests.plugins.push(place_plugin(folders, plugin, &compiler.plugin(plugin)?)?);
    }
    if let Some(tests) = &sources.tests {
        guests.tests = place_tests(folders, tests, compiler)?;
    }
    remove_others(folders, &guests)?;
    Ok(guests)
}

fn place_plugin(folders: &Folders, plugin: &PluginSource, compiled: &Path) -> Result<BuiltPlugin, GuestBuildError> {
    let folder = folders.plugins().join(&plugin.id);
    let component = folder.join(&plugin.component);
    place_component(&plugin.id, compiled, &component)?;
    let manifest = fs::read(&plugin.manifest).map_err(GuestBuildError::file("read", &plugin.manifest))?;
    write(&manifest_in(&folder), &manifest)?;
    Ok(BuiltPlugin { id: plugin.id.clone(), folder, component })
}

fn place_tests(
    folders: &Folders,
    tests: &TestSource,
    compiler: &Compiler<'_>,
) -> Result<BTreeMap<String, PathBuf>, GuestBuildError> {
    let mut placed = BTreeMap::new();
    if tests.examples.is_empty() {
        return Ok(placed);
    }
    for (name, compiled) in compiler.tests(tests)? {
        let component = folders.tests().join(format!("{name}.wasm"));
        place_component(&name, &compiled, &component)?;
        placed.insert(name, component);
    }
    Ok(placed)
}

fn place_component(guest: &str, compiled: &Path, place: &Path) -> Result<(), GuestBuildError> {
    let bytes = fs::read(compiled).map_err(GuestBuildError::file("read", compiled))?;
    if !bytes.starts_with(COMPONENT_HEADER) {
        return Err(GuestBuildError::NotAComponent { guest: guest.to_owned(), path: compiled.to_owned() });
    }
    write(place, &bytes)
}

/// Writes a file in one step: beside its place first, then renamed. Makes the folder; leaves an equal file alone.
pub(crate) fn write(path: &Path, content: &[u8]) -> Result<(), GuestBuildError> {
    if fs::read(path).is_ok_and(|present| present == content) {
        return Ok(());
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(GuestBuildError::file("write", path)(io::ErrorKind::InvalidFilename.into()));
    };
    fs::create_dir_all(folder).map_err(GuestBuildError::file("create", folder))?;
    let draft = folder.join(format!(".{}.{}", name.to_string_lossy(), process::id()));
    fs::write(&draft, content).map_err(GuestBuildError::file("write", &draft))?;
    fs::rename(&draft, path).map_err(GuestBuildError::file("write", path))
}

/// Removes plugin folders and components that are not in `guests`: a host would still load them.
pub(crate) fn remove_others(folders: &Folders, guests: &Guests) -> Result<(), GuestBuildError> {
    let mut keep: BTreeSet<PathBuf> = guests.components().map(|(_, component)| component.to_owned()).collect();
    for plugin in &guests.plugins {
        keep.extend([plugin.folder.clone(), manifest_in(&plugin.folder)]);
        remove_except(&plugin.folder, &keep)?;
    }
    remove_except(&folders.plugins(), &keep)?;
    remove_except(&folders.tests(), &keep)
}

fn remove_except(folder: &Path, keep: &BTreeSet<PathBuf>) -> Result<(), GuestBuildError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries.map_err(GuestBuildError::file("read", folder))?,
    };
    for entry in entries {
        let entry = entry.map_err(GuestBuildError::file("read", folder))?;
        let path = entry.path();
        if keep.contains(&path) {
            continue;
        }
        let is_folder = entry.file_type().map_err(GuestBuildError::file("read", &path))?.is_dir();
        let removed = if is_folder { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(GuestBuildError::file("remove", &path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use tempfile::TempDir;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn folders() -> (TempDir, Folders) {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders::new(root.path()).unwrap();
        (root, folders)
    }

    fn guard(root: &TempDir, component: &str) -> PluginSource {
        let manifest = root.path().join(MANIFEST);
        fs::write(&manifest, "{}").unwrap();
        PluginSource { id: "guard".into(), package: "guard".into(), manifest, component: component.into() }
    }

    #[test]
    fn plugin_folder_has_manifest_and_component_and_nothing_else() {
        let (root, folders) = folders();
        let compiled = root.path().join("compiled.wasm");
        fs::write(&compiled, b"\0asm\x0d\0\x01\0rest").unwrap();

        place_plugin(&folders, &guard(&root, "old.wasm"), &compiled).unwrap();
        let plugin = place_plugin(&folders, &guard(&root, "guard.wasm"), &compiled).unwrap();
        fs::create_dir_all(folders.plugins().join("gone")).unwrap();
        fs::create_dir_all(folders.tests()).unwrap();
        fs::write(folders.tests().join("gone.wasm"), "").unwrap();
        remove_others(&folders, &Guests { plugins: vec![plugin.clone()], tests: BTreeMap::new() }).unwrap();

        assert_eq!(names(&folders.plugins()), ["guard"]);
        assert_eq!(names(&plugin.folder), [MANIFEST, "guard.wasm"]);
        assert_eq!(fs::read(&plugin.component).unwrap(), fs::read(&compiled).unwrap());
        assert!(names(&folders.tests()).is_empty());
    }

    #[test]
    fn core_module_is_refused() {
        let (root, folders) = folders();
        let compiled = root.path().join("compiled.wasm");
        fs::write(&compiled, b"\0asm\x01\0\0\0rest").unwrap();
        let error = place_plugin(&folders, &guard(&root, "guard.wasm"), &compiled).unwrap_err();
        assert!(matches!(error, GuestBuildError::NotAComponent { .. }), "{error}");
        assert!(!folders.plugins().exists(), "nothing must be put in place");
    }

    #[test]
    fn equal_file_is_left_alone() {
        let (root, _) = folders();
        let path = root.path().join("deep/file");
        write(&path, b"one").unwrap();
        let before = fs::metadata(&path).unwrap().modified().unwrap();
        write(&path, b"one").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(path.parent().unwrap()), ["file"], "no draft is left");
    }
}
