//! What one path holds: a plugin's directory, a resource package, a single file, or a directory of these.

use std::path::{Path, PathBuf};

use cap_std::fs::DirEntry;
use domain::PluginId;

use super::root::{FileError, FileKind, Listing, MAX_ENTRIES, Root};
use super::{Candidate, Discovery, DiscoveryError, Failure, Found, ManifestSource, Origin, ResourcePackage, protection};
use crate::embedded;
use crate::inspect::MAX_COMPONENT_BYTES;
use crate::manifest::{self, FILE_NAME, Manifest, entry_id};
use crate::package::{self, Package, is_component, is_script};

/// Looks at a path that somebody named.
pub(super) fn named(path: &Path, origin: Origin, discovery: &mut Discovery) {
    let before = discovery.found.len();
    let mut finder = Finder { origin, discovery };
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() && !is_plugin_directory(path) => {
            children(path, origin, finder.discovery);
            if finder.discovery.found.len() == before {
                finder.fail(path, None, DiscoveryError::NoManifest { path: path.to_owned() });
            }
        }
        Ok(metadata) if metadata.is_dir() => finder.directory(path),
        Ok(_) if is_component(path) => finder.single(path),
        Ok(_) if path.ends_with(FILE_NAME) => finder.directory(path.parent().unwrap_or(path)),
        Ok(_) => finder.fail(path, None, DiscoveryError::NotAPlugin { path: path.to_owned() }),
        Err(_) => finder.fail(path, None, FileError::Missing { path: path.to_owned() }.into()),
    }
}

/// Looks at everything in a directory of plugins. Hidden names, and files that are no components, are passed over. Of more than can be
/// looked at the first ones in the order of their names are, and the rest is told.
pub(super) fn children(directory: &Path, origin: Origin, discovery: &mut Discovery) {
    let mut finder = Finder { origin, discovery };
    let must_be_protected = origin == Origin::Bundled;
    if must_be_protected && let Err(error) = protection::check(directory) {
        return finder.fail(directory, None, error);
    }
    let listed = Root::open(directory).and_then(|root| root.list(Path::new("."), may_be_plugin));
    let Listing { names, left_out } = match listed {
        Ok(listing) => listing,
        Err(error) => return finder.fail(directory, None, error.into()),
    };
    for name in names {
        let path = directory.join(name);
        if must_be_protected && let Err(error) = protection::check_all(&path) {
            finder.fail(&path, None, error);
            continue;
        }
        // A link to a plugin elsewhere is the operator's own; what is inside may not lead out again.
        if path.is_dir() {
            finder.directory(&path);
        } else if is_component(&path) {
            finder.single(&path);
        }
    }
    if left_out > 0 {
        finder.fail(directory, None, DiscoveryError::LeftOut { path: directory.to_owned(), max: MAX_ENTRIES, left_out });
    }
}

/// Whether an entry of a directory of plugins is looked at: a directory, a link, or what is named like a component.
fn may_be_plugin(entry: &DirEntry) -> bool {
    let is_plain_file = entry.file_type().is_ok_and(|kind| kind.is_file());
    !is_plain_file || is_component(Path::new(&entry.file_name()))
}

fn is_plugin_directory(path: &Path) -> bool {
    Root::open(path).is_ok_and(|root| root.has_file(Path::new(FILE_NAME)) || !matches!(package::read(&root), Ok(None)))
}

/// Finds the plugins of one place.
struct Finder<'a> {
    origin: Origin,
    discovery: &'a mut Discovery,
}

