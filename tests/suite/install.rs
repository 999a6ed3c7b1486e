//! `before_install`: plugins that judge staged material (plugin-hooks 4.10). This version has no installer; what is tested is the gate that
//! one asks.

use creel::install::{self, Verdict};
use hooks::HookId;
use hooks::events::before_install::{ContentType, Event, Plugin as StagedPlugin, Skill, Target};
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
