//! Checks of staged material, without running anything of it: it is exactly one plugin, its manifest can be used, its component is one,
//! of a contract that this host knows, not too large, and asks for nothing that nobody could grant.

use std::path::{Path, PathBuf};

use domain::PluginId;
use plugin_host::discovery::{Candidate, Found, ManifestSource, locate};
use plugin_host::inspect::{Refusal, Refusals, validate};
use plugin_host::manifest::{self, Manifest};
use plugin_host::plan::{OpenedComponent, open_component};
use plugin_host::schema::ConfigSchema;
use plugin_host::{embedded, package};

use crate::asks::Asks;
use crate::digest::{self, Files, sha256};
use crate::stage::Limits;

/// How a plugin is packed (plugin-hooks 4.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// A directory with a manifest.
    Bundle,
    /// A resource package.
    Package,
    /// A single file.
    File,
}

/// A plugin that passed the checks.
#[derive(Debug, Clone)]
pub struct Package {
    /// Its id.
    pub id: PluginId,
    /// Its version, in its own words.
    pub version: Option<String>,
    /// Name to show.
    pub name: Option<String>,
    /// How it is packed.
    pub content: ContentType,
    /// Name in `package.json`.
    pub package_name: Option<String>,
    /// Path of the component in the directory.
    pub component: String,
    /// Its digest.
    pub component_sha256: String,
    /// Its size in bytes.
    pub component_bytes: usize,
    /// Path of the manifest; none: it stands in the component.
    pub manifest_file: Option<String>,
    /// Digest of the manifest's text.
    pub manifest_sha256: String,
    /// A file that was not in the source, and was added so that discovery finds the component.
    pub added_file: Option<String>,
    /// Digests of all files.
    pub files: Files,
    /// What it asks for.
    pub asks: Asks,
}

/// Why staged material is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// It holds no plugin, or something that looks like one and is not.
    #[error("{0}")]
    NotAPlugin(String),
    /// It holds several.
    #[error("it holds the plugins {0}; install each of them by itself")]
    Several(String),
    /// The component is too large.
    #[error(
        "its component has {bytes} bytes; it may have {max} (plugins.entries.{plugin}.limits.componentBytes allows more, up to the host's limit)"
    )]
    TooLarge {
        /// The plugin.
        plugin: PluginId,
        /// Its size.
        bytes: usize,
        /// The limit.
        max: u64,
    },
    /// The component needs another host.
    #[error("its component {0}")]
    Refused(Refusals),
    /// Manifest and component do not belong together.
    #[error("its manifest has an entry for `{0}`, which its component does not export")]
    NotExported(&'static str),
}

/// What is checked besides what is always checked.
#[derive(Clone, Copy)]
pub(crate) struct CheckSettings<'a> {
    /// How much there may be.
    pub(crate) limits: &'a Limits,
    /// Size that the component of a plugin may have, in bytes.
    pub(crate) component_bytes: &'a (dyn Fn(&PluginId, &Manifest) -> u64 + Send + Sync),
}

/// Checks the directory of a plugin. `added_file`: what staging added to the source.
pub(crate) fn check(root: &Path, added_file: Option<String>, settings: &CheckSettings<'_>) -> Result<Package, CheckError> {
    let not_a_plugin = |problem: String| CheckError::NotAPlugin(problem);
    let candidate = only_plugin(root)?;
    let component = open_component(&candidate).map_err(|error| not_a_plugin(error.to_string()))?;
    check_component(&candidate, &component, settings)?;
    let manifest = &candidate.manifest;
    ConfigSchema::compile(&manifest.config_schema).map_err(|error| not_a_plugin(error.to_string()))?;
    let (manifest_path, text) = manifest_text(&candidate, &component)?;
    let files = digest::files(root, settings.limits).map_err(|error| not_a_plugin(error.to_string()))?;
    let inside = |path: &Path| relative(root, path).ok_or_else(|| not_a_plugin(format!("{} is not in it", path.display())));
    let package_file = PackageFile::read(root);
    let content = match (&added_file, package_file.declares) {
        (Some(_), _) => ContentType::File,
        (None, true) => ContentType::Package,
        (None, false) => ContentType::Bundle,
    };
    Ok(Package {
        id: manifest.id.clone(),
        version: manifest.version.clone(),
        name: manifest.name.clone(),
        content,
        package_name: package_file.name,
        component: inside(&component.path)?,
        component_sha256: component.digest(),
        component_bytes: component.bytes.len(),
        manifest_file: manifest_path.as_deref().map(inside).transpose()?,
        manifest_sha256: sha256(&text),
        added_file,
        files,
        asks: Asks::of(manifest, &text, &component.inspection),
    })
}

