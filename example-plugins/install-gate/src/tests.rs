//! Which installations pass, are reported on, and are refused.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use super::InstallGate;
use creel_plugin::prelude::*;
use creel_plugin::serde_json::{Value, from_str};
use creel_plugin::testing::{Host, context, event};
use creel_plugin::{
    ContentType, FindingSeverity, InstallSpec, InstalledPlugin, InstalledSkill, Installer, RequestKind, TargetType,
};

fn judge(config: Value, event: BeforeInstallEvent) -> InstallDecision {
    Host::new().config(config).run(|| InstallGate::before_install(&Call::default(), event, context::install())).unwrap()
}

/// The rules that noticed something, and the reason of a refusal.
fn told(decision: &InstallDecision) -> (Vec<&str>, Option<&str>) {
    let Some(answer) = decision.answer() else {
        return (Vec::new(), None);
    };
    let rules = answer.findings.iter().map(|finding| finding.rule_id.as_str()).collect();
    assert_eq!(answer.block, answer.block_reason.is_some());
    (rules, answer.block_reason.as_deref())
}

fn plugin(kind: RequestKind, specifier: &str) -> BeforeInstallEvent {
    let mut event = event::before_install(TargetType::Plugin, "sample", kind);
    event.request.requested_specifier = Some(specifier.to_owned());
    event.plugin = Some(InstalledPlugin {
        plugin_id: "sample".to_owned(),
        content_type: ContentType::Package,
        package_name: Some("@acme/sample".to_owned()),
        manifest_id: None,
        version: None,
        extensions: Vec::new(),
    });
    event
}

fn download(url: &str, sha256: Option<&str>) -> BeforeInstallEvent {
    let mut event = event::before_install(TargetType::Skill, "tool", RequestKind::SkillInstall);
    event.skill = Some(InstalledSkill {
        install_id: "tool".to_owned(),
        install_spec: Some(InstallSpec {
            id: None,
            kind: Installer::Download,
            label: None,
            bins: Vec::new(),
            os: Vec::new(),
            formula: None,
            package: None,
            module: None,
            url: Some(url.to_owned()),
            sha256: sha256.map(str::to_owned),
            archive: None,
            extract: None,
            strip_components: None,
            target_dir: None,
        }),
    });
    event
}

#[test]
fn a_plain_directory_passes_without_a_word() {
    let event = event::before_install(TargetType::Plugin, "sample", RequestKind::PluginDir);
    assert_eq!(judge(json!({}), event), InstallDecision::pass());
}

#[test]
fn a_pinned_download_passes() {
    let digest = "a".repeat(64);
    assert_eq!(judge(json!({}), download("https://example.org/x", Some(&digest))), InstallDecision::pass());
}

#[test]
fn an_unpinned_download_is_refused() {
    for sha256 in [None, Some(""), Some("abc"), Some(&"g".repeat(64)[..])] {
        let decision = judge(json!({}), download("https://example.org/x", sha256));
        let (rules, refusal) = told(&decision);
        assert_eq!(rules, ["unpinned-download"]);
        assert!(refusal.unwrap().contains("SHA-256"), "{refusal:?}");
    }
}

#[test]
fn every_check_is_told_of_and_the_first_gives_the_reason() {
    let decision = judge(json!({}), download("http://example.org/x", None));
    let (rules, refusal) = told(&decision);
    assert_eq!(rules, ["unpinned-download", "insecure-download"]);
    assert!(refusal.unwrap().contains("SHA-256"));
}

#[test]
fn what_is_only_reported_does_not_refuse() {
    let decision = judge(json!({ "unpinnedDownloads": "report" }), download("https://example.org/x", None));
    assert_eq!(told(&decision), (vec!["unpinned-download"], None));
    assert_eq!(decision.answer().unwrap().findings[0].severity, FindingSeverity::Warn);
    let decision = judge(json!({ "unpinnedDownloads": "allow" }), download("https://example.org/x", None));
    assert_eq!(decision, InstallDecision::pass());
}

#[test]
fn packages_without_a_version_are_reported_or_refused() {
    let unpinned = || plugin(RequestKind::PluginNpm, "@acme/sample@latest");
    assert_eq!(told(&judge(json!({}), unpinned())), (vec!["unpinned-package"], None));
    let decision = judge(json!({ "unpinnedPackages": "refuse" }), unpinned());
    assert!(told(&decision).1.is_some());
    let pinned = plugin(RequestKind::PluginNpm, "@acme/sample@1.0.0");
    assert_eq!(judge(json!({}), pinned), InstallDecision::pass());
}

#[test]
fn names_are_refused_wherever_they_stand() {
    let config = json!({ "refuseNames": ["@acme/*"] });
    let decision = judge(config, plugin(RequestKind::PluginDir, "./sample"));
    let (rules, refusal) = told(&decision);
    assert_eq!(rules, ["name"]);
    assert_eq!(refusal, Some("`@acme/sample` is not allowed here (rule `@acme/*`)"));
}

#[test]
fn kinds_and_origins_are_refused() {
    let config = json!({ "refuseKinds": ["plugin-git", "plugin-usb"], "refuseOrigins": ["url"] });
    for kind in [RequestKind::PluginGit, RequestKind::Other("plugin-usb".to_owned())] {
        let mut event = event::before_install(TargetType::Plugin, "sample", kind);
        event.request.requested_specifier = None;
        assert_eq!(told(&judge(config.clone(), event)).0, ["kind"]);
    }
    let mut event = event::before_install(TargetType::Plugin, "sample", RequestKind::PluginArchive);
    event.origin = Some(r#"{"type":"url","url":"https://example.org"}"#.to_owned());
    assert_eq!(told(&judge(config, event)).0, ["origin"]);
}

#[test]
fn an_origin_without_a_type_is_an_error_which_refuses() {
    let mut event = event::before_install(TargetType::Plugin, "sample", RequestKind::PluginDir);
    event.origin = Some("{}".to_owned());
    let error = Host::new().run(|| InstallGate::before_install(&Call::default(), event, context::install()));
    assert!(error.unwrap_err().to_string().starts_with("origin: missing field"));
}

#[test]
fn the_manifest_names_this_package() {
    let manifest: Value = from_str(include_str!("../creel.plugin.json")).unwrap();
    assert_eq!(manifest["id"], env!("CARGO_PKG_NAME"));
    assert_eq!(manifest["component"], concat!(env!("CARGO_PKG_NAME"), ".wasm"));
}
