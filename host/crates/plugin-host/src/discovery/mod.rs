//! Finds plugins: directories with a manifest, resource packages, and single files with an embedded manifest, in the places where they
//! are looked for. Reads manifests and nothing else; whether a plugin runs is decided elsewhere. One bad plugin never hides another.

mod place;
mod protection;
mod root;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use domain::PluginId;

use crate::embedded::EmbeddedError;
use crate::manifest::{self, InvalidPluginId, Manifest, ManifestError};
use crate::package::PackageError;

pub use root::FileError;
pub(crate) use root::{FileKind, Root};

/// Where a plugin comes from. The order is that of loading: what the operator named first, what comes with a workspace last, so that
/// a workspace never takes the place of a plugin that the operator chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Origin {
    /// `plugins.load.paths`.
    Config,
    /// Installed into the state directory.
    Installed,
    /// Shipped with the host.
    Bundled,
    /// Found in a workspace.
    Workspace,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Config => "config",
            Self::Installed => "installed",
            Self::Bundled => "bundled",
            Self::Workspace => "workspace",
        })
    }
}

/// Where plugins are looked for. A directory that does not exist holds none; a path of `load_paths` that does not is an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources {
    /// `plugins.load.paths`, absolute: plugins, or directories of plugins.
    pub load_paths: Vec<PathBuf>,
    /// Directory of installed plugins.
    pub installed: Option<PathBuf>,
    /// Directory of bundled plugins.
    pub bundled: Option<PathBuf>,
    /// Directory of a workspace's plugins.
    pub workspace: Option<PathBuf>,
}

/// Where a manifest stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestSource {
    /// In `creel.plugin.json`.
    File,
    /// In the component.
    Embedded,
}

/// A plugin that was found: its manifest is read, its component is not.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Where it comes from.
    pub origin: Origin,
    /// Its directory; all its paths are relative to it, and none leads out.
    pub root: PathBuf,
    /// Path of the component, relative to the directory.
    pub component: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// Where the manifest stands.
    pub source: ManifestSource,
}

impl Candidate {
    /// What an operator would call the place of the plugin: its directory, or its one file.
    pub fn place(&self) -> PathBuf {
        match self.source {
            ManifestSource::File => self.root.clone(),
            ManifestSource::Embedded => self.root.join(&self.component),
        }
    }
}

/// Something that looks like a plugin and is none.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Where it comes from.
    pub origin: Origin,
    /// Its place.
    pub place: PathBuf,
    /// Its id, if it got as far as that.
    pub id: Option<PluginId>,
    /// Why.
    pub error: DiscoveryError,
}

impl Failure {
    /// The id that it would have if it were a plugin. One that is wrong about its id has none.
    fn claims(&self) -> Option<&PluginId> {
        self.id.as_ref().filter(|_| !matches!(self.error, DiscoveryError::OtherId { .. }))
    }
}

/// What was found at one place.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// A plugin.
    Plugin(Box<Candidate>),
    /// Something that is none.
    Failure(Box<Failure>),
}

impl Found {
    /// The id that it has, or would have.
    pub fn id(&self) -> Option<&PluginId> {
        match self {
            Self::Plugin(candidate) => Some(&candidate.manifest.id),
            Self::Failure(failure) => failure.id.as_ref(),
        }
    }
}

/// Skills, prompts and themes of a resource package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourcePackage {
    /// Where it comes from.
    pub origin: Origin,
    /// Its directory.
    pub root: PathBuf,
    /// Skills, relative to the directory; all stay inside it.
    pub skills: Vec<PathBuf>,
    /// Prompt templates, likewise.
    pub prompts: Vec<PathBuf>,
    /// Themes, likewise.
    pub themes: Vec<PathBuf>,
}

