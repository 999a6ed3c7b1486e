//! What happens when plugins are loaded: registrations, and the sentences about what cannot be used (plugin-hooks 1.1, 7).

use std::fs;
use std::path::Path;

use hooks::HookId;
use serde_json::json;
use system_tests::{Plugin, World, call, on, say};

use crate::{guests, script};

#[tokio::test]
async fn hooks_055_an_unknown_hook_is_ignored_with_a_warning() {
    let plugin = script("a").entry(json!({ "hook": "before_toolcall" })).handler(on("before_tool_call"));
    let host = World::new().plugin(plugin).turns([call("probe", json!({})), say("done")]).start().await;
    host.say("go").await;
    assert_eq!(host.order(HookId::BeforeToolCall), ["a"]);
    let warned: Vec<String> = host.diagnostics().into_iter().filter(|text| text.contains("before_toolcall")).collect();
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("`before_tool_call`"), "it names the nearest: {warned:?}");
}

#[tokio::test]
async fn hooks_075_entries_and_exports_make_the_registrations() {
    let turns = || [call("probe", json!({})), say("done")];
    // Declared against their order of priority.
    let two = script("two")
        .handler(on("before_tool_call").named("b").priority(0.0))
        .handler(on("before_tool_call").named("a").priority(10.0));
    let host = World::new().plugin(two).turns(turns()).start().await;
    host.say("go").await;
    assert_eq!(host.order(HookId::BeforeToolCall), ["two.a", "two.b"]);

    let wrong = Plugin::new("wrong", guests::HOOK_LEGACY).entry(json!({ "hook": "before_tool_call" }));
    let host = World::new().plugin(wrong).turns(turns()).start().await;
    host.say("go").await;
    assert!(host.handled(HookId::BeforeToolCall).is_empty());
    let problem = host.problem("wrong");
    assert!(problem.contains("before_tool_call"), "{problem}");

    // Without entries: one registration, between the priorities 1 and -1.
    let host = World::new()
        .plugin(script("bare"))
        .plugin(script("minus").handler(on("before_tool_call").priority(-1.0)))
        .plugin(script("plus").handler(on("before_tool_call").priority(1.0)))
        .turns(turns())
        .start()
        .await;
    host.say("go").await;
    assert_eq!(host.order(HookId::BeforeToolCall), ["plus", "bare", "minus"]);
}

/// Ways to spoil a component file.
type Spoil = fn(&Path);

#[tokio::test]
async fn a_plugin_that_cannot_load_leaves_the_others_alone() {
    let cut: Spoil = |file| {
        let bytes = fs::read(file).unwrap();
        fs::write(file, &bytes[..bytes.len() / 2]).unwrap();
    };
    let core_module: Spoil = |file| fs::write(file, b"\0asm\x01\0\0\0").unwrap();
    let text: Spoil = |file| fs::write(file, "no component").unwrap();
    let missing: Spoil = |file| fs::remove_file(file).unwrap();
    for (spoil, hint) in [(cut, "broken.wasm"), (core_module, "module"), (text, "not WebAssembly"), (missing, "broken.wasm")] {
        let world = World::new()
            .plugin(script("broken").handler(on("before_tool_call").answers(json!({ "block": true }))))
            .plugin(script("good").handler(on("before_tool_call")))
            .turns([call("probe", json!({})), say("done")]);
        let host = world.start_after(|world| spoil(&world.plugin_folder("broken").join("broken.wasm"))).await.unwrap();
        host.say("go").await;
        assert_eq!(host.order(HookId::BeforeToolCall), ["good"]);
        let problem = host.problem("broken");
        assert!(problem.contains(hint), "{problem}");
    }
}

#[tokio::test]
async fn of_two_plugins_with_one_id_the_first_serves_and_the_other_is_named() {
    let first = script("twin").handler(on("message_sending").answers(json!({ "content": "from the first" })));
    let second = Plugin::new("other", guests::HOOK_SCRIPT).manifest(json!({ "id": "twin" }));
    let host = World::new().plugin(first).plugin(second).turns([say("o")]).start().await;
    host.say("go").await;
    assert_eq!(host.sent(), ["from the first"]);
    let told = host.log().warnings(&["twin", "other"]);
    assert_eq!(told.len(), 1, "{:?}", host.log());
}

#[tokio::test]
async fn a_required_plugin_that_cannot_load_stops_the_host() {
    let world = World::new().plugin(script("guard").operator(json!({ "required": true })));
    let failure = world
        .start_after(|world| fs::remove_file(world.plugin_folder("guard").join("guard.wasm")).unwrap())
        .await
        .err()
        .expect("nothing runs unguarded");
    assert!(failure.message.contains("guard"), "{failure:?}");
}

#[tokio::test]
async fn a_capability_that_was_not_granted_is_named() {
    let plugin = script("wants").operator(json!({ "capabilities": { "kv": false } }));
    let host = World::new().plugin(plugin).start().await;
    let problem = host.problem("wants");
    assert!(problem.contains("kv") && problem.contains("plugins.entries.wants.capabilities"), "{problem}");
}

#[tokio::test]
async fn a_required_plugin_whose_guard_may_not_register_stops_the_host() {
    let guard = |required| {
        let operator = json!({ "required": required, "hooks": { "allowConversationAccess": false } });
        script("guard").handler(on("before_agent_run").answers(json!({ "block": { "reason": "no" } }))).operator(operator)
    };
    let failure = World::new().plugin(guard(true)).turns([say("never")]).try_start().await.err().expect("a refusal");
    assert!(failure.message.contains("`guard` is required"), "{}", failure.message);
    assert!(failure.message.contains("plugins.entries.guard.hooks.allowConversationAccess: true"), "{}", failure.message);
    let host = World::new().plugin(guard(false)).turns([say("unguarded")]).start().await;
    host.say("go").await;
    assert_eq!(host.sent(), ["unguarded"]);
}