impl Finder<'_> {
    fn fail(&mut self, place: &Path, id: Option<PluginId>, error: DiscoveryError) {
        let failure = Failure { origin: self.origin, place: place.to_owned(), id, error };
        self.discovery.found.push(Found::Failure(Box::new(failure)));
    }

    fn plugin(&mut self, root: &Path, component: &Path, manifest: Manifest, source: ManifestSource) {
        let (origin, root, component) = (self.origin, root.to_owned(), component.to_owned());
        let candidate = Candidate { origin, root, component, manifest, source };
        self.discovery.found.push(Found::Plugin(Box::new(candidate)));
    }

    /// A single file with its manifest in it.
    fn single(&mut self, path: &Path) {
        // The file itself may be a link: it is what the operator put there.
        let real = if path.is_symlink() { std::fs::canonicalize(path).ok() } else { None };
        let file = real.as_deref().unwrap_or(path);
        let (Some(directory), Some(name)) = (file.parent(), file.file_name()) else {
            return self.fail(path, None, DiscoveryError::NotAPlugin { path: path.to_owned() });
        };
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let read = Root::open(directory).map_err(DiscoveryError::from).and_then(|root| embedded_manifest(&root, Path::new(name)));
        match read {
            Ok(Some(manifest)) => self.plugin(directory, Path::new(name), manifest, ManifestSource::Embedded),
            Ok(None) => self.fail(path, None, DiscoveryError::NotPacked { path: path.to_owned() }),
            Err(error) => self.fail(path, None, error),
        }
    }

    /// A directory with a manifest, a resource package, or both.
    fn directory(&mut self, path: &Path) {
        let root = match Root::open(path) {
            Ok(root) => root,
            Err(error) => return self.fail(path, None, error.into()),
        };
        let package = match package::read(&root) {
            Ok(package) => package,
            Err(error) => return self.fail(path, None, error.into()),
        };
        let manifest = match file_manifest(&root, Path::new(FILE_NAME)) {
            Ok(manifest) => manifest,
            Err(error) => return self.fail(path, None, error),
        };
        match (manifest, package) {
            (None, None) => self.fail(path, None, DiscoveryError::NoManifest { path: path.to_owned() }),
            (Some(manifest), None) => self.whole(path, manifest),
            (manifest, Some(package)) => self.package(&root, manifest, package),
        }
    }

    /// One plugin whose manifest is in this directory.
    fn whole(&mut self, directory: &Path, manifest: Manifest) {
        match manifest.component.clone() {
            Some(component) => self.plugin(directory, Path::new(&component), manifest, ManifestSource::File),
            None => {
                let error = DiscoveryError::NoComponent { path: directory.join(FILE_NAME) };
                self.fail(directory, Some(manifest.id), error);
            }
        }
    }

    /// The extensions of a package, and its other resources. A manifest beside the package file is that of its one extension, or
    /// names the package of several.
    fn package(&mut self, root: &Root, manifest: Option<Manifest>, package: Package) {
        for problem in package.problems {
            self.fail(root.path(), None, problem.into());
        }
        let resources = ResourcePackage {
            origin: self.origin,
            root: root.path().to_owned(),
            skills: package.skills,
            prompts: package.prompts,
            themes: package.themes,
        };
        if !(resources.skills.is_empty() && resources.prompts.is_empty() && resources.themes.is_empty()) {
            self.discovery.packages.push(resources);
        }
        let (components, others): (Vec<PathBuf>, Vec<PathBuf>) =
            package.extensions.into_iter().partition(|path| is_extension(root, path));
        for path in others {
            let is_script = is_script(&path) || root.kind(&path) == Ok(FileKind::Directory);
            let path = root.path().join(path);
            let error = if is_script { DiscoveryError::Script { path } } else { DiscoveryError::NotAPlugin { path } };
            self.fail(root.path(), None, error);
        }
        match (manifest, components.as_slice()) {
            (Some(manifest), []) => self.whole(root.path(), manifest),
            (Some(manifest), [only]) => self.only_extension(root, only, manifest),
            (manifest, several) => several.iter().for_each(|path| self.extension(root, path, manifest.as_ref())),
        }
    }

    /// The one extension of a package with a manifest.
    fn only_extension(&mut self, root: &Root, path: &Path, manifest: Manifest) {
        if root.kind(path) == Ok(FileKind::Directory) {
            return match file_manifest(root, &path.join(FILE_NAME)) {
                Ok(Some(own)) if own.id == manifest.id => self.whole(&root.path().join(path), own),
                Ok(Some(own)) => self.other_id(root, path, own.id, manifest.id),
                Ok(None) => self.whole(root.path(), manifest),
                Err(error) => self.fail(root.path(), Some(manifest.id), error),
            };
        }
        match manifest.component.as_ref().map(Path::new) {
            Some(named) if root.resolve(named).as_deref() != Ok(path) => {
                let (manifest_path, named) = (root.path().join(FILE_NAME), named.to_owned());
                let error = DiscoveryError::TwoComponents { path: manifest_path, manifest: named, extension: path.to_owned() };
                self.fail(root.path(), Some(manifest.id), error);
            }
            _ => self.plugin(root.path(), path, manifest, ManifestSource::File),
        }
    }

    /// One of several extensions, or one without a manifest of the package. Its own manifest counts; without one the package's does,
    /// under the extension's id.
    fn extension(&mut self, root: &Root, path: &Path, package: Option<&Manifest>) {
        let place = root.path().join(path);
        let expected = match package.map(|manifest| entry_id(&manifest.id, &basename(path))).transpose() {
            Ok(expected) => expected,
            Err(cause) => return self.fail(&place, None, DiscoveryError::EntryId { path: place.clone(), cause }),
        };
        let is_directory = root.kind(path) == Ok(FileKind::Directory);
        let own = if is_directory { file_manifest(root, &path.join(FILE_NAME)) } else { embedded_manifest(root, path) };
        match (own, expected, package) {
            (Err(error), expected, _) => self.fail(&place, expected, error),
            (Ok(Some(own)), Some(expected), _) if own.id != expected => self.other_id(root, path, own.id, expected),
            (Ok(Some(own)), _, _) if is_directory => self.whole(&place, own),
            (Ok(Some(own)), _, _) => self.plugin(root.path(), path, own, ManifestSource::Embedded),
            (Ok(None), Some(id), Some(package)) if !is_directory => {
                self.plugin(root.path(), path, Manifest { id, ..package.clone() }, ManifestSource::File);
            }
            (Ok(None), id, _) if is_directory => self.fail(&place, id, DiscoveryError::NoManifest { path: place.clone() }),
            (Ok(None), id, _) => self.fail(&place, id, DiscoveryError::NotPacked { path: place.clone() }),
        }
    }

    fn other_id(&mut self, root: &Root, path: &Path, found: PluginId, expected: PluginId) {
        let path = root.path().join(path);
        self.fail(&path.clone(), Some(found.clone()), DiscoveryError::OtherId { path, found, expected });
    }
}

