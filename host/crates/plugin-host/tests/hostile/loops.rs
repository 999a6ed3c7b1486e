//! Guests that never end by themselves, wherever their code runs. The clock of the host ends them at the deadline.

use std::time::{Duration, Instant};

use hooks::FaultKind::Timeout;
use plugin_host::ReadyPlugin;
use plugin_host::limits::LIST_BUDGET;

use crate::guest::{component, module};
use crate::hostile::{Hostile, ID, LOOP};
use crate::rig::{self, dispatcher, load};
use crate::second_session::{good_plugin, send};

const ENDED: &str = "no answer within 150 ms";

#[tokio::test]
async fn loop_in_a_call() {
    Hostile::new(LOOP).fails(Timeout, ENDED).await;
}

#[tokio::test]
async fn loop_in_a_start_function() {
    Hostile::quiet().starting(LOOP).fails(Timeout, ENDED).await;
}

#[tokio::test]
async fn loop_in_the_allocator() {
    // The host calls it to put the event into the guest.
    Hostile::quiet().allocating(LOOP).fails(Timeout, ENDED).await;
}

#[tokio::test]
async fn loop_after_the_return() {
    Hostile::quiet().after_return(LOOP).fails(Timeout, ENDED).await;
}

#[tokio::test]
async fn loop_of_tail_calls() {
    // No loop and no growing stack: only the entries of functions are left to stop it at.
    let spin = "(func $spin (result i32) (return_call $spin))";
    Hostile::new("(return_call $spin)").with(spin).fails(Timeout, ENDED).await;
}

#[tokio::test]
async fn loop_of_large_copies() {
    // Each instruction writes 32 MiB; none of them can be stopped in the middle.
    let body = "(drop (memory.grow (i32.const 800)))
        (loop $again
            (memory.fill (i32.const 1048576) (i32.const 1) (i32.const 33554432))
            (br $again))
        unreachable";
    Hostile::new(body).fails(Timeout, ENDED).await;
}

#[tokio::test]
async fn loop_of_host_calls() {
    // Drips: each call is served at once and costs next to nothing.
    let depth = r#"(import "creel:plugin/invocation@0.1.0" "depth" (func $depth (result i32)))"#;
    let body = "(loop $again (drop (call $depth)) (br $again)) unreachable";
    Hostile::new(body).importing("invocation", depth).fails(Timeout, ENDED).await;
}

#[tokio::test]
async fn loop_while_its_tools_are_listed() {
    let tools = format!(
        r#"(func (export "creel:plugin/tools@0.1.0#list-tools") (param i32) (result i32) {LOOP})
           (func (export "creel:plugin/tools@0.1.0#execute") (param i32) (result i32) unreachable)"#
    );
    let tools = component("export creel:plugin/tools@0.1.0;", &module(&tools));
    let started = Instant::now();
    let loaded = load(vec![ReadyPlugin { tools: vec!["t".to_owned()], ..rig::plugin(ID, tools) }, good_plugin()]).await;
    assert!(started.elapsed() < LIST_BUDGET + Duration::from_secs(3), "{:?}", started.elapsed());
    assert!(loaded.tools.is_empty());
    let [told] = &*loaded.diagnostics else { panic!("{:?}", loaded.diagnostics) };
    assert!(told.text.contains("plugin `hostile`: its tools are left out, because listing them failed (timeout:"), "{told:?}");
    send(&dispatcher(loaded)).await;
}
