//! `before_install` (plugin-hooks 4.10): findings add up, a block is sticky and terminal, a fault refuses.

use domain::{JsonText, PluginId};

use crate::catalogue::BeforeInstall;
use crate::point::{Fold, Who};

/// The staged material.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What is installed, with its details.
    pub target: Target,
    /// Its name.
    pub target_name: String,
    /// Where it is staged; a name.
    pub source_path: String,
    /// Whether that is a directory.
    pub source_is_directory: bool,
    /// Where it came from, an object with at least `type`.
    pub origin: Option<JsonText>,
    /// By which way, by its host name (`plugin-dir`, `skill-install`, …).
    pub request_kind: String,
    /// Whether it replaces an older version.
    pub is_update: bool,
    /// What the operator typed.
    pub requested_specifier: Option<String>,
}

/// What is installed.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A skill.
    Skill(Box<Skill>),
    /// A plugin.
    Plugin(Plugin),
}

/// A skill.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// Id of the installer entry.
    pub install_id: String,
    /// The installer entry; none: files only.
    pub install_spec: Option<InstallSpec>,
}

/// An installer entry; which fields are set depends on `kind`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct InstallSpec {
    /// Id of the entry.
    pub id: Option<String>,
    /// Installer.
    pub kind: Installer,
    /// Label.
    pub label: Option<String>,
    /// Programs that it gives.
    pub bins: Vec<String>,
    /// Operating systems that it is for; empty: all.
    pub os: Vec<String>,
    /// Formula, for `brew`.
    pub formula: Option<String>,
    /// Package, for `node` and `uv`.
    pub package: Option<String>,
    /// Module, for `go`.
    pub module: Option<String>,
    /// Address, for `download`.
    pub url: Option<String>,
    /// Expected SHA-256 of the download, hex.
    pub sha256: Option<String>,
    /// Kind of archive.
    pub archive: Option<String>,
    /// Whether to unpack it.
    pub extract: Option<bool>,
    /// Leading path parts to drop.
    pub strip_components: Option<u32>,
    /// Directory to unpack to.
    pub target_dir: Option<String>,
}

/// An installer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Installer {
    /// Homebrew.
    Brew,
    /// A node package manager.
    Node,
    /// The Go tool.
    Go,
    /// uv, for Python.
    Uv,
    /// A download.
    #[default]
    Download,
}

/// A plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct Plugin {
    /// Its id.
    pub plugin_id: String,
    /// How it is packed.
    pub content_type: ContentType,
    /// Name of its package.
    pub package_name: Option<String>,
    /// Id in its manifest.
    pub manifest_id: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// Its entry files.
    pub extensions: Vec<String>,
}

/// How a plugin is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentType {
    /// A bundle.
    Bundle,
    /// A package.
    Package,
    /// A single file.
    File,
}

/// Something that was noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Rule that noticed it.
    pub rule_id: String,
    /// How grave it is.
    pub severity: FindingSeverity,
    /// File, relative to the source path.
    pub file: String,
    /// Line, from 1; 0: the whole file.
    pub line: u32,
    /// What it is.
    pub message: String,
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingSeverity {
    /// For information.
    Info,
    /// Worth a look.
    Warn,
    /// Dangerous.
    Critical,
}

/// The decision of one handler.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// What was noticed.
    pub findings: Vec<Finding>,
    /// Refuse.
    pub block: bool,
    /// Why.
    pub block_reason: Option<String>,
}

/// The merged decision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// All findings, in execution order.
    pub findings: Vec<Finding>,
    /// Who refused, if anybody.
    pub blocked_by: Option<PluginId>,
    /// Last reason given.
    pub block_reason: Option<String>,
}

impl Fold for BeforeInstall {
    type Decision = Decision;

    fn fold(so_far: Decision, answer: Answer, who: Who<'_>) -> Decision {
        let mut findings = so_far.findings;
        findings.extend(answer.findings);
        Decision {
            findings,
            blocked_by: so_far.blocked_by.or_else(|| answer.block.then(|| who.plugin.clone())),
            block_reason: answer.block_reason.or(so_far.block_reason),
        }
    }

    fn is_terminal(decision: &Decision) -> bool {
        decision.blocked_by.is_some()
    }

    fn describe(answer: &Answer) -> Option<String> {
        let findings = (!answer.findings.is_empty()).then(|| format!("{} findings", answer.findings.len()));
        if answer.block {
            let reason = super::excerpt(answer.block_reason.as_deref().unwrap_or_default());
            return Some(match findings {
                Some(findings) => format!("{findings}, refuse “{reason}”"),
                None => format!("refuse “{reason}”"),
            });
        }
        findings
    }
}
