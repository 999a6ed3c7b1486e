//! In which order handlers run (plugin-hooks 1.2).

use hooks::HookId;
use system_tests::{World, on};

use crate::script;

#[tokio::test]
async fn hooks_001_larger_priorities_run_first() {
    let plugin = script("a")
        .handler(on("before_prompt_build").named("zero").priority(0.0))
        .handler(on("before_prompt_build").named("ten").priority(10.0))
        .handler(on("before_prompt_build").named("minus-five").priority(-5.0));
    let host = World::new().plugin(plugin).start().await;
    host.say("hello").await;
    assert_eq!(host.order(HookId::BeforePromptBuild), ["a.ten", "a.zero", "a.minus-five"]);
}

#[tokio::test]
async fn hooks_002_ties_keep_load_order_then_the_order_of_entries() {
    let first = script("zebra").handler(on("before_prompt_build").named("one")).handler(on("before_prompt_build").named("two"));
    let second = script("ant").handler(on("before_prompt_build"));
    let host = World::new().plugin(first).plugin(second).start().await;
    host.say("hello").await;
    assert_eq!(host.order(HookId::BeforePromptBuild), ["zebra.one", "zebra.two", "ant"]);
}

#[tokio::test]
async fn hooks_003_priorities_may_be_fractions() {
    let plugin = script("a")
        .handler(on("before_prompt_build").named("zero").priority(0.0))
        .handler(on("before_prompt_build").named("half").priority(0.5));
    let host = World::new().plugin(plugin).start().await;
    host.say("hello").await;
    assert_eq!(host.order(HookId::BeforePromptBuild), ["a.half", "a.zero"]);
}
