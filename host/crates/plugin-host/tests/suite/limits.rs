//! Every limit of a guest bites, and says which one it was.

use std::time::Duration;

use hooks::{FaultKind, HookId, Scope};
use plugin_host::limits::Limits;
use plugin_host::{EngineSettings, HostSettings, ReadyPlugin, StartError};

use crate::guest::{self, GUARD, answer, block, guard, handle, module, with_hook};
use crate::rig::{SHORT, call, dispatcher, entry, fault_of, load, load_with, plugin, resolve_model, run, start};

const GROW: &str = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))";

fn limited(component: Vec<u8>, limits: Limits) -> ReadyPlugin {
    ReadyPlugin { limits, ..plugin("p", component) }
}

#[tokio::test]
async fn memory_in_one_piece_is_refused_before_it_starts() {
    let large = guest::module(&guest::handle(GUARD, &answer(&[]))).replace(r#"(export "memory") 2"#, r#"(export "memory") 2000"#);
    let large = guest::component("export creel:plugin/before-tool-call@0.1.0;", &large);
    let loaded = load(vec![plugin("large", large), plugin("small", guard(&answer(&[])))]).await;
    let error = loaded.reports[0].error.as_ref().unwrap();
    assert!(matches!(error, StartError::Memory { needed: 131_072_000, .. }), "{error}");
    assert!(error.to_string().contains("raise plugins.entries.large.limits.memoryBytes"), "{error}");
    assert!(loaded.reports[1].error.is_none());
}

#[tokio::test]
async fn memory_by_growth_is_refused() {
    let fault = fault_of(plugin("p", guard(&format!("{GROW} unreachable")))).await;
    assert_eq!(fault.kind(), FaultKind::Limit);
    assert!(fault.text().starts_with("its memory limit of 64 MiB is reached (limits.memoryBytes)"), "{fault}");
}

#[tokio::test]
async fn a_guest_that_takes_the_refusal_well_goes_on() {
    let dispatcher = start(vec![plugin("p", guard(&format!("{GROW} {}", answer(&[]))))]).await;
    assert_eq!(call(&dispatcher, &Scope::default()).await, Ok(None));
}

#[tokio::test]
async fn many_memories_share_one_limit() {
    let memories = "(memory 200) (memory 200)";
    let limits = Limits { memory_bytes: 16 << 20, ..Limits::default() };
    let fault = fault_of(limited(with_hook(GUARD, &answer(&[]), memories), limits)).await;
    assert_eq!(fault.kind(), FaultKind::Limit);
    assert!(fault.text().contains("its memory limit of 16 MiB is reached"), "{fault}");
}

#[tokio::test]
async fn too_many_memories_tables_and_elements_are_refused() {
    for (items, text) in [
        ("(memory 1)".repeat(4), "defined memories count of 5 exceeds the per-instance limit of 4"),
        ("(table 1 funcref)".repeat(17), "defined tables count of 17 exceeds the per-instance limit of 16"),
        ("(table 30000 funcref)".to_owned(), "minimum element size of 30000 which exceeds the limit of 20000"),
    ] {
        let loaded = load(vec![plugin("p", with_hook(GUARD, &answer(&[]), &items))]).await;
        let error = loaded.reports[0].error.as_ref().map(ToString::to_string).unwrap_or_default();
        assert!(error.starts_with("the component does not compile: ") && error.contains(text), "{text}\n{error}");
    }
}

#[tokio::test]
async fn a_table_bomb_is_refused() {
    let growing =
        "(loop $more (br_if $more (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)))) unreachable";
    let fault = fault_of(plugin("p", with_hook(GUARD, growing, "(table $t 1 funcref)"))).await;
    assert_eq!(fault.kind(), FaultKind::Limit);
    assert!(fault.text().starts_with("its limit of 20000 table elements is reached"), "{fault}");
}

#[tokio::test]
async fn deep_recursion_is_stopped() {
    let fault =
        fault_of(plugin("p", with_hook(GUARD, "(call $deep)", "(func $deep (result i32) (i32.add (call $deep) (i32.const 1)))")))
            .await;
    assert_eq!(fault.kind(), FaultKind::Limit);
    assert!(fault.text().starts_with("its call stack is exhausted in `deep`"), "{fault}");
}

#[tokio::test]
async fn an_answer_is_bounded() {
    let body = |bytes: u32| {
        format!("(drop (memory.grow (i32.const 200))) {}", block("(i32.const 131072)", &format!("(i32.const {bytes})")))
    };
    let limits = Limits { output_bytes: 1 << 20, ..Limits::default() };
    let dispatcher = start(vec![limited(guard(&body(1_000_000)), limits)]).await;
    assert_eq!(call(&dispatcher, &Scope::default()).await.unwrap().unwrap().len(), 1_000_000);
    let fault = fault_of(limited(guard(&body(1_100_000)), limits)).await;
    assert_eq!(fault.kind(), FaultKind::Limit);
    assert!(fault.text().contains("too much data is being copied"), "{fault}");
}

/// A plugin whose guard never returns, and whose model hook has a short budget.
fn busy(limits: Limits) -> ReadyPlugin {
    let world = "export creel:plugin/before-tool-call@0.1.0; export creel:plugin/before-model-resolve@0.1.0;";
    let endless = handle(GUARD, "(loop $again (br $again)) unreachable").replacen("$handle", "$endless", 1);
    let core = module(&format!("{endless} {}", handle("before-model-resolve", &answer(&[]))));
    let handlers = vec![entry(HookId::BeforeToolCall, Duration::from_secs(600)), entry(HookId::BeforeModelResolve, SHORT)];
    ReadyPlugin { limits, handlers, ..plugin("p", guest::component(world, &core)) }
}

/// What the model hook says while the guard is busy in another run.
async fn beside_a_busy_guard(settings: HostSettings, plugin: ReadyPlugin) -> Vec<(String, FaultKind)> {
    let dispatcher = dispatcher(load_with(settings, vec![plugin]).await);
    let (first, second) = (run("1"), run("2"));
    tokio::select! {
        biased;
        result = call(&dispatcher, &first) => panic!("a loop that returned: {result:?}"),
        (_, skipped) = resolve_model(&dispatcher, &second) => skipped,
    }
}

#[tokio::test]
async fn a_plugin_has_so_many_calls_at_a_time() {
    let two = beside_a_busy_guard(HostSettings::default(), busy(Limits { max_instances: 2, ..Limits::default() })).await;
    assert_eq!(two, []);
    let one = beside_a_busy_guard(HostSettings::default(), busy(Limits { max_instances: 1, ..Limits::default() })).await;
    assert_eq!(one, [("p".to_owned(), FaultKind::Limit)]);
}

#[tokio::test]
async fn the_host_has_so_many_instances() {
    let host = |live_instances| HostSettings {
        engine: EngineSettings { live_instances, ..EngineSettings::default() },
        ..HostSettings::default()
    };
    assert_eq!(beside_a_busy_guard(host(2), busy(Limits::default())).await, []);
    assert_eq!(beside_a_busy_guard(host(1), busy(Limits::default())).await, [("p".to_owned(), FaultKind::Limit)]);
}

#[tokio::test]
async fn idle_instances_of_runs_do_not_fill_the_pool() {
    let settings =
        HostSettings { engine: EngineSettings { live_instances: 4, ..EngineSettings::default() }, ..HostSettings::default() };
    let dispatcher = dispatcher(load_with(settings, vec![plugin("p", guest::counter())]).await);
    let runs: Vec<Scope> = (0..20).map(|id| run(&id.to_string())).collect();
    for run in &runs {
        assert_eq!(call(&dispatcher, run).await.unwrap().unwrap(), "a");
    }
    // The first runs kept theirs.
    assert_eq!(call(&dispatcher, &runs[0]).await.unwrap().unwrap(), "b");
}
