//! Guests that use up their call stack. The stack of a guest has a size of its own; the host's is never touched.

use hooks::FaultKind::Limit;

use crate::guest::answer;
use crate::hostile::Hostile;

const ENDED: &str = "its call stack is exhausted";

/// Calls itself, and has something to do afterwards.
const DEEP: &str = "(func $deep (result i32) (i32.add (call $deep) (i32.const 1)))";

#[tokio::test]
async fn recursion_in_a_call() {
    Hostile::new("(call $deep)").with(DEEP).fails(Limit, ENDED).await;
}

#[tokio::test]
async fn recursion_in_a_start_function() {
    Hostile::quiet().starting("(drop (call $deep))").with(DEEP).fails(Limit, ENDED).await;
}

#[tokio::test]
async fn recursion_in_the_allocator() {
    Hostile::quiet().allocating("(call $deep)").with(DEEP).fails(Limit, ENDED).await;
}

#[tokio::test]
async fn recursion_after_the_return() {
    Hostile::quiet().after_return("(drop (call $deep))").with(DEEP).fails(Limit, ENDED).await;
}

#[tokio::test]
async fn recursion_through_a_table() {
    let deep = "(type $f (func (result i32))) (table 1 funcref) (elem (i32.const 0) $deep)
        (func $deep (type $f) (i32.add (call_indirect (type $f) (i32.const 0)) (i32.const 1)))";
    Hostile::new("(call $deep)").with(deep).fails(Limit, ENDED).await;
}

#[tokio::test]
async fn recursion_with_large_frames() {
    // Every value lives across the call, so each frame holds all of them: some 16 kB.
    let (mut before, mut after) = (String::new(), String::new());
    for local in 1..=2000 {
        before.push_str(&format!("(local.set {local} (i64.mul (local.get 0) (i64.const {local})))"));
        after.push_str(&format!("(i64.xor (local.get {local}))"));
    }
    let locals = "(local i64)".repeat(2000);
    let deep = format!("(func $deep (param i64) (result i64) {locals} {before} (call $deep (local.get 2000)) {after})");
    let body = format!("(drop (call $deep (i64.const 7))) {}", answer(&[]));
    Hostile::new(body).with(&deep).fails(Limit, ENDED).await;
}