/// Why a place holds no plugin that this host can load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The manifest cannot be used.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The package, or an entry of it, cannot be used.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The file cannot hold a manifest.
    #[error("{} {cause}", path.display())]
    Embedded {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: EmbeddedError,
    },
    /// There is no manifest.
    #[error("{} has no {name} and declares no `openclaw` resources in package.json", path.display(), name = manifest::FILE_NAME)]
    NoManifest {
        /// The directory.
        path: PathBuf,
    },
    /// There is no embedded manifest.
    #[error(
        "{} has no manifest in it; put it into a directory with a {name} that names it, or embed one with `creel plugins pack`",
        path.display(),
        name = manifest::FILE_NAME
    )]
    NotPacked {
        /// The file.
        path: PathBuf,
    },
    /// The manifest names no component.
    #[error("{}: `component` is missing; name the .wasm file, for example \"component\": \"plugin.wasm\"", path.display())]
    NoComponent {
        /// The manifest.
        path: PathBuf,
    },
    /// Manifest and package name different components.
    #[error("{} names the component {}, package.json the extension {}; name one", path.display(), manifest.display(), extension.display())]
    TwoComponents {
        /// The manifest.
        path: PathBuf,
        /// Its component.
        manifest: PathBuf,
        /// The package's.
        extension: PathBuf,
    },
    /// An extension is a program in a scripting language.
    #[error("{} is a script; this host runs WebAssembly components. The extension is skipped", path.display())]
    Script {
        /// The file.
        path: PathBuf,
    },
    /// A file is no plugin.
    #[error("{} is neither a component (.wasm) nor a {name}", path.display(), name = manifest::FILE_NAME)]
    NotAPlugin {
        /// The file.
        path: PathBuf,
    },
    /// The entry of a package has the wrong id.
    #[error("{} says that its id is `{found}`; as an entry of this package it must be `{expected}`", path.display())]
    OtherId {
        /// The entry.
        path: PathBuf,
        /// Its id.
        found: PluginId,
        /// What it must be.
        expected: PluginId,
    },
    /// The name of an entry cannot be a part of an id.
    #[error("{}: {cause}", path.display())]
    EntryId {
        /// The entry.
        path: PathBuf,
        /// Why.
        cause: InvalidPluginId,
    },
    /// Two plugins have one id.
    #[error("two plugins have the id `{id}`: {} comes first, so {} is left out; remove one", first.display(), second.display())]
    Duplicate {
        /// The id.
        id: PluginId,
        /// The plugin that has it, whether or not it loads.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// A directory of plugins holds too much.
    #[error(
        "{} has more than {max} entries that may be plugins; the last {left_out} by name are left out; move what is no plugin elsewhere",
        path.display()
    )]
    LeftOut {
        /// The directory.
        path: PathBuf,
        /// The limit.
        max: usize,
        /// How many are left out.
        left_out: usize,
    },
    /// Somebody else can change a plugin that is trusted because it ships with the host.
    #[error(
        "{path} can be changed by others, and plugins that ship with the host see conversations unasked; let it belong to root or to the \
         host's user, and run `chmod -R go-w {path}`",
        path = path.display()
    )]
    Unprotected {
        /// The file or directory.
        path: PathBuf,
    },
}

/// What was found at all places.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Discovery {
    /// Plugins and failures, in load order: by origin, then as the paths are listed, then by name.
    pub found: Vec<Found>,
    /// Resource packages, in the same order.
    pub packages: Vec<ResourcePackage>,
}

/// Looks at all places. Reads files, so an asynchronous caller should not wait for it on its own thread.
pub fn discover(sources: &Sources) -> Discovery {
    let mut discovery = Discovery::default();
    for path in &sources.load_paths {
        place::named(path, Origin::Config, &mut discovery);
    }
    for (directory, origin) in
        [(&sources.installed, Origin::Installed), (&sources.bundled, Origin::Bundled), (&sources.workspace, Origin::Workspace)]
    {
        if let Some(directory) = directory.as_deref().filter(|directory| directory.exists()) {
            place::children(directory, origin, &mut discovery);
        }
    }
    discovery.found = unique(discovery.found);
    discovery
}

/// Looks at one place that somebody names: a plugin, a package, a single file, or a directory of them.
pub fn locate(path: &Path) -> Discovery {
    discover(&Sources { load_paths: vec![path.to_owned()], ..Sources::default() })
}

/// Refuses a plugin whose id an earlier one has, also if that one is faulty: a plugin that the operator put first is never replaced by
/// another one because it broke. The same plugin at the same place, found twice, is one.
fn unique(found: Vec<Found>) -> Vec<Found> {
    let real = |place: &Path| std::fs::canonicalize(place).unwrap_or_else(|_| place.to_owned());
    let mut first: BTreeMap<PluginId, (PathBuf, PathBuf)> = BTreeMap::new();
    let mut kept = Vec::with_capacity(found.len());
    for found in found {
        let candidate = match found {
            Found::Plugin(candidate) => candidate,
            Found::Failure(failure) => {
                if let Some(id) = failure.claims() {
                    first.entry(id.clone()).or_insert_with(|| (failure.place.clone(), real(&failure.place)));
                }
                kept.push(Found::Failure(failure));
                continue;
            }
        };
        let id = candidate.manifest.id.clone();
        let place = candidate.place();
        let real = real(&place);
        match first.get(&id) {
            Some((_, known)) if *known == real => {}
            Some((known, _)) => {
                let error = DiscoveryError::Duplicate { id: id.clone(), first: known.clone(), second: place.clone() };
                kept.push(Found::Failure(Box::new(Failure { origin: candidate.origin, place, id: Some(id), error })));
            }
            None => {
                first.insert(id, (place, real));
                kept.push(Found::Plugin(candidate));
            }
        }
    }
    kept
}

#[cfg(test)]
mod tests;
