//! Changing a limit changes what happens. Guests that run into the limits as they are by default are in `tests/hostile`.

use std::time::Duration;

use hooks::{FaultKind, HookId, Scope};
use plugin_host::limits::Limits;
use plugin_host::{EngineSettings, HostSettings, ReadyPlugin};

use crate::guest::{self, GUARD, answer, block, guard, handle, module, with_hook};
use crate::rig::{SHORT, call, dispatcher, entry, fault_of, load, load_with, plugin, resolve_model, run, start};

fn limited(component: Vec<u8>, limits: Limits) -> ReadyPlugin {
    ReadyPlugin { limits, ..plugin("p", component) }
}

#[tokio::test]
async fn more_memory_and_more_table_elements_can_be_had() {
    let attempt = |grow: &str| format!("(if (i32.eq ({grow}) (i32.const -1)) (then unreachable)) {}", answer(&[]));
    let defaults = Limits::default();
    for (grow, limits, enough) in [
        ("memory.grow (i32.const 1500)", defaults, false),
        ("memory.grow (i32.const 1500)", Limits { memory_bytes: 128 << 20, ..defaults }, true),
        ("table.grow $t (ref.null func) (i32.const 30000)", defaults, false),
        ("table.grow $t (ref.null func) (i32.const 30000)", Limits { table_elements: 40_000, ..defaults }, true),
    ] {
        let component = with_hook(GUARD, &attempt(grow), "(table $t 1 funcref)");
        let dispatcher = start(vec![limited(component, limits)]).await;
        match call(&dispatcher, &Scope::default()).await {
            Ok(_) => assert!(enough, "{grow}"),
            Err(fault) => assert!(!enough && fault.kind() == FaultKind::Limit, "{grow}: {fault}"),
        }
    }
}

#[tokio::test]
async fn too_many_memories_tables_and_elements_are_refused() {
    for (items, text) in [
        ("(memory 1)".repeat(4), "defined memories count of 5 exceeds the per-instance limit of 4"),
        ("(table 1 funcref)".repeat(17), "defined tables count of 17 exceeds the per-instance limit of 16"),
        ("(table 70000 funcref)".to_owned(), "minimum element size of 70000 which exceeds the limit of 65536"),
    ] {
        let loaded = load(vec![plugin("p", with_hook(GUARD, &answer(&[]), &items))]).await;
        let error = loaded.reports[0].error.as_ref().map(ToString::to_string).unwrap_or_default();
        assert!(error.starts_with("the component does not load: ") && error.contains(text), "{text}\n{error}");
    }
}

#[tokio::test]
async fn what_a_component_has_from_the_start_is_compared_with_its_limits() {
    let component = with_hook(GUARD, &answer(&[]), "(memory 1) (table 100 funcref) (table 1 funcref)");
    let size = component.len() as u64;
    let defaults = Limits::default();
    for (limits, refusal) in [
        (Limits { memories: 2, tables: 2, table_elements: 101, component_bytes: size, ..defaults }, None),
        (Limits { memories: 1, ..defaults }, Some("has 2 memories, its limit is 1; raise plugins.entries.p.limits.memories")),
        (Limits { tables: 1, ..defaults }, Some("has 2 tables, its limit is 1; raise plugins.entries.p.limits.tables")),
        (
            Limits { table_elements: 99, ..defaults },
            Some("has 100 table elements at its start, its limit is 99; raise plugins.entries.p.limits.tableElements"),
        ),
        (Limits { component_bytes: size - 1, ..defaults }, Some("raise plugins.entries.p.limits.componentBytes")),
    ] {
        let loaded = load(vec![limited(component.clone(), limits)]).await;
        let error = loaded.reports[0].error.as_ref().map(ToString::to_string);
        assert_eq!(error.is_some(), refusal.is_some(), "{error:?}");
        assert!(error.unwrap_or_default().contains(refusal.unwrap_or_default()));
    }
}

#[tokio::test]
async fn instances_of_a_plugin_share_a_limit_on_memory() {
    // Each instance grows to 16 MiB and stays with its run.
    let body = format!("(drop (memory.grow (i32.const 254))) {}", answer(&[]));
    for (total, refused) in [(64 << 20, 0), (40 << 20, 1)] {
        let limits = Limits { total_memory_bytes: total, ..Limits::default() };
        let growing = body.replace(
            "(drop (memory.grow (i32.const 254)))",
            "(if (i32.eq (memory.grow (i32.const 254)) (i32.const -1)) (then unreachable))",
        );
        let dispatcher = start(vec![limited(guard(&growing), limits)]).await;
        let runs: Vec<Scope> = (0..3).map(|id| run(&id.to_string())).collect();
        let mut faults = Vec::new();
        for run in &runs {
            faults.extend(call(&dispatcher, run).await.err());
        }
        assert_eq!(faults.len(), refused, "{faults:?}");
        assert!(faults.iter().all(|fault| fault.text().contains("(limits.totalMemoryBytes)")), "{faults:?}");
        // What an instance had is there again when its run is over.
        drop(runs);
        assert_eq!(call(&dispatcher, &run("next")).await, Ok(None));
    }
}

#[tokio::test]
async fn a_deeper_stack_can_be_had() {
    // Some 200 kB of frames.
    let deep = "(func $deep (param i32) (result i32)
        (if (result i32) (i32.eqz (local.get 0))
            (then (i32.const 0))
            (else (i32.add (call $deep (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))))";
    let body = format!("(drop (call $deep (i32.const 6000))) {}", answer(&[]));
    let component = with_hook(GUARD, &body, deep);
    for (stack_bytes, enough) in [(64 << 10, false), (1 << 20, true)] {
        let engine = EngineSettings { stack_bytes, ..EngineSettings::default() };
        let settings = HostSettings { engine, ..HostSettings::default() };
        let dispatcher = dispatcher(load_with(settings, vec![plugin("p", component.clone())]).await);
        assert_eq!(call(&dispatcher, &Scope::default()).await.is_ok(), enough, "{stack_bytes}");
    }
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
