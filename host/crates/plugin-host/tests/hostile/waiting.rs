//! Guests that wait: no instruction of theirs runs, so no clock of theirs ticks. The deadline of the call covers the host's side too.

use hooks::FaultKind::{Timeout, Trap};
use plugin_host::grant::{Grants, KvGrant};

use crate::hostile::Hostile;
use crate::wasi::{CLOCK, POLL, POLLABLE, SLEEP};

const ENDED: &str = "no answer within 150 ms";

fn waiting(body: &str) -> Hostile {
    Hostile::new(format!("{body} unreachable")).importing(CLOCK, SLEEP).importing(POLL, POLLABLE)
}

#[tokio::test]
async fn sleep_past_the_deadline() {
    waiting("(call $block (call $sleep (i64.const 0x7fffffffffffffff)))").fails(Timeout, ENDED).await;
}

#[tokio::test]
async fn poll_of_what_is_never_ready() {
    let body = "(i32.store (i32.const 512) (call $sleep (i64.const -1)))
        (call $poll (i32.const 512) (i32.const 1) (i32.const 2048))";
    waiting(body).fails(Timeout, ENDED).await;
}

#[tokio::test]
async fn poll_of_nothing() {
    waiting("(call $poll (i32.const 512) (i32.const 0) (i32.const 2048))").fails(Trap, "empty poll list").await;
}

#[tokio::test]
async fn short_naps_for_ever() {
    let body = "(loop $again
        (local.set $i (call $sleep (i64.const 1)))
        (call $block (local.get $i))
        (call $drop (local.get $i))
        (br $again))";
    waiting(body).fails(Timeout, ENDED).await;
}

#[tokio::test]
async fn asking_for_ever_whether_it_is_time() {
    let body = "(local.set $i (call $sleep (i64.const -1)))
        (loop $again (drop (call $ready (local.get $i))) (br $again))";
    waiting(body).fails(Timeout, ENDED).await;
}

#[tokio::test]
async fn store_that_does_not_answer() {
    let get = r#"(import "creel:plugin/kv@0.1.0" "get" (func $get (param i32 i32 i32)))"#;
    let grants = Grants { kv: Some(KvGrant { max_bytes: 1000, max_keys: 10 }), ..Grants::default() };
    Hostile::doing("(call $get (i32.const 600) (i32.const 4) (i32.const 2048))")
        .with(r#"(data (i32.const 600) "wait")"#)
        .importing("kv", get)
        .granted(grants)
        .fails(Timeout, ENDED)
        .await;
}
