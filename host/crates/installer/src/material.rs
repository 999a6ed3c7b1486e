//! Staged material as the install policy and `before_install` see it (plugin-hooks 4.10, 10). Serialised it is what the policy reads.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use crate::check::{ContentType, Package};
use crate::stage::{Source, SourceKind};

/// Whether something new comes, or something known is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// It is new.
    Install,
    /// It replaces an older version.
    Update,
}

/// What kind of thing is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetType {
    /// A skill.
    Skill,
    /// A plugin.
    Plugin,
}

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Skill {
    /// Id of the installer entry.
    pub install_id: String,
}

/// A plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plugin {
    /// Its id.
    pub plugin_id: String,
    /// How it is packed: `bundle`, `package` or `file`.
    pub content_type: &'static str,
    /// Name of its package.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_name: Option<String>,
    /// Id in its manifest.
    pub manifest_id: String,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Its entry files.
    pub extensions: Vec<String>,
}

/// What is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A skill.
    Skill(Skill),
    /// A plugin.
    Plugin(Plugin),
}

/// Staged material.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Material {
    /// What it is.
    pub target: Target,
    /// Its name.
    pub name: String,
    /// Where it is staged; it is not active there.
    pub staged: PathBuf,
    /// Where it comes from: `source.kind` of the policy's request.
    pub source_kind: &'static str,
    /// The path that it was taken from.
    pub source_path: PathBuf,
    /// By which way, for example `plugin-dir`.
    pub request_kind: &'static str,
    /// Whether it is new.
    pub mode: Mode,
    /// What the operator typed.
    pub specifier: Option<String>,
}

impl Material {
    /// A plugin that was staged.
    pub(crate) fn of_plugin(package: &Package, staged: &Path, source: &Source, mode: Mode, specifier: Option<String>) -> Self {
        let plugin = Plugin {
            plugin_id: package.id.to_string(),
            content_type: match package.content {
                ContentType::Bundle => "bundle",
                ContentType::Package => "package",
                ContentType::File => "file",
            },
            package_name: package.package_name.clone(),
            manifest_id: package.id.to_string(),
            version: package.version.clone(),
            extensions: vec![package.component.clone()],
        };
        Self {
            name: package.id.to_string(),
            target: Target::Plugin(plugin),
            staged: staged.to_owned(),
            source_kind: source.kind.policy_kind(),
            source_path: source.path.clone(),
            request_kind: source.kind.request_kind(),
            mode,
            specifier,
        }
    }

    /// A skill whose files were staged from a directory or file.
    pub fn of_skill(name: &str, install_id: &str, staged: &Path, source: &Source, mode: Mode) -> Self {
        Self {
            name: name.to_owned(),
            target: Target::Skill(Skill { install_id: install_id.to_owned() }),
            staged: staged.to_owned(),
            source_kind: source.kind.policy_kind(),
            source_path: source.path.clone(),
            request_kind: "skill-install",
            mode,
            specifier: None,
        }
    }

    /// What kind of thing it is.
    pub fn target_type(&self) -> TargetType {
        match self.target {
            Target::Skill(_) => TargetType::Skill,
            Target::Plugin(_) => TargetType::Plugin,
        }
    }

    /// Where it came from, as an object with a `type`.
    pub fn origin(&self) -> Value {
        json!({ "type": self.source_kind, "path": self.source_path })
    }

    /// The request of the install policy.
    pub(crate) fn policy_request(&self, host_version: &str) -> Value {
        let mut request = json!({
            "protocolVersion": 1,
            "openclawVersion": host_version,
            "targetType": self.target_type(),
            "targetName": self.name,
            "sourcePath": self.staged,
            "sourcePathKind": if self.staged.is_dir() { "directory" } else { "file" },
            // Everything comes from a path that the operator named: it can change there, and nothing is fetched.
            "source": { "kind": self.source_kind, "authority": "user", "mutable": true, "network": false },
            "origin": self.origin(),
            "request": { "kind": self.request_kind, "mode": self.mode },
        });
        if let Some(specifier) = &self.specifier {
            request["request"]["requestedSpecifier"] = json!(specifier);
        }
        match &self.target {
            Target::Skill(skill) => request["skill"] = json!(skill),
            Target::Plugin(plugin) => request["plugin"] = json!(plugin),
        }
        request
    }
}

impl SourceKind {
    /// Whether a source is a directory.
    pub fn is_directory(self) -> bool {
        matches!(self, Self::Directory | Self::OciLayout)
    }
}
