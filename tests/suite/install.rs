//! `before_install`: plugins that judge staged material (plugin-hooks 4.10): the gate by itself, and as part of the installer's chain. That
//! chain on the command line, with the install policy before it, is tested with the binary.

use std::path::Path;
use std::sync::Arc;

use creel::install::{self, Verdict};
use creel::system::SystemClock;
use creel::wiring::installing;
use hooks::events::before_install::{ContentType, Event, Plugin as StagedPlugin, Skill, Target};
use hooks::{Dispatcher, HookId};
use installer::{
    Gate, GateRefusal, InstallError, Installer, Layout, Material, Mode, NoResidue, Request, Review, Source, SystemDisk,
};
use serde_json::{Value, json};
use system_tests::{Handler, Host, World, on};

use crate::script;

/// A handler of `before_install` that answers.
fn judges(priority: f64, answer: Value) -> Handler {
    on("before_install").priority(priority).answers(answer)
}

fn finding(rule: &str) -> Value {
    json!({ "ruleId": rule, "severity": "warn", "file": "SKILL.md", "line": 3, "message": format!("found by {rule}") })
}

fn staged(target: Target) -> Event {
    Event {
        target,
        target_name: "weather".to_owned(),
        source_path: "staged/weather".to_owned(),
        source_is_directory: true,
        origin: None,
        request_kind: "plugin-dir".to_owned(),
        is_update: false,
        requested_specifier: None,
    }
}

fn skill() -> Event {
    staged(Target::Skill(Box::new(Skill { install_id: "files".to_owned(), install_spec: None })))
}

fn plugin() -> Event {
    staged(Target::Plugin(StagedPlugin {
        plugin_id: "weather".to_owned(),
        content_type: ContentType::Bundle,
        package_name: None,
        manifest_id: None,
        version: None,
        extensions: Vec::new(),
    }))
}

async fn judge(host: &Host, staged: &Event) -> Verdict {
    install::judge(host.hooks(), staged).await
}

fn reason(verdict: &Verdict) -> Option<&str> {
    verdict.refused.as_ref().map(|refusal| refusal.reason.as_str())
}

#[tokio::test]
async fn hooks_038_findings_add_up_and_a_block_refuses() {
    let host = World::new()
        .plugin(script("first").handler(judges(10.0, json!({ "findings": [finding("f1")] }))))
        .plugin(
            script("second").handler(judges(0.0, json!({ "findings": [finding("f2")], "block": true, "blockReason": "bad" }))),
        )
        .plugin(script("spy").handler(on("before_install").priority(-1.0)).recording(&["before_install"]))
        .start()
        .await;
    let verdict = judge(&host, &skill()).await;
    assert_eq!(reason(&verdict), Some("bad"));
    let rules: Vec<&str> = verdict.findings.iter().map(|finding| finding.rule_id.as_str()).collect();
    assert_eq!(rules, ["f1", "f2"]);
    assert!(host.calls("spy", "before_install").await.is_empty());
    assert_eq!(host.order(HookId::BeforeInstall), ["first", "second"]);
}

#[tokio::test]
async fn false_and_nothing_refuse_nothing_and_lift_nothing() {
    for staged in [skill(), plugin()] {
        let host = World::new()
            .plugin(script("soft").handler(judges(10.0, json!({ "block": false }))))
            .plugin(script("silent").handler(on("before_install")).recording(&["before_install"]))
            .start()
            .await;
        assert_eq!(judge(&host, &staged).await, Verdict { findings: Vec::new(), refused: None });
        let event = host.calls("silent", "before_install").await.remove(0).event;
        assert_eq!(event["targetName"], "weather");
        assert_eq!(event["skill"].is_null(), event["targetType"] == "Plugin");

        let host = World::new()
            .plugin(script("hard").handler(judges(10.0, json!({ "block": true }))))
            .plugin(script("soft").handler(judges(0.0, json!({ "block": false }))))
            .start()
            .await;
        assert!(judge(&host, &staged).await.refused.is_some());
    }
}

