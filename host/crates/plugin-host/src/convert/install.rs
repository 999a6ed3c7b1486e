//! `before-install`: what is about to be installed, and what a plugin found in it.

use hooks::Fault;
use hooks::events::before_install::{
    Answer, ContentType, Event, Finding, FindingSeverity, InstallSpec, Installer, Plugin, Skill, Target,
};

use super::{Arena, FromAnswer, ToRecord};
use crate::bindings::exports::creel::plugin::before_install as wit;

/// The scan that the contract keeps for old plugins: none is made, so it is empty and fine (plugin-hooks 4.10).
const NO_SCAN: wit::BuiltinScan<'static> =
    wit::BuiltinScan { status: wit::ScanStatus::Ok, scanned_files: 0, critical: 0, warn: 0, info: 0, findings: &[], error: None };

impl<'a> ToRecord<'a> for Event {
    type Record = wit::Event<'a>;

    fn to_record(&'a self, arena: &'a Arena) -> Self::Record {
        let (target_type, skill_part, plugin_part) = match &self.target {
            Target::Skill(skill_target) => (wit::TargetType::Skill, Some(skill(skill_target, arena)), None),
            Target::Plugin(plugin_target) => (wit::TargetType::Plugin, None, Some(plugin(plugin_target, arena))),
        };
        wit::Event {
            target_type,
            target_name: &self.target_name,
            source_path: &self.source_path,
            source_path_kind: if self.source_is_directory { wit::PathKind::Directory } else { wit::PathKind::File },
            origin: self.origin.as_ref().map(|json| json.as_str()),
            request: wit::Request {
                kind: request_kind(&self.request_kind),
                mode: if self.is_update { wit::RequestMode::Update } else { wit::RequestMode::Install },
                requested_specifier: self.requested_specifier.as_deref(),
            },
            builtin_scan: Some(NO_SCAN),
            skill: skill_part,
            plugin: plugin_part,
        }
    }
}

fn request_kind(name: &str) -> wit::RequestKind<'_> {
    match name {
        "skill-install" => wit::RequestKind::SkillInstall,
        "plugin-dir" => wit::RequestKind::PluginDir,
        "plugin-archive" => wit::RequestKind::PluginArchive,
        "plugin-file" => wit::RequestKind::PluginFile,
        "plugin-npm" => wit::RequestKind::PluginNpm,
        "plugin-git" => wit::RequestKind::PluginGit,
        other => wit::RequestKind::Other(other),
    }
}

fn skill<'a>(skill: &'a Skill, arena: &'a Arena) -> wit::Skill<'a> {
    wit::Skill { install_id: &skill.install_id, install_spec: skill.install_spec.as_ref().map(|it| spec(it, arena)) }
}

fn spec<'a>(spec: &'a InstallSpec, arena: &'a Arena) -> wit::InstallSpec<'a> {
    wit::InstallSpec {
        id: spec.id.as_deref(),
        kind: match spec.kind {
            Installer::Brew => wit::Installer::Brew,
            Installer::Node => wit::Installer::Node,
            Installer::Go => wit::Installer::Go,
            Installer::Uv => wit::Installer::Uv,
            Installer::Download => wit::Installer::Download,
        },
        label: spec.label.as_deref(),
        bins: arena.texts(&spec.bins),
        os: arena.texts(&spec.os),
        formula: spec.formula.as_deref(),
        package: spec.package.as_deref(),
        module: spec.module.as_deref(),
        url: spec.url.as_deref(),
        sha256: spec.sha256.as_deref(),
        archive: spec.archive.as_deref(),
        extract: spec.extract,
        strip_components: spec.strip_components,
        target_dir: spec.target_dir.as_deref(),
    }
}

fn plugin<'a>(plugin: &'a Plugin, arena: &'a Arena) -> wit::Plugin<'a> {
    wit::Plugin {
        plugin_id: &plugin.plugin_id,
        content_type: match plugin.content_type {
            ContentType::Bundle => wit::ContentType::Bundle,
            ContentType::Package => wit::ContentType::Package,
            ContentType::File => wit::ContentType::File,
        },
        package_name: plugin.package_name.as_deref(),
        manifest_id: plugin.manifest_id.as_deref(),
        version: plugin.version.as_deref(),
        extensions: arena.texts(&plugin.extensions),
    }
}

impl FromAnswer for Answer {
    type Wit = wit::Answer;

    fn from_answer(answer: wit::Answer) -> Result<Self, Fault> {
        let findings = answer.findings.into_iter().map(finding).collect();
        Ok(Self { findings, block: answer.block, block_reason: answer.block_reason })
    }
}

fn finding(finding: wit::FindingResult) -> Finding {
    Finding {
        rule_id: finding.rule_id,
        severity: match finding.severity {
            wit::Severity::Info => FindingSeverity::Info,
            wit::Severity::Warn => FindingSeverity::Warn,
            wit::Severity::Critical => FindingSeverity::Critical,
        },
        file: finding.file,
        line: finding.line,
        message: finding.message,
    }
}
