//! Guests that fail: named by the cause, and without a trace in anybody else. Each way of failing by itself is in `tests/hostile`.

use std::time::{Duration, Instant};

use domain::cancel::CancelReason;
use hooks::{FaultKind, HookId, Scope};

use crate::guest::{self, GUARD, answer, block, guard, with_hook};
use crate::rig::{self, SHORT, call, entry, fault_of, load, plugin, resolve_model, run, short, start};

const LOOP: &str = "(loop $again (br $again)) (unreachable)";

#[tokio::test]
async fn a_trap_in_a_start_function_says_so() {
    let component = with_hook(GUARD, &answer(&[]), "(func $begin unreachable) (start $begin)");
    let fault = fault_of(plugin("p", component)).await;
    assert_eq!(fault.kind(), FaultKind::Trap);
    assert!(fault.text().starts_with("while it was started: wasm `unreachable` instruction executed in `begin`"), "{fault}");
}

#[tokio::test]
async fn a_trap_names_the_functions_around_it() {
    let component = with_hook(GUARD, "(call $inner)", "(func $inner (result i32) unreachable)");
    let fault = fault_of(plugin("p", component)).await;
    assert_eq!(fault.to_string(), "trap: wasm `unreachable` instruction executed in `inner` < `handle`");
}

#[tokio::test]
async fn traps_in_the_allocator_and_after_the_return_are_traps_of_the_call() {
    let allocator = guest::module(&guest::handle(GUARD, &answer(&[])))
        .replace(r#"(func (export "cabi_realloc")"#, r#"(func (export "not_realloc")"#)
        .replacen(
            "(memory",
            r#"(func $broken (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable) (memory"#,
            1,
        );
    let component = guest::component("export creel:plugin/before-tool-call@0.1.0;", &allocator);
    let fault = fault_of(plugin("p", component)).await;
    assert_eq!(fault.kind(), FaultKind::Trap, "{fault}");
    assert!(fault.text().contains("`broken`"), "{fault}");

    let post = r#"(func $post (export "cabi_post_creel:plugin/before-tool-call@0.1.0#handle") (param i32) unreachable)"#;
    let fault = fault_of(plugin("p", with_hook(GUARD, &answer(&[]), post))).await;
    assert_eq!(fault.kind(), FaultKind::Trap, "{fault}");
}

#[tokio::test]
async fn an_error_that_the_guest_reports_is_one_bounded_line() {
    let text = r#"(data (i32.const 600) "no\nforged line\1b[2J")"#;
    let body = answer(&[(0, "(i32.const 1)"), (4, "(i32.const 600)"), (8, "(i32.const 18)")]);
    let fault = fault_of(plugin("p", with_hook(GUARD, &body, text))).await;
    assert_eq!((fault.kind(), fault.text()), (FaultKind::Guest, "no forged line\\u{1b}[2J"));

    let body = answer(&[(0, "(i32.const 1)"), (4, "(i32.const 8192)"), (8, "(i32.const 50000)")]);
    let long = format!("(memory.fill (i32.const 8192) (i32.const 97) (i32.const 50000)) {body}");
    assert!(fault_of(plugin("p", guard(&long))).await.text().len() <= hooks::fault::MAX_FAULT_BYTES);
}

#[tokio::test]
async fn after_a_timeout_the_next_call_of_the_run_gets_a_fresh_instance() {
    // The second call of an instance loops; the others count.
    let component = guard(&format!(
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (if (i32.eq (global.get $calls) (i32.const 2)) (then (loop $again (br $again))))
         (i32.store8 (i32.const 512) (i32.add (i32.const 96) (global.get $calls)))
         {}",
        block("(i32.const 512)", "(i32.const 1)")
    ));
    let dispatcher = start(vec![short("p", component)]).await;
    let run = run("r");
    assert_eq!(call(&dispatcher, &run).await.unwrap().unwrap(), "a");
    assert_eq!(call(&dispatcher, &run).await.unwrap_err().kind(), FaultKind::Timeout);
    assert_eq!(call(&dispatcher, &run).await.unwrap().unwrap(), "a");
}

#[tokio::test]
async fn after_a_trap_the_next_call_gets_a_fresh_instance() {
    let component = guard(&format!(
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (if (i32.eq (global.get $calls) (i32.const 2)) (then unreachable))
         (i32.store8 (i32.const 512) (i32.add (i32.const 96) (global.get $calls)))
         {}",
        block("(i32.const 512)", "(i32.const 1)")
    ));
    let dispatcher = start(vec![plugin("p", component)]).await;
    let run = run("r");
    for _ in 0..3 {
        assert_eq!(call(&dispatcher, &run).await.unwrap().unwrap(), "a");
        assert_eq!(call(&dispatcher, &run).await.unwrap_err().kind(), FaultKind::Trap);
    }
}

#[tokio::test]
async fn a_faulty_plugin_changes_nothing_for_the_others() {
    let hook = "before-model-resolve";
    let router = with_hook(
        hook,
        &answer(&[(4, "(i32.const 1)"), (20, "(i32.const 1)"), (24, "(i32.const 600)"), (28, "(i32.const 5)")]),
        r#"(data (i32.const 600) "tiny1")"#,
    );
    let mut looping = plugin("loops", with_hook(hook, LOOP, ""));
    looping.handlers = vec![entry(HookId::BeforeModelResolve, SHORT)];
    let bomb = with_hook(hook, "(loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable", "");
    let malformed = with_hook(hook, &answer(&[(4, "(i32.const 7)")]), "");
    let dispatcher = start(vec![
        plugin("traps", with_hook(hook, "unreachable", "")),
        looping,
        plugin("bomb", bomb),
        plugin("malformed", malformed),
        plugin("router", router),
    ])
    .await;
    let (model, skipped) = resolve_model(&dispatcher, &run("r")).await;
    assert_eq!(model.as_deref(), Some("tiny1"));
    let expected = [
        ("traps", FaultKind::Trap),
        ("loops", FaultKind::Timeout),
        ("bomb", FaultKind::Limit),
        ("malformed", FaultKind::Malformed),
    ];
    assert_eq!(skipped, expected.map(|(plugin, kind)| (plugin.to_owned(), kind)));
}

#[tokio::test]
async fn cancelling_a_run_ends_a_loop_long_before_its_deadline() {
    let dispatcher = start(vec![plugin("p", guard(LOOP))]).await;
    let (scope, cancel) = rig::cancellable();
    let started = Instant::now();
    // Polled in this order: the guest runs first, and at its first yield the run is cancelled.
    let (result, ()) = tokio::join!(call(&dispatcher, &scope), async { cancel.cancel(CancelReason::User) });
    let fault = result.unwrap_err();
    assert_eq!((fault.kind(), fault.text()), (FaultKind::Cancelled, "the run was asked to stop in `handle`"));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_call_made_after_cancelling_is_served() {
    let dispatcher = start(vec![plugin("p", guest::counter())]).await;
    let (scope, cancel) = rig::cancellable();
    cancel.cancel(CancelReason::User);
    assert_eq!(call(&dispatcher, &scope).await.unwrap().unwrap(), "a");
}

#[tokio::test]
async fn a_dropped_call_drops_its_instance() {
    // The first call of an instance loops, later ones would count.
    let component = guard(&format!(
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (if (i32.eq (i32.load (i32.load (local.get $args))) (i32.const 0x706f6f6c)) (then (loop $again (br $again))))
         (i32.store8 (i32.const 512) (i32.add (i32.const 96) (global.get $calls)))
         {}",
        block("(i32.const 512)", "(i32.const 1)")
    ));
    let named = |name: &str| {
        let mut entry = entry(HookId::BeforeToolCall, Duration::from_secs(600));
        entry.handler_name = name.to_owned();
        plugin_host::ReadyPlugin { handlers: vec![entry], ..plugin(name, component.clone()) }
    };
    let loaded = load(vec![named("loop")]).await;
    let (meter, looping) = (loaded.meter.clone(), rig::dispatcher(loaded));
    let run = run("r");
    tokio::select! {
        biased;
        result = call(&looping, &run) => panic!("a loop that returned: {result:?}"),
        () = tokio::task::yield_now() => {}
    }
    assert_eq!(meter.read().instances, 0);
    let quiet = start(vec![named("next")]).await;
    assert_eq!(call(&quiet, &Scope::default()).await.unwrap().unwrap(), "a");
}