#[tokio::test]
async fn a_handler_that_fails_refuses() {
    for action in [json!({ "trap": true }), json!({ "loop": true }), json!({ "error": "no" }), json!({ "alloc": u64::MAX })] {
        let plugin = script("hostile")
            .handler(on("before_install").does(action.clone()))
            .operator(json!({ "hooks": { "timeouts": { "before_install": 100 } } }));
        let host = World::new().plugin(plugin).start().await;
        let refusal = judge(&host, &skill()).await.refused.expect("it fails closed");
        assert_eq!(refusal.plugin, "hostile", "{action}");
        assert!(refusal.reason.contains("hostile") && refusal.reason.contains("before_install"), "{refusal:?}");
    }
}

/// The handlers of a running host as the gate of an installer.
struct HostGate(Dispatcher);

#[async_trait::async_trait]
impl Gate for HostGate {
    async fn judge(&self, staged: &Material) -> installer::Verdict {
        let judged = install::judge(&self.0, &installing::event(staged)).await;
        let refused = judged.refused.map(|refusal| GateRefusal { plugin: refusal.plugin, reason: refusal.reason });
        installer::Verdict { findings: Vec::new(), refused }
    }
}

fn review(host: &Host) -> Review {
    Review { policy: None, gate: Arc::new(HostGate(host.hooks().clone())), host_version: "0".to_owned() }
}

/// Installs an example plugin into an empty state directory; whether it is there afterwards.
async fn install_plugin(host: &Host, state: &Path) -> Result<bool, InstallError> {
    let settings = installer::Settings {
        layout: Layout::new(state),
        limits: installer::Limits::default(),
        component_bytes: Arc::new(|_, _| 32 << 20),
        require_signature: false,
        trusted_keys: Vec::new(),
    };
    let ports = installer::Ports {
        disk: Arc::new(SystemDisk),
        review: review(host),
        residue: Arc::new(NoResidue),
        clock: Arc::new(SystemClock),
    };
    let source = Source::find(crate::guests::examples::UNIT_CONVERT.path()).unwrap();
    let installed = Installer::new(settings, ports).install(Request::install(source)).await;
    let is_there = state.join("plugins/unit-convert/unit-convert.wasm").is_file();
    installed.map(|_| is_there).inspect_err(|_| assert!(!is_there))
}

/// Asks about a staged skill.
async fn review_skill(host: &Host, staged: &Path) -> Result<(), InstallError> {
    std::fs::write(staged.join("SKILL.md"), "# Weather").unwrap();
    let material = Material::of_skill("weather", "files", staged, &Source::find(staged).unwrap(), Mode::Install);
    review(host).judge(&material, &[]).await.map(drop)
}

#[tokio::test]
async fn hooks_063_false_and_nothing_install_and_a_block_refuses_skills_and_plugins() {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    };
    let passing = World::new()
        .plugin(script("high").handler(judges(10.0, json!({ "block": false }))))
        .plugin(script("low").handler(on("before_install").priority(0.0)).recording(&["before_install"]))
        .start()
        .await;
    review_skill(&passing, &place("skill-1")).await.unwrap();
    assert!(install_plugin(&passing, &place("state-1")).await.unwrap());
    let calls = passing.calls("low", "before_install").await;
    assert_eq!(calls.iter().map(|call| call.event["targetType"].clone()).collect::<Vec<_>>(), ["Skill", "Plugin"]);

    let blocking = World::new()
        .plugin(script("high").handler(judges(10.0, json!({ "block": true, "blockReason": "no" }))))
        .plugin(script("low").handler(judges(0.0, json!({ "block": false }))).recording(&["before_install"]))
        .start()
        .await;
    let skill = review_skill(&blocking, &place("skill-2")).await.unwrap_err();
    let plugin = install_plugin(&blocking, &place("state-2")).await.unwrap_err();
    for refused in [skill, plugin] {
        let InstallError::Gate { refusal, .. } = refused else { panic!("{refused}") };
        assert_eq!((refusal.plugin.as_str(), refusal.reason.as_str()), ("high", "no"));
    }
    assert!(blocking.calls("low", "before_install").await.is_empty(), "a block is terminal");
}
