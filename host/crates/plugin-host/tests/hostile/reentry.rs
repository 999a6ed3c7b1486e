//! Guests that call where they must not: out of functions that the host calls in between, and back into themselves. And calls that fail
//! after they have changed something.

use domain::PluginId;
use hooks::FaultKind::{Timeout, Trap};
use plugin_host::grant::{Grants, KvGrant};

use crate::guest::answer;
use crate::hostile::{Hostile, ID};
use crate::ports::Memory;
use crate::rig::{resolve_model, run};
use crate::second_session::MODEL;

const WRITE: &str = r#"(import "creel:plugin/log@0.1.0" "write" (func $write (param i32 i32 i32 i32 i32)))"#;

const DEPTH: &str = r#"(import "creel:plugin/invocation@0.1.0" "depth" (func $depth (result i32)))"#;

#[tokio::test]
async fn allocator_that_calls_the_host() {
    let hostile = Hostile::quiet().importing("invocation", DEPTH).allocating("(drop (call $depth)) (i32.const 65536)");
    hostile.fails(Trap, "cannot leave component instance").await;
}

#[tokio::test]
async fn code_after_the_return_that_calls_the_host() {
    let hostile = Hostile::quiet().importing("invocation", DEPTH).after_return("(drop (call $depth))");
    hostile.fails(Trap, "cannot leave component instance").await;
}

#[tokio::test]
async fn start_function_that_calls_the_host() {
    // What gives a number is there from the start, and does what it does in a call.
    let hostile = Hostile::quiet().importing("invocation", DEPTH);
    hostile.clone().starting("(drop (call $depth))").hurts_nobody().await;
    hostile.starting("(loop $again (drop (call $depth)) (br $again))").fails(Timeout, "no answer within 150 ms").await;
    // What needs the guest's memory is not: the table that leads to it is filled when the guest has started.
    let write = "(call $write (i32.const 2) (i32.const 600) (i32.const 9) (i32.const 0) (i32.const 0))";
    Hostile::quiet().importing("log", WRITE).starting(write).fails(Trap, "while it was started: uninitialized element").await;
}

#[tokio::test]
async fn call_of_itself_through_a_dispatch() {
    // What the host does when a host call of this plugin fires a hook: the plugin stands in the chain, and is left out of it.
    let trial = Hostile::new("unreachable").tried().await;
    let mut scope = run("r");
    scope.chain = vec![PluginId::new(ID)];
    assert_eq!(trial.ask_the_gate_in(&scope).await, Ok(None));
    assert_eq!(resolve_model(&trial.dispatcher, &scope).await, (Some(MODEL.to_owned()), Vec::new()));
    drop(scope);
    trial.is_as_before();
}

#[tokio::test]
async fn chain_of_calls_without_end() {
    // Four others around it; nobody is called a fifth time.
    let trial = Hostile::new("unreachable").tried().await;
    let mut scope = run("r");
    scope.chain = ["a", "b", "c", "d"].map(PluginId::new).to_vec();
    assert_eq!(trial.ask_the_gate_in(&scope).await, Ok(None));
    trial.is_as_before();
}

#[tokio::test]
async fn trap_after_a_write() {
    // A write that returned is durable; the call is a fault all the same.
    let set = r#"(import "creel:plugin/kv@0.1.0" "set" (func $set (param i32 i32 i32 i32 i32 i64 i32)))"#;
    let body =
        "(call $set (i32.const 600) (i32.const 3) (i32.const 610) (i32.const 4) (i32.const 0) (i64.const 0) (i32.const 2048))
        unreachable";
    let hostile = Hostile::new(body)
        .with(r#"(data (i32.const 600) "key") (data (i32.const 610) "data")"#)
        .importing("kv", set)
        .granted(Grants { kv: Some(KvGrant { max_bytes: 1000, max_keys: 10 }), ..Grants::default() });
    let (memory, ports) = Memory::ports();
    let trial = hostile.tried_with(&ports).await;
    assert_eq!(trial.ask_the_gate().await.unwrap_err().kind(), Trap);
    assert_eq!(memory.value(ID, "key").unwrap(), b"data");
    trial.names_it_in_one_line("before_tool_call");
    trial.is_as_before();
}

#[tokio::test]
async fn trap_after_a_write_to_the_log() {
    let body = format!(
        "(call $write (i32.const 2) (i32.const 600) (i32.const 9) (i32.const 0) (i32.const 0)) unreachable {}",
        answer(&[])
    );
    let hostile = Hostile::new(body).with(r#"(data (i32.const 600) "last word")"#).importing("log", WRITE);
    let trial = hostile.tried().await;
    assert_eq!(trial.ask_the_gate().await.unwrap_err().kind(), Trap);
    assert_eq!(trial.log.text().matches("last word").count(), 1);
    trial.is_as_before();
}
