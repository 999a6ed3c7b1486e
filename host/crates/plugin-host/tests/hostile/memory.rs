//! Guests that take memory in every way there is. All of it counts against the limits of the plugin, and all of it returns.

use hooks::FaultKind::{Limit, Trap};
use hooks::Scope;
use plugin_host::limits::Limits;

use crate::guest::answer;
use crate::hostile::Hostile;
use crate::rig::run;

const GROW: &str = "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))";

const MIB: u64 = 1 << 20;

#[tokio::test]
async fn memory_in_one_piece() {
    let large = Hostile::quiet().with("(memory 2000)");
    large.is_refused(&["131072000 bytes of memory", "raise plugins.entries.hostile.limits.memoryBytes"]).await;
}

#[tokio::test]
async fn memory_by_growth() {
    let words = "its memory limit of 64 MiB is reached (limits.memoryBytes)";
    Hostile::new(format!("{GROW} unreachable")).fails(Limit, words).await;
}

#[tokio::test]
async fn memory_by_growth_that_is_taken_well() {
    Hostile::doing(GROW).hurts_nobody().await;
}

#[tokio::test]
async fn memory_by_growth_in_a_start_function() {
    let words = "while it was started: its memory limit of 64 MiB is reached";
    Hostile::quiet().starting(&format!("{GROW} unreachable")).fails(Limit, words).await;
}

#[tokio::test]
async fn memory_by_many_memories() {
    let limits = Limits { memory_bytes: 16 * MIB, ..Limits::default() };
    let words = "its memory limit of 16 MiB is reached (limits.memoryBytes)";
    Hostile::quiet().with("(memory 200) (memory 200)").limited(limits).fails(Limit, words).await;
}

#[tokio::test]
async fn memory_by_tables() {
    let body = "(loop $more (br_if $more (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)))) unreachable";
    let words = "its limit of 20000 table elements is reached (limits.tableElements)";
    Hostile::new(body).with("(table $t 1 funcref)").fails(Limit, words).await;
}

#[tokio::test]
async fn memory_by_many_tables() {
    let grow = |table: usize| format!("(drop (table.grow $t{table} (ref.null func) (i32.const 3000)))");
    let body: String = (0..10).map(grow).collect();
    let tables: String = (0..10).map(|table| format!("(table $t{table} 1 funcref)")).collect();
    let words = "its limit of 20000 table elements is reached (limits.tableElements)";
    Hostile::new(format!("{body} unreachable")).with(&tables).fails(Limit, words).await;
}

#[tokio::test]
async fn memory_by_many_instances_at_once() {
    // Each run keeps an instance with 16 MiB.
    let body = format!("(if (i32.eq (memory.grow (i32.const 254)) (i32.const -1)) (then unreachable)) {}", answer(&[]));
    let limits = Limits { total_memory_bytes: 100 * MIB, ..Limits::default() };
    let trial = Hostile::new(body).limited(limits).tried().await;
    let runs: Vec<Scope> = (0..20).map(|id| run(&id.to_string())).collect();
    let mut refused = 0;
    for scope in &runs {
        if let Err(fault) = trial.ask_the_gate_in(scope).await {
            assert!(fault.kind() == Limit && fault.text().contains("(limits.totalMemoryBytes)"), "{fault}");
            refused += 1;
        }
    }
    let usage = trial.usage();
    assert_eq!((refused, usage.instances), (14, 6));
    assert!((90 * MIB..=100 * MIB).contains(&usage.memory_bytes()), "{usage:?}");
    drop(runs);
    trial.is_as_before();
    assert_eq!(trial.ask_the_gate().await, Ok(None), "it may start again");
}

#[tokio::test]
async fn memory_that_is_not_there() {
    // Data that does not fit is copied when the guest is started.
    let words = "while it was started: out of bounds memory access";
    Hostile::quiet().with("(memory $m 1) (data (memory $m) (i32.const 65530) \"too much of it\")").fails(Trap, words).await;
}

#[test]
fn memory_of_kinds_that_are_off() {
    // Refused while the component is read, before anything is compiled.
    for (items, words) in [("(memory i64 1)", "memory64 must be enabled"), ("(memory 1 1 shared)", "threads must be enabled")] {
        let error = plugin_host::inspect::inspect(&Hostile::quiet().with(items).component()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
