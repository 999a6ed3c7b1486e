//! The manifest of a plugin, `creel.plugin.json`, as types (plugin-hooks 7). It is read without running anything of the plugin. It
//! describes and asks; it never grants, and it never decides whether the plugin runs.
//!
//! Keys that this host does not know are tolerated. Of the known ones a wrong type is an error that names file and key; what 1.1
//! tolerates (an unknown hook, an unusable list of triggers) becomes a diagnostic, and the plugin still loads.

mod capabilities;
mod error;
mod handlers;
mod id;
mod object;
mod shape;

use std::collections::BTreeMap;
use std::fmt;

use domain::PluginId;
use hooks::fault::one_line;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::grant::Asked;
use crate::limits::RequestedLimits;

pub use error::ManifestError;
pub use handlers::{HandlerEntry, MAX_HANDLERS};
pub use id::{InvalidPluginId, MAX_ID_CHARS, entry_id, parse_id};

/// Name of the manifest file, and of the section that holds it in a single-file plugin.
pub const FILE_NAME: &str = "creel.plugin.json";

/// Longest manifest, in bytes. Manifests hold schemas, not data; it bounds everything that is made from one.
pub const MAX_BYTES: usize = 256 << 10;

/// Longest diagnostic, in bytes.
const MAX_DIAGNOSTIC_BYTES: usize = 512;

/// A manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Canonical id, the key of `plugins.entries`.
    pub id: PluginId,
    /// Name to show.
    pub name: Option<String>,
    /// One sentence to show.
    pub description: Option<String>,
    /// Version to show.
    pub version: Option<String>,
    /// Path of the component, relative to the plugin's directory. Absent: the manifest is embedded, or a package names the component.
    pub component: Option<String>,
    /// JSON Schema of `plugins.entries.<id>.config`.
    pub config_schema: Map<String, Value>,
    /// Handlers in order, one per usable entry of `hooks`.
    pub handlers: Vec<HandlerEntry>,
    /// What the plugin asks for.
    pub capabilities: Asked,
    /// Limits that the plugin would like.
    pub limits: RequestedLimits,
    /// How long one instance lives.
    pub lifetime: Lifetime,
    /// `contracts.tools`: names of the tools that it may register.
    pub tools: Vec<String>,
    /// `contracts.toolsPerRun`: whether the list of tools depends on the run and is asked for again at its start.
    pub tools_per_run: bool,
    /// `toolMetadata`, by tool name.
    pub tool_metadata: BTreeMap<String, ToolMetadata>,
    /// Load hints.
    pub activation: Activation,
    /// Kinds; those of [`ExclusiveKind`] compete for a slot.
    pub kinds: Vec<String>,
    /// Whether a bundled plugin runs if nobody says anything about it, here.
    pub enabled_by_default: bool,
    /// Ids of channels that it owns.
    pub channels: Vec<String>,
    /// Directories of skills, relative to the plugin's directory.
    pub skills: Vec<String>,
    /// Ids of plugins that it builds on.
    pub requires_plugins: Vec<String>,
    /// Ids that it had before.
    pub legacy_plugin_ids: Vec<String>,
    /// What an operator should know about the manifest; one sentence each.
    pub diagnostics: Vec<String>,
}

/// A kind of plugin of which only one may serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExclusiveKind {
    /// Keeps memory; slot `plugins.slots.memory`.
    Memory,
    /// Assembles the context; slot `plugins.slots.contextEngine`.
    ContextEngine,
}

impl ExclusiveKind {
    /// The exclusive kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "memory" => Some(Self::Memory),
            "context-engine" => Some(Self::ContextEngine),
            _ => None,
        }
    }
}

/// How long one instance of a component lives (`instanceLifetime`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Lifetime {
    /// It serves the calls of one agent run, and is dropped at its end.
    #[default]
    Run,
    /// Each call gets a fresh one.
    Call,
    /// One serves all calls, one after another. Needs a grant that this version of the host does not have.
    Shared,
}

impl fmt::Display for Lifetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "run",
            Self::Call => "call",
            Self::Shared => "shared",
        })
    }
}

/// What the manifest says about one tool.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolMetadata {
    /// Tool profiles that include it.
    pub profiles: Vec<String>,
    /// Whether it is hidden until the operator allows it.
    pub optional: bool,
    /// Whether a call may be repeated. Absent: unknown.
    pub replay_safe: Option<bool>,
    /// Whether a call changes something outside. Absent: unknown.
    pub side_effecting: Option<bool>,
}

/// Load hints. They are for hosts that load plugins late; this one loads every enabled plugin at start, so a plugin with hooks and
/// without hints works here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Activation {
    /// Load at start.
    pub on_startup: Option<bool>,
    /// Load for these: `provider`, `channel`, `tool`, `hook`.
    pub on_capabilities: Vec<String>,
}

impl Manifest {
    /// Reads a manifest. `place` is where it stands, for messages: a path, or a path and the word "embedded".
    ///
    /// # Errors
    /// When the text is too long, is not JSON, lacks `id` or `configSchema`, or holds a known key with a value of the wrong type.
    pub fn parse(text: &[u8], place: &str) -> Result<Self, ManifestError> {
        let shape = shape::read(text, place)?;
        let id = parse_id(&shape.id).map_err(|cause| ManifestError::Id { place: place.to_owned(), cause })?;
        let mut diagnostics = Vec::new();
        let handlers = handlers::read(shape.hooks, place, &mut diagnostics)?;
        let capabilities = capabilities::asked(&shape.capabilities, place, &mut diagnostics)?;
        Ok(Self {
            id,
            name: shape.name,
            description: shape.description,
            version: shape.version,
            component: shape.component,
            config_schema: shape.config_schema,
            handlers,
            capabilities,
            limits: shape.limits.0,
            lifetime: shape.instance_lifetime,
            tools: shape.contracts.0.tools,
            tools_per_run: shape.contracts.0.tools_per_run,
            tool_metadata: shape.tool_metadata.into_iter().map(|(tool, metadata)| (tool, metadata.0)).collect(),
            activation: shape.activation.0,
            kinds: shape.kind.into_names(),
            enabled_by_default: shape.enabled_by_default
                || shape.enabled_by_default_on_platforms.iter().any(|it| it == platform()),
            channels: shape.channels,
            skills: shape.skills,
            requires_plugins: shape.requires_plugins,
            legacy_plugin_ids: shape.legacy_plugin_ids,
            // They repeat names from the file.
            diagnostics: diagnostics.iter().map(|text| one_line(text, MAX_DIAGNOSTIC_BYTES)).collect(),
        })
    }
}

/// Name of this platform in manifests.
fn platform() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}

#[cfg(test)]
mod tests;
