//! What an operator leaves open: access gates, and which plugins run at all (plugin-hooks 2, 9).

use domain::session::RunStatus;
use hooks::HookId;
use serde_json::{Value, json};
use system_tests::{Host, World, call, on, say};

use crate::script;

/// Diagnostics that hold all of `parts`.
fn diagnostics(host: &Host, parts: &[&str]) -> Vec<String> {
    host.diagnostics().into_iter().filter(|text| parts.iter().all(|part| text.contains(part))).collect()
}

#[tokio::test]
async fn hooks_040_without_conversation_access_gated_hooks_are_missing() {
    let plugin = script("nosy")
        .handler(on("agent_end"))
        .handler(on("before_tool_call"))
        .operator(json!({ "hooks": { "allowConversationAccess": null } }));
    let host = World::new().plugin(plugin).turns([call("probe", json!({})), say("done")]).start().await;
    host.say("go").await;
    assert!(host.handled(HookId::AgentEnd).is_empty());
    assert_eq!(host.order(HookId::BeforeToolCall), ["nosy"]);
    let missing = diagnostics(&host, &["agent_end", "`nosy`"]);
    assert_eq!(missing.len(), 1, "{missing:?}");
    assert!(missing[0].contains("plugins.entries.nosy.hooks.allowConversationAccess"), "{missing:?}");
    assert!(diagnostics(&host, &["before_tool_call"]).is_empty());
}

/// The hooks that need conversation access (plugin-hooks 2.1).
const GATED: [HookId; 10] = [
    HookId::BeforeModelResolve,
    HookId::AgentTurnPrepare,
    HookId::BeforePromptBuild,
    HookId::BeforeAgentStart,
    HookId::BeforeAgentReply,
    HookId::BeforeAgentRun,
    HookId::LlmInput,
    HookId::LlmOutput,
    HookId::BeforeAgentFinalize,
    HookId::AgentEnd,
];

/// Others that a turn with a tool call fires.
const FREE: [HookId; 10] = [
    HookId::MessageReceived,
    HookId::SessionStart,
    HookId::ModelCallStarted,
    HookId::ModelCallEnded,
    HookId::BeforeToolCall,
    HookId::AfterToolCall,
    HookId::ToolResultPersist,
    HookId::BeforeMessageWrite,
    HookId::ReplyPayloadSending,
    HookId::MessageSending,
];

#[tokio::test]
async fn hooks_041_a_bundled_plugin_has_access_until_it_is_taken_away() {
    for (key, has_access) in [(Value::Null, true), (json!(true), true), (json!(false), false)] {
        let plugin = script("house").operator(json!({ "hooks": { "allowConversationAccess": key } }));
        let host = World::new().bundled(plugin).turns([call("probe", json!({})), say("done")]).start().await;
        host.say("go").await;
        for hook in GATED {
            assert_eq!(!host.handled(hook).is_empty(), has_access, "{hook} with {key}");
            let refused = diagnostics(
                &host,
                &[&format!("{hook} handler"), "`house`", "plugins.entries.house.hooks.allowConversationAccess"],
            );
            assert_eq!(refused.len(), usize::from(!has_access), "{hook} with {key}: {refused:?}");
        }
        for hook in FREE {
            assert!(!host.handled(hook).is_empty(), "{hook} with {key}");
        }
        assert_eq!(diagnostics(&host, &["allowConversationAccess"]).len(), if has_access { 0 } else { GATED.len() });
    }
}

#[tokio::test]
async fn hooks_042_without_prompt_access_only_the_model_part_of_the_old_hook_counts() {
    let plugin = script("pushy")
        .handler(on("before_agent_start").answers(json!({ "modelOverride": "m", "prependContext": "p" })))
        .handler(on("before_prompt_build").answers(json!({ "prependContext": "q" })))
        .operator(json!({ "hooks": { "allowPromptInjection": false } }));
    let host = World::new().plugin(plugin).model("m", [say("done")]).start().await;
    let outcome = host.say("hello").await;
    assert_eq!(outcome.model.unwrap().to_string(), "offline/m");
    assert_eq!(host.prompts(), ["hello"]);
    assert!(host.handled(HookId::BeforePromptBuild).is_empty());
    let refused = diagnostics(&host, &["before_prompt_build handler", "`pushy`"]);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].contains("plugins.entries.pushy.hooks.allowPromptInjection"), "{refused:?}");
}

#[tokio::test]
async fn hooks_054_deny_wins_over_allow() {
    let plugin = script("guard").handler(on("before_tool_call").answers(json!({ "block": true })));
    let world = World::new()
        .plugin(plugin)
        .config(json!({ "plugins": { "allow": ["guard"], "deny": ["guard"] } }))
        .turns([call("probe", json!({})), say("done")]);
    let host = world.start().await;
    host.say("go").await;
    assert_eq!(host.executed().len(), 1);
    assert!(host.handled(HookId::BeforeToolCall).is_empty());
}

#[tokio::test]
async fn switches_and_lists_decide_in_order() {
    let runs = async |config: Value, operator: Value| {
        let plugin = script("guard").handler(on("before_tool_call")).operator(operator);
        let world = World::new().plugin(plugin).config(json!({ "plugins": config }));
        let host = world.turns([call("probe", json!({})), say("done")]).start().await;
        assert_eq!(host.say("go").await.status, RunStatus::Done);
        !host.handled(HookId::BeforeToolCall).is_empty()
    };
    assert!(runs(json!({}), json!({})).await);
    assert!(!runs(json!({ "enabled": false }), json!({})).await);
    assert!(!runs(json!({}), json!({ "enabled": false })).await);
    assert!(!runs(json!({ "allow": ["another"] }), json!({ "enabled": true })).await);
    assert!(runs(json!({ "allow": ["another", "guard"] }), json!({})).await);
}

#[tokio::test]
async fn conversation_access_does_not_open_prompt_access_nor_the_other_way_round() {
    let registered = async |hooks: Value| {
        let plugin = script("a").operator(json!({ "hooks": hooks }));
        let host = World::new().plugin(plugin).start().await;
        host.say("hello").await;
        [HookId::BeforePromptBuild, HookId::BeforeModelResolve].map(|hook| !host.handled(hook).is_empty())
    };
    assert_eq!(registered(json!({ "allowConversationAccess": true })).await, [true, true]);
    assert_eq!(registered(json!({ "allowConversationAccess": true, "allowPromptInjection": false })).await, [false, true]);
    assert_eq!(registered(json!({ "allowConversationAccess": false, "allowPromptInjection": true })).await, [false, false]);
}
