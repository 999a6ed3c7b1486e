//! From a candidate to a plugin that can be compiled: reads the component, compares it with the manifest, checks imports against
//! grants and settings against the schema. The first thing that does not fit is the load error.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use domain::{JsonText, PluginId};
use hooks::HookId;
use hooks::access::{Access, Diagnostic};
use hooks::fault::one_line;
use sha2::{Digest, Sha256};

use super::report::MAX_TOLD_BYTES;
use super::{ComponentBytes, FieldsError, PlannedPlugin, PluginSettings};
use crate::discovery::{Candidate, FileError, ManifestSource, Root};
use crate::embedded::{self, EmbeddedError};
use crate::grant::Resolution;
use crate::inspect::{InspectError, Inspection, MAX_COMPONENT_BYTES, Refusals, inspect};
use crate::manifest::{HandlerEntry, Lifetime, Manifest, ManifestError};
use crate::schema::{ConfigError, ConfigSchema, SchemaError};

/// Why a plugin does not load.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The component cannot be read.
    #[error("its component cannot be used: {0}")]
    File(#[from] FileError),
    /// The component is none.
    #[error("{} {cause}", path.display())]
    Component {
        /// The component.
        path: PathBuf,
        /// Why.
        cause: InspectError,
    },
    /// The manifest in the component cannot be read.
    #[error("{} {cause}", path.display())]
    Embedded {
        /// The component.
        path: PathBuf,
        /// Why.
        cause: EmbeddedError,
    },
    /// The manifest in the component is no manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Manifest and component belong to different plugins.
    #[error("its manifest says `{file}`, the one in {} says `{embedded}`; pack the component again", path.display())]
    OtherId {
        /// The component.
        path: PathBuf,
        /// Id in the manifest file.
        file: PluginId,
        /// Id in the component.
        embedded: PluginId,
    },
    /// The file is not what it was a moment ago.
    #[error("{} changed while it was being loaded; load again", path.display())]
    Changed {
        /// The component.
        path: PathBuf,
    },
    /// It imports what it cannot have, or was built for another contract.
    #[error("{} {refusals}", path.display())]
    Refused {
        /// The component.
        path: PathBuf,
        /// All reasons.
        refusals: Refusals,
    },
    /// The manifest has handlers for hooks that the component does not export.
    #[error("its manifest has an entry for {}, which {} does not export; export it, or remove the entry", names(hooks), path.display())]
    NotExported {
        /// The component.
        path: PathBuf,
        /// The hooks.
        hooks: Vec<HookId>,
    },
    /// The schema of its settings cannot be used.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Its settings do not fit.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The operator's lists of fields name what does not exist.
    #[error("plugins.entries.{plugin}.{cause}")]
    Fields {
        /// The plugin.
        plugin: PluginId,
        /// Why.
        cause: FieldsError,
    },
}

fn names(hooks: &[HookId]) -> String {
    hooks.iter().map(|hook| format!("`{hook}`")).collect::<Vec<_>>().join(", ")
}

/// A component that was read and looked at.
#[derive(Debug, Clone)]
pub struct OpenedComponent {
    /// Its path.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: ComponentBytes,
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
    /// What it says about itself.
    pub inspection: Inspection,
}

impl OpenedComponent {
    /// The digest in hex digits.
    pub fn digest(&self) -> String {
        hex::encode(self.sha256)
    }
}

/// Reads the component of a candidate, and checks that it belongs to its manifest.
///
/// # Errors
/// When it is not there, is no component, or holds the manifest of another plugin.
pub fn open_component(candidate: &Candidate) -> Result<OpenedComponent, LoadError> {
    let component = open_file(&candidate.root, &candidate.component)?;
    compare_manifests(candidate, &component.bytes, &component.path)?;
    Ok(component)
}

/// Reads a component whatever its manifest says, for somebody who only wants to look at it. `file` is relative to `directory`.
///
/// # Errors
/// When it is not there, or is no component.
pub fn open_file(directory: &Path, file: &Path) -> Result<OpenedComponent, LoadError> {
    let path = directory.join(file);
    let bytes = Root::open(directory)?.read(file, MAX_COMPONENT_BYTES)?;
    let inspection = inspect(&bytes).map_err(|cause| LoadError::Component { path: path.clone(), cause })?;
    let sha256 = Sha256::digest(&bytes).into();
    Ok(OpenedComponent { path, bytes: bytes.into(), sha256, inspection })
}

fn compare_manifests(candidate: &Candidate, bytes: &[u8], path: &Path) -> Result<(), LoadError> {
    let text = embedded::read(bytes).map_err(|cause| LoadError::Embedded { path: path.to_owned(), cause })?;
    let place = format!("{} (embedded manifest)", path.display());
    let embedded = text.map(|text| Manifest::parse(text, &place)).transpose()?;
    match (candidate.source, embedded) {
        (ManifestSource::File, Some(embedded)) if embedded.id != candidate.manifest.id => {
            Err(LoadError::OtherId { path: path.to_owned(), file: candidate.manifest.id.clone(), embedded: embedded.id })
        }
        (ManifestSource::Embedded, embedded) if embedded.as_ref() != Some(&candidate.manifest) => {
            Err(LoadError::Changed { path: path.to_owned() })
        }
        _ => Ok(()),
    }
}

