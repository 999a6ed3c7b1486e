//! Guests that look around: what a language runtime may import is linked, and empty or refusing. What takes a standard library to try is
//! in `tests/suite/probing.rs` of the repository.

use hooks::FaultKind::{Limit, Trap};

use crate::guest::{answer, block};
use crate::hostile::Hostile;
use crate::wasi::STREAMS;

/// Blocks with one digit: a number below ten.
fn showing(number: &str) -> String {
    format!("(i32.store8 (i32.const 512) (i32.add (i32.const 48) {number})) {}", block("(i32.const 512)", "(i32.const 1)"))
}

async fn shows(hostile: Hostile) -> String {
    let trial = hostile.gate_only().tried().await;
    let shown = trial.ask_the_gate().await.unwrap().unwrap();
    trial.is_as_before();
    shown
}

#[tokio::test]
async fn directories_that_are_open() {
    let import = r#"(import "wasi:filesystem/preopens@0.2.0" "get-directories" (func $directories (param i32)))"#;
    let body = format!("(call $directories (i32.const 2048)) {}", showing("(i32.load (i32.const 2052))"));
    assert_eq!(shows(Hostile::new(body).importing("wasi:filesystem/preopens@0.2.0", import)).await, "0");
}

#[tokio::test]
async fn standard_input() {
    let import = r#"(import "wasi:cli/stdin@0.2.0" "get-stdin" (func $stdin (result i32)))"#;
    let read = r#"(import "wasi:io/streams@0.2.0" "[method]input-stream.blocking-read" (func $read (param i32 i64 i32)))"#;
    // 1, an error, and its case: 1, closed.
    let body = format!(
        "(call $read (call $stdin) (i64.const 100) (i32.const 2048)) {}",
        showing("(i32.add (i32.load8_u (i32.const 2048)) (i32.load8_u (i32.const 2052)))")
    );
    assert_eq!(shows(Hostile::new(body).importing("wasi:cli/stdin@0.2.0", import).importing(STREAMS, read)).await, "2");
}

#[tokio::test]
async fn end_of_the_process() {
    let import = r#"(import "wasi:cli/exit@0.2.0" "exit" (func $exit (param i32)))"#;
    for (status, words) in [(0, "it ended its own process with code 0"), (1, "it ended its own process with code 1")] {
        let body = format!("(call $exit (i32.const {status})) unreachable");
        Hostile::new(body).importing("wasi:cli/exit@0.2.0", import).fails(Trap, words).await;
    }
}

#[tokio::test]
async fn random_bytes_without_end() {
    let import = r#"(import "wasi:random/random@0.2.0" "get-random-bytes" (func $random (param i64 i32)))"#;
    let body = format!("(call $random (i64.const 0x10000000000) (i32.const 2048)) {}", answer(&[]));
    Hostile::new(body).importing("wasi:random/random@0.2.0", import).fails(Limit, "").await;
}

#[tokio::test]
async fn import_that_nobody_knows() {
    let hostile = Hostile::quiet().importing("test:other/back-door", r#"(import "test:other/back-door" "open" (func))"#);
    hostile.is_refused(&["test:other/back-door"]).await;
}

#[tokio::test]
async fn import_that_was_not_granted() {
    let get = r#"(import "creel:plugin/kv@0.1.0" "get" (func (param i32 i32 i32)))"#;
    Hostile::quiet().importing("kv", get).is_refused(&["creel:plugin/kv@0.1.0"]).await;
}
