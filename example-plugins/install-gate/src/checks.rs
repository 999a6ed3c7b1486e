//! What is noticed about a request, and which of it is refused.

use crate::glob;
use crate::settings::{Settings, Treatment};
use creel_plugin::prelude::*;
use creel_plugin::{Finding, FindingSeverity, InstallSpec, Installer, RequestKind};
use serde::Deserialize;

/// Digits of a SHA-256 in hex.
const SHA256_DIGITS: usize = 64;

/// The result of all checks.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) findings: Vec<Finding>,
    /// Why the installation is refused: the first reason there was.
    pub(crate) refusal: Option<String>,
}

impl Checked {
    fn notice(&mut self, rule: &str, treatment: Treatment, message: String) {
        let severity = match treatment {
            Treatment::Allow => return,
            Treatment::Report => FindingSeverity::Warn,
            Treatment::Refuse => FindingSeverity::Critical,
        };
        self.findings.push(Finding::new(rule, severity, message.clone()));
        if treatment == Treatment::Refuse {
            self.refusal.get_or_insert(message);
        }
    }
}

/// Runs all checks; none is left out because an earlier one refused.
///
/// # Errors
/// The origin is not an object with a type.
pub(crate) fn run(event: &BeforeInstallEvent, settings: &Settings) -> Result<Checked> {
    let mut checked = Checked::default();
    check_kind(event, settings, &mut checked);
    check_origin(event, settings, &mut checked)?;
    check_names(event, settings, &mut checked);
    check_version(event, settings, &mut checked);
    if let Some(spec) = install_spec(event) {
        check_download(spec, settings, &mut checked);
    }
    Ok(checked)
}

fn check_kind(event: &BeforeInstallEvent, settings: &Settings, checked: &mut Checked) {
    let kind = kind_name(&event.request.kind);
    if settings.refuse_kinds.iter().any(|refused| refused == kind) {
        let message = format!("installing by `{kind}` is not allowed here");
        checked.notice("kind", Treatment::Refuse, message);
    }
}

fn check_origin(event: &BeforeInstallEvent, settings: &Settings, checked: &mut Checked) -> Result<()> {
    #[derive(Deserialize)]
    struct Origin {
        r#type: String,
    }
    if let Some(Origin { r#type: origin }) = event.origin()?
        && settings.refuse_origins.contains(&origin)
    {
        let message = format!("installing from `{origin}` is not allowed here");
        checked.notice("origin", Treatment::Refuse, message);
    }
    Ok(())
}

fn check_names(event: &BeforeInstallEvent, settings: &Settings, checked: &mut Checked) {
    let plugin = event.plugin.as_ref();
    let spec = install_spec(event);
    let names = [
        Some(&event.target_name),
        plugin.map(|plugin| &plugin.plugin_id),
        plugin.and_then(|plugin| plugin.package_name.as_ref()),
        plugin.and_then(|plugin| plugin.manifest_id.as_ref()),
        spec.and_then(|spec| spec.package.as_ref()),
        spec.and_then(|spec| spec.formula.as_ref()),
        spec.and_then(|spec| spec.module.as_ref()),
    ];
    let refused = names.into_iter().flatten().find_map(|name| {
        let pattern = settings.refuse_names.iter().find(|pattern| glob::fits(pattern, name))?;
        Some(format!("`{name}` is not allowed here (rule `{pattern}`)"))
    });
    if let Some(message) = refused {
        checked.notice("name", Treatment::Refuse, message);
    }
}

fn check_version(event: &BeforeInstallEvent, settings: &Settings, checked: &mut Checked) {
    let Some(specifier) = &event.request.requested_specifier else {
        return;
    };
    let is_pinned = match event.request.kind {
        RequestKind::PluginNpm => names_version(specifier),
        RequestKind::PluginGit => names_commit(specifier),
        _ => true,
    };
    if !is_pinned {
        let message = format!("`{specifier}` names no exact version; what is installed can change from day to day");
        checked.notice("unpinned-package", settings.unpinned_packages, message);
    }
}

fn check_download(spec: &InstallSpec, settings: &Settings, checked: &mut Checked) {
    if spec.kind != Installer::Download {
        return;
    }
    let treatment = settings.unpinned_downloads;
    let url = spec.url.as_deref().unwrap_or("a download without an address");
    let is_pinned = spec
        .sha256
        .as_ref()
        .is_some_and(|digest| digest.len() == SHA256_DIGITS && digest.bytes().all(|digit| digit.is_ascii_hexdigit()));
    if !is_pinned {
        checked.notice("unpinned-download", treatment, format!("`{url}` has no SHA-256 to check it against"));
    }
    if !url.starts_with("https://") {
        checked.notice("insecure-download", treatment, format!("`{url}` is not fetched by https"));
    }
}

fn install_spec(event: &BeforeInstallEvent) -> Option<&InstallSpec> {
    event.skill.as_ref()?.install_spec.as_ref()
}

/// Whether an npm specifier such as `@scope/name@1.2.3` ends in an exact version: no range, no tag.
fn names_version(specifier: &str) -> bool {
    // The first character may be the `@` of a scope.
    let Some(at) = specifier.rfind('@').filter(|at| *at > 0) else {
        return false;
    };
    let version = &specifier[at + 1..];
    let core = version.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<_> = core.split('.').collect();
    numbers.len() == 3 && numbers.iter().all(|number| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

/// Whether a git specifier such as `https://…/x.git#0123abc…` ends in a whole commit id.
fn names_commit(specifier: &str) -> bool {
    specifier
        .rsplit_once(['#', '@'])
        .is_some_and(|(_, commit)| matches!(commit.len(), 40 | 64) && commit.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

fn kind_name(kind: &RequestKind) -> &str {
    match kind {
        RequestKind::SkillInstall => "skill-install",
        RequestKind::PluginDir => "plugin-dir",
        RequestKind::PluginArchive => "plugin-archive",
        RequestKind::PluginFile => "plugin-file",
        RequestKind::PluginNpm => "plugin-npm",
        RequestKind::PluginGit => "plugin-git",
        RequestKind::Other(name) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::{names_commit, names_version};

    #[test]
    fn only_a_whole_version_is_exact() {
        for (specifier, exact) in [
            ("name@1.2.3", true),
            ("@scope/name@1.2.3-rc.1", true),
            ("name", false),
            ("@scope/name", false),
            ("name@latest", false),
            ("name@^1.2.3", false),
            ("name@1.2", false),
            ("name@1.x.3", false),
        ] {
            assert_eq!(names_version(specifier), exact, "{specifier}");
        }
    }

    #[test]
    fn only_a_whole_commit_is_exact() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert!(names_commit(&format!("https://example.org/x.git#{commit}")));
        assert!(!names_commit("https://example.org/x.git#main"));
        assert!(!names_commit("https://example.org/x.git#0123abc"));
        assert!(!names_commit("git@example.org:x.git"));
    }
}
