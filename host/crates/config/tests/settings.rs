//! Defaults, and what an agent takes from them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use config::Config;
use config::keys::{ThinkingLevel, ToolProfile, TruncationWarning};
use config::settings::ModelPlan;
use domain::AgentId;
use serde_json::json;

fn config(value: serde_json::Value) -> Config {
    serde_json::from_value(value).unwrap()
}

fn id(text: &str) -> AgentId {
    AgentId::parse(text).unwrap()
}

#[test]
fn without_a_file_there_is_one_agent_with_the_documented_defaults() {
    let config = Config::default();
    let agent = config.agent(&AgentId::main()).unwrap();
    assert_eq!(config.agent_ids(), [AgentId::main()]);
    assert!(agent.is_default);
    assert_eq!(agent.model, ModelPlan::default());
    assert_eq!(agent.run_budget(None), Some(Duration::from_secs(172_800)));
    assert_eq!((agent.bootstrap.max_chars, agent.bootstrap.total_max_chars), (20_000, 60_000));
    assert_eq!(agent.bootstrap.truncation_warning, TruncationWarning::Always);
    assert_eq!(agent.tools.exec_timeout, Duration::from_secs(1_800));
    assert!(config.plugins.enabled);
}

#[test]
fn an_agent_wins_over_the_defaults() {
    let config = config(json!({
        "agents": {
            "defaults": { "timeoutSeconds": 60, "thinkingDefault": "low", "bootstrapMaxChars": 5, "contextTokens": 9 },
            "list": [
                { "id": "Ops", "timeoutSeconds": "2m", "thinkingDefault": "off", "contextLimits": { "toolResultMaxChars": 7 } },
                { "id": "home", "default": true, "tools": { "profile": "minimal", "deny": ["exec"], "exec": { "timeoutSec": 3 } } },
            ],
        },
        "tools": { "profile": "coding", "allow": ["read"], "exec": { "timeoutSec": "1m" } },
    }));
    assert_eq!(config.default_agent(), id("home"));
    let ops = config.agent(&id("ops")).unwrap();
    assert_eq!((ops.is_default, ops.timeout_seconds, ops.thinking), (false, Some(120), Some(ThinkingLevel::Off)));
    assert_eq!((ops.bootstrap.max_chars, ops.context_tokens, ops.tool_result_max_chars), (5, Some(9), Some(7)));
    assert_eq!((ops.tools.profile, ops.tools.exec_timeout), (Some(ToolProfile::Coding), Duration::from_secs(60)));
    let home = config.agent(&id("home")).unwrap();
    assert_eq!((home.timeout_seconds, home.thinking), (Some(60), Some(ThinkingLevel::Low)));
    assert_eq!((home.tools.profile, home.tools.exec_timeout), (Some(ToolProfile::Minimal), Duration::from_secs(3)));
    assert_eq!((home.tools.global.allow, home.tools.agent.deny), (Some(vec!["read".into()]), vec!["exec".into()]));
}

#[test]
fn an_unknown_agent_is_named_with_the_known_ones() {
    let config = config(json!({ "agents": { "list": [{ "id": "a" }, { "id": "b" }] } }));
    let message = config.agent(&AgentId::main()).unwrap_err().to_string();
    assert_eq!(message, "there is no agent `main`; configured: a, b. Add it to agents.list, or name one of these");
}

#[test]
fn zero_is_no_limit_at_the_level_that_decides() {
    let agent = |value| config(value).agent(&AgentId::main()).unwrap();
    let limited = agent(json!({ "agents": { "defaults": { "timeoutSeconds": 60 } } }));
    assert_eq!(limited.run_budget(None), Some(Duration::from_secs(60)));
    assert_eq!(limited.run_budget(Some(5)), Some(Duration::from_secs(5)));
    assert_eq!(limited.run_budget(Some(0)), None);
    let unlimited = agent(json!({ "agents": { "defaults": { "timeoutSeconds": 0 } } }));
    assert_eq!(unlimited.run_budget(None), None);
    assert_eq!(unlimited.run_budget(Some(5)), Some(Duration::from_secs(5)));
}

#[test]
fn an_own_model_has_only_its_own_fallbacks() {
    let shared = json!({ "primary": "p/a", "fallbacks": ["p/b"] });
    let rows = [
        (None, Some("p/a"), vec!["p/b"]),
        (Some(json!("q/c")), Some("q/c"), vec![]),
        (Some(json!({ "primary": "q/c", "fallbacks": ["q/d"] })), Some("q/c"), vec!["q/d"]),
        (Some(json!({ "fallbacks": ["q/d"] })), Some("p/a"), vec!["q/d"]),
    ];
    for (own, primary, fallbacks) in rows {
        let mut entry = json!({ "id": "main" });
        own.into_iter().for_each(|own| entry["model"] = own);
        let config = config(json!({ "agents": { "defaults": { "model": shared }, "list": [entry] } }));
        let model = config.agent(&AgentId::main()).unwrap().model;
        assert_eq!((model.primary.as_deref(), model.fallbacks), (primary, fallbacks.into_iter().map(str::to_owned).collect()));
    }
}

#[test]
fn parameters_are_merged_from_the_general_to_the_particular() {
    let config = config(json!({ "agents": {
        "defaults": {
            "params": { "a": 1, "b": 1, "c": 1, "d": 1 },
            "models": { "p/*": { "params": { "b": 2, "c": 2, "d": 2 } }, "p/M": { "params": { "c": 3, "d": 3 } } },
        },
        "list": [{ "id": "main", "params": { "d": 4 } }],
    } }));
    let agent = config.agent(&AgentId::main()).unwrap();
    let merged = |model| serde_json::Value::Object(config.model_params(&agent, model).as_map().clone());
    assert_eq!(merged("p/m"), json!({ "a": 1, "b": 2, "c": 3, "d": 4 }));
    assert_eq!(merged("p/other"), json!({ "a": 1, "b": 2, "c": 2, "d": 4 }));
    assert_eq!(merged("q/m"), json!({ "a": 1, "b": 1, "c": 1, "d": 4 }));
}

#[test]
fn the_hook_s_own_timeout_wins() {
    let config = config(json!({ "plugins": { "entries": {
        "p": { "hooks": { "timeoutMs": 2000, "timeouts": { "agent_end": 50 } } },
        "q": {},
    } } }));
    assert_eq!(config.operator_timeout_ms("p", "agent_end"), Some(50));
    assert_eq!(config.operator_timeout_ms("p", "before_tool_call"), Some(2000));
    assert_eq!(config.operator_timeout_ms("q", "agent_end"), None);
    assert_eq!(config.operator_timeout_ms("none", "agent_end"), None);
}