/// Whether an extension is a component, or a directory that is not that of a script.
fn is_extension(root: &Root, path: &Path) -> bool {
    match root.kind(path) {
        Ok(FileKind::Directory) => {
            let script = |names: Vec<_>| names.iter().any(|name: &std::ffi::OsString| is_script(Path::new(name)));
            root.has_file(&path.join(FILE_NAME)) || !root.names(path).is_ok_and(script)
        }
        _ => is_component(path),
    }
}

/// Name of an entry of a package, without its directory and ending.
fn basename(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The manifest in a file, if there is one.
fn file_manifest(root: &Root, path: &Path) -> Result<Option<Manifest>, DiscoveryError> {
    match root.read(path, manifest::MAX_BYTES) {
        Ok(text) => Ok(Some(Manifest::parse(&text, &root.path().join(path).display().to_string())?)),
        Err(FileError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The manifest in a component, if it has one.
fn embedded_manifest(root: &Root, path: &Path) -> Result<Option<Manifest>, DiscoveryError> {
    let component = root.read(path, MAX_COMPONENT_BYTES)?;
    let path = root.path().join(path);
    let text = embedded::read(&component).map_err(|cause| DiscoveryError::Embedded { path: path.clone(), cause })?;
    let parse = |text| Manifest::parse(text, &format!("{} (embedded manifest)", path.display()));
    Ok(text.map(parse).transpose()?)
}