/// Prepares a plugin whose component was read.
pub(super) fn prepare(
    candidate: Candidate,
    component: OpenedComponent,
    settings: &PluginSettings,
    resolution: &Resolution,
) -> Result<PlannedPlugin, LoadError> {
    let Candidate { origin, root, manifest, .. } = candidate;
    let refusals = component.inspection.refusals(manifest.id.as_str(), &resolution.grants);
    if !refusals.0.is_empty() {
        return Err(LoadError::Refused { path: component.path, refusals });
    }
    let handlers = handlers(&manifest, &component)?;
    let config = config(&manifest, settings)?;
    let fields = settings.allowed_fields().map_err(|cause| LoadError::Fields { plugin: manifest.id.clone(), cause })?;
    let access = Access { fields, component: component.digest(), ..settings.access(origin) };
    let mut notes = Notes { plugin: manifest.id.clone(), diagnostics: Vec::new() };
    manifest.diagnostics.iter().for_each(|text| notes.add(text));
    notes.about_exports(&manifest, &component.inspection);
    notes.about_settings(settings, resolution);
    Ok(PlannedPlugin {
        lifetime: notes.lifetime(manifest.lifetime),
        skills: notes.skills(&root, &manifest),
        id: manifest.id.clone(),
        origin,
        root,
        component,
        config,
        grants: resolution.grants.clone(),
        requested_limits: manifest.limits,
        operator_limits: settings.limits,
        access,
        handlers,
        diagnostics: notes.diagnostics,
        manifest,
    })
}

/// Manifest entries in their order, then exports without an entry (plugin-hooks 1.1).
fn handlers(manifest: &Manifest, component: &OpenedComponent) -> Result<Vec<HandlerEntry>, LoadError> {
    let exported = component.inspection.hooks();
    let mut handlers = manifest.handlers.clone();
    let missing: BTreeSet<HookId> = handlers.iter().map(|entry| entry.hook).filter(|hook| !exported.contains(hook)).collect();
    if !missing.is_empty() {
        return Err(LoadError::NotExported { path: component.path.clone(), hooks: missing.into_iter().collect() });
    }
    for hook in exported {
        if !manifest.handlers.iter().any(|entry| entry.hook == hook) {
            handlers.push(HandlerEntry::with_defaults(hook));
        }
    }
    Ok(handlers)
}

fn config(manifest: &Manifest, settings: &PluginSettings) -> Result<JsonText, LoadError> {
    let schema = ConfigSchema::compile(&manifest.config_schema)?;
    Ok(schema.settings(manifest.id.as_str(), &settings.config)?)
}

/// A sentence about a plugin: one line, whatever its manifest says.
pub(super) fn note(plugin: &PluginId, text: &str) -> String {
    one_line(&format!("plugin `{plugin}`: {text}"), MAX_TOLD_BYTES)
}

/// What the operator should know about a plugin that loads.
struct Notes {
    plugin: PluginId,
    diagnostics: Vec<Diagnostic>,
}

impl Notes {
    fn add(&mut self, text: &str) {
        self.diagnostics.push(Diagnostic { plugin: self.plugin.clone(), text: note(&self.plugin, text) });
    }

    fn about_exports(&mut self, manifest: &Manifest, inspection: &Inspection) {
        for export in inspection.left_out() {
            self.add(&format!("exports `{export}`, which this host does not know; it is never called"));
        }
        match (inspection.has_tools(), manifest.tools.is_empty()) {
            (true, true) => self.add("registers tools, but its manifest names none in `contracts.tools`; none is offered"),
            (false, false) => self.add("names tools in `contracts.tools`, but exports none"),
            _ => {}
        }
        if !inspection.has_tools() && inspection.hooks().is_empty() {
            self.add("exports neither hooks nor tools; it does nothing here");
        }
    }

    fn about_settings(&mut self, settings: &PluginSettings, resolution: &Resolution) {
        let plugin = self.plugin.clone();
        for capability in &resolution.unused {
            let key = capability.key();
            self.add(&format!("plugins.entries.{plugin}.capabilities.{key} has no effect: the plugin does not import it"));
        }
        for name in settings.budgets.by_hook.keys().filter(|name| HookId::from_name(name).is_none()) {
            let nearest = HookId::nearest(name);
            self.add(&format!("plugins.entries.{plugin}.hooks.timeouts.{name} names no hook; the nearest is `{nearest}`"));
        }
    }

    /// The lifetime that counts: a shared instance would carry one session's data into another, which nobody can allow yet.
    fn lifetime(&mut self, asked: Lifetime) -> Lifetime {
        if asked != Lifetime::Shared {
            return asked;
        }
        self.add("asks for one instance for all sessions, which this version of the host does not grant; it gets one per run");
        Lifetime::Run
    }

    /// Skill directories that are inside the plugin's.
    fn skills(&mut self, root: &Path, manifest: &Manifest) -> Vec<PathBuf> {
        let Ok(directory) = Root::open(root) else { return Vec::new() };
        let mut skills = Vec::new();
        for skill in &manifest.skills {
            match directory.resolve(Path::new(skill)) {
                Ok(path) => skills.push(root.join(path)),
                Err(error) => self.add(&format!("a directory of `skills` is left out: {error}")),
            }
        }
        skills
    }
}
