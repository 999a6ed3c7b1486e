//! Guests that leak, forge and misuse handles to resources of the host.

use hooks::FaultKind::{Limit, Trap};

use crate::hostile::Hostile;
use crate::wasi::{CLOCK, GET_STDOUT, OUTPUT, POLL, POLLABLE, SLEEP, STDOUT, STREAMS};

fn with_clock(body: &str) -> Hostile {
    Hostile::doing(body).importing(CLOCK, SLEEP).importing(POLL, POLLABLE)
}

fn with_stdout(body: &str) -> Hostile {
    with_clock(body).importing(STDOUT, GET_STDOUT).importing(STREAMS, OUTPUT)
}

#[tokio::test]
async fn handles_of_pollables_leak() {
    with_clock("(loop $more (drop (call $sleep (i64.const 1))) (br $more))").fails(Limit, "").await;
}

#[tokio::test]
async fn handles_of_streams_leak() {
    with_stdout("(loop $more (drop (call $stdout)) (br $more))").fails(Limit, "").await;
}

#[tokio::test]
async fn handles_leak_over_many_calls_of_a_run() {
    // 100 in each call; the third call of the run reaches the limit of 256, and the next one gets a fresh instance.
    let body = "(loop $more
        (drop (call $stdout))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $i) (i32.const 100))))";
    let trial = with_stdout(body).tried().await;
    let run = crate::rig::run("r");
    for call in 1..=6 {
        match trial.ask_the_gate_in(&run).await {
            Ok(None) => assert_ne!(call % 3, 0),
            other => assert!(call % 3 == 0 && other.is_err_and(|fault| fault.kind() == Limit)),
        }
    }
    drop(run);
    trial.is_as_before();
}

#[tokio::test]
async fn handle_that_was_never_given() {
    with_clock("(call $block (i32.const 77))").fails(Trap, "unknown handle index 77").await;
}

#[tokio::test]
async fn handle_that_was_given_back() {
    let body = "(local.set $i (call $sleep (i64.const 1))) (call $drop (local.get $i)) (call $block (local.get $i))";
    with_clock(body).fails(Trap, "unknown handle index").await;
}

#[tokio::test]
async fn handle_that_is_given_back_twice() {
    let body = "(local.set $i (call $sleep (i64.const 1))) (call $drop (local.get $i)) (call $drop (local.get $i))";
    with_clock(body).fails(Trap, "unknown handle index").await;
}

#[tokio::test]
async fn handle_of_another_kind() {
    with_stdout("(call $block (call $stdout))").fails(Trap, "handle").await;
}

#[tokio::test]
async fn handle_given_back_before_what_was_made_of_it() {
    let body = "(local.set $i (call $stdout)) (drop (call $watch (local.get $i))) (call $close (local.get $i))";
    with_stdout(body).fails(Trap, "resource has children").await;
}
