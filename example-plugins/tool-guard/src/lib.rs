//! Creel plugin `tool-guard`: blocks, rewrites or asks approval for dangerous tool calls, by rules.
//!
//! Only judges the text of a call. It never runs, reads or remembers anything.

mod builtin;
mod rule;
mod verdict;

use creel_plugin::prelude::*;
use creel_plugin::serde_json::{Map, Value};
use rule::Rules;

struct ToolGuard;

#[plugin]
impl Plugin for ToolGuard {
    fn before_tool_call(_: &Call, event: BeforeToolCallEvent, ctx: ToolContext) -> Result<ToolDecision> {
        let rules = config::<Rules>()?;
        let params: Map<String, Value> = event.params()?;
        let verdict = verdict::of(rules.for_tool(&event.tool_name), params);
        Ok(verdict.into_decision(&event.tool_name, ctx.policy_phase.is_some()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::ToolGuard;
    use creel_plugin::prelude::*;
    use creel_plugin::serde_json::Value;
    use creel_plugin::testing::{Host, context, event};
    use creel_plugin::{ApprovalSeverity, PolicyPhase};

    fn decide(config: Value, tool: &str, params: &Value) -> Result<ToolDecision> {
        let event = event::before_tool_call(tool, params);
        Host::new().config(config).run(|| ToolGuard::before_tool_call(&Call::default(), event, context::tool()))
    }

    fn exec(config: Value, command: &str) -> ToolDecision {
        decide(config, "exec", &json!({ "command": command })).expect("valid rules")
    }

    fn block_reason(decision: &ToolDecision) -> &str {
        let answer = decision.answer().expect("an opinion");
        assert!(answer.block, "{answer:?}");
        answer.block_reason.as_deref().expect("a reason")
    }

    #[test]
    fn a_destructive_command_is_blocked_without_settings() {
        let decision = exec(json!({}), "cd / && rm -rf /*");
        assert!(block_reason(&decision).contains("removes"));
    }

    #[test]
    fn a_harmless_command_passes() {
        assert_eq!(exec(json!({}), "ls -la && cargo test"), ToolDecision::pass());
    }

    #[test]
    fn a_force_push_asks_a_person() {
        let decision = exec(json!({}), "git push origin main --force");
        let answer = decision.answer().expect("an opinion");
        assert!(!answer.block);
        let approval = answer.require_approval.as_ref().expect("a question");
        assert_eq!(approval.severity, Some(ApprovalSeverity::Warning));
        assert!(approval.description.contains("git push origin main --force"), "{approval:?}");
    }

    #[test]
    fn built_in_rules_can_be_switched_off() {
        assert_eq!(exec(json!({ "builtinRules": false }), "rm -rf /"), ToolDecision::pass());
    }

    #[test]
    fn built_in_rules_are_for_exec_only() {
        let decision = decide(json!({}), "write", &json!({ "content": "rm -rf /" }));
        assert_eq!(decision.unwrap(), ToolDecision::pass());
    }

    #[test]
    fn a_rewrite_changes_one_parameter_and_later_rules_see_it() {
        let rules = json!({ "rules": [
            { "tool": "exec", "param": "command", "pattern": "--force( |$)", "action": "rewrite",
              "replacement": "--force-with-lease$1" },
            { "tool": "exec", "contains": "--force-with-lease", "action": "ask", "reason": "lease" },
        ], "builtinRules": false });
        let params = json!({ "command": "git push --force origin", "timeout": 5 });
        let decision = decide(rules, "exec", &params).unwrap();
        let answer = decision.answer().unwrap();
        assert_eq!(answer.params.as_deref(), Some(r#"{"command":"git push --force-with-lease origin"}"#));
        assert!(answer.require_approval.as_ref().unwrap().description.starts_with("lease"));
    }

    #[test]
    fn a_block_after_a_rewrite_blocks() {
        let rules = json!({ "rules": [
            { "param": "command", "contains": "rm", "action": "rewrite", "replacement": "rm -i" },
        ] });
        assert!(!block_reason(&exec(rules, "rm -r /")).is_empty());
    }

    #[test]
    fn an_exception_ends_the_list() {
        let rules = json!({ "rules": [{ "tool": "exec", "contains": "rm -r target", "action": "allow" }] });
        assert_eq!(exec(rules, "rm -r target"), ToolDecision::pass());
    }

    #[test]
    fn a_rule_without_parameter_sees_every_text() {
        let rules = json!({ "rules": [{ "contains": "prod", "action": "block", "reason": "no production" }] });
        let decision = decide(rules, "deploy", &json!({ "target": { "hosts": ["a", "prod-1"] } })).unwrap();
        assert_eq!(block_reason(&decision), "no production");
    }

    #[test]
    fn where_nothing_can_be_rewritten_the_call_is_blocked() {
        let rules = json!({ "rules": [
            { "param": "command", "contains": "a", "action": "rewrite", "replacement": "b" },
        ] });
        let ctx = ToolContext { policy_phase: Some(PolicyPhase::NativePreToolUse), ..context::tool() };
        let event = event::before_tool_call("exec", &json!({ "command": "a" }));
        let decision = Host::new().config(rules).run(|| ToolGuard::before_tool_call(&Call::default(), event, ctx)).unwrap();
        assert!(block_reason(&decision).contains("cannot be rewritten"));
    }

    #[test]
    fn a_pattern_that_cannot_be_read_is_an_error_which_blocks() {
        let rules = json!({ "rules": [{ "tool": "exec", "pattern": "(", "action": "ask" }] });
        let error = decide(rules, "read", &json!({})).unwrap_err().to_string();
        assert!(error.contains("rule 1") && error.contains("pattern"), "{error}");
    }

    #[test]
    fn the_manifest_names_this_package() {
        let manifest: Value = creel_plugin::serde_json::from_str(include_str!("../creel.plugin.json")).unwrap();
        assert_eq!(manifest["id"], env!("CARGO_PKG_NAME"));
        assert_eq!(manifest["component"], concat!(env!("CARGO_PKG_NAME"), ".wasm"));
    }
}