/// The one plugin of a directory.
fn only_plugin(root: &Path) -> Result<Candidate, CheckError> {
    let discovery = locate(root);
    let mut candidates = Vec::new();
    for found in discovery.found {
        match found {
            Found::Plugin(candidate) => candidates.push(*candidate),
            Found::Failure(failure) => return Err(CheckError::NotAPlugin(failure.error.to_string())),
        }
    }
    if candidates.len() > 1 {
        let ids: Vec<String> = candidates.iter().map(|candidate| format!("`{}`", candidate.manifest.id)).collect();
        return Err(CheckError::Several(ids.join(", ")));
    }
    let none = || CheckError::NotAPlugin(format!("{} holds no plugin", root.display()));
    candidates.pop().ok_or_else(none)
}

fn check_component(candidate: &Candidate, component: &OpenedComponent, settings: &CheckSettings<'_>) -> Result<(), CheckError> {
    let manifest = &candidate.manifest;
    let (bytes, max) = (component.bytes.len(), (settings.component_bytes)(&manifest.id, manifest));
    if bytes as u64 > max {
        return Err(CheckError::TooLarge { plugin: manifest.id.clone(), bytes, max });
    }
    let mut refusals = component.inspection.refusals(manifest.id.as_str(), &plugin_host::grant::Grants::default());
    // What the operator can still grant is no fault of the plugin.
    refusals.0.retain(|refusal| !matches!(refusal, Refusal::Ungranted { .. }));
    if !refusals.0.is_empty() {
        return Err(CheckError::Refused(refusals));
    }
    let exported = component.inspection.hooks();
    if let Some(entry) = manifest.handlers.iter().find(|entry| !exported.contains(&entry.hook)) {
        return Err(CheckError::NotExported(entry.hook.name()));
    }
    let place = component.path.display();
    validate(&component.bytes).map_err(|error| CheckError::NotAPlugin(format!("{place} {error}")))
}

/// Where the manifest stands, and its text.
fn manifest_text(candidate: &Candidate, component: &OpenedComponent) -> Result<(Option<PathBuf>, Vec<u8>), CheckError> {
    let failed = |problem: String| CheckError::NotAPlugin(problem);
    match candidate.source {
        ManifestSource::File => {
            let path = candidate.root.join(manifest::FILE_NAME);
            let text = digest::read_file(&path, manifest::MAX_BYTES as u64);
            let text = text.map_err(|error| failed(format!("{} cannot be read: {error}", path.display())))?;
            Ok((Some(path), text))
        }
        ManifestSource::Embedded => match embedded::read(&component.bytes) {
            Ok(Some(text)) => Ok((None, text.to_vec())),
            Ok(None) => Err(failed(format!("{} has no manifest in it", component.path.display()))),
            Err(error) => Err(failed(format!("{} {error}", component.path.display()))),
        },
    }
}

/// A path in a directory, with `/`.
fn relative(root: &Path, path: &Path) -> Option<String> {
    let path = path.strip_prefix(root).ok()?;
    let parts: Option<Vec<&str>> =
        path.components().filter(|part| *part != std::path::Component::CurDir).map(|part| part.as_os_str().to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

/// What the package file says.
struct PackageFile {
    name: Option<String>,
    declares: bool,
}

impl PackageFile {
    fn read(root: &Path) -> Self {
        let text = digest::read_file(&root.join(package::FILE_NAME), 1 << 20).unwrap_or_default();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        Self { name: value["name"].as_str().map(str::to_owned), declares: value.get("openclaw").is_some() }
    }
}
