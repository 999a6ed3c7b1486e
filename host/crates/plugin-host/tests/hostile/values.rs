//! Guests that break the canonical ABI: addresses, lengths, encodings and cases that do not exist. What the host reads is checked before
//! it is used, and bounded before memory is taken for it.

use hooks::FaultKind::{self, Limit, Malformed, Trap};
use hooks::Scope;
use wit_component::StringEncoding;

use crate::guest::{answer, block};
use crate::hostile::Hostile;
use crate::rig::call;

/// A gate that blocks with the text at an address.
fn text(at: i64, length: i64) -> Hostile {
    Hostile::new(block(&format!("(i32.const {at})"), &format!("(i32.const {length})"))).gate_only()
}

/// A plugin that writes to the log: level, message, and a list of pairs of texts.
fn logging(before: &str, level: u32, fields: i64, count: i64) -> Hostile {
    let write = r#"(import "creel:plugin/log@0.1.0" "write" (func $write (param i32 i32 i32 i32 i32)))"#;
    let body = format!(
        "{before} (call $write (i32.const {level}) (i32.const 600) (i32.const 4) (i32.const {fields}) (i32.const {count}))"
    );
    Hostile::doing(&body).importing("log", write)
}

#[tokio::test]
async fn text_outside_of_the_memory() {
    text(0x7fff_0000, 8).fails(Malformed, "out of bounds").await;
}

#[tokio::test]
async fn text_that_goes_round_the_memory() {
    text(-8, 100).fails(Malformed, "out of bounds").await;
}

#[tokio::test]
async fn text_of_two_to_the_power_of_thirty_bytes() {
    text(512, 1 << 30).fails(Malformed, "out of bounds").await;
}

#[tokio::test]
async fn text_of_minus_one_bytes() {
    text(512, -1).fails(Malformed, "out of bounds").await;
}

#[tokio::test]
async fn text_above_the_limit() {
    let body = block("(i32.const 131072)", "(i32.const 9000000)");
    let hostile = Hostile::new(format!("(drop (memory.grow (i32.const 200))) {body}")).gate_only();
    hostile.fails(Limit, "too much data is being copied").await;
}

#[tokio::test]
async fn text_that_is_not_utf8() {
    text(600, 4).with(r#"(data (i32.const 600) "a\ff\fe\00")"#).fails(Malformed, "invalid utf-8").await;
}

#[tokio::test]
async fn text_with_half_a_surrogate_in_utf8() {
    text(600, 3).with(r#"(data (i32.const 600) "\ed\a0\80")"#).fails(Malformed, "invalid utf-8").await;
}

#[tokio::test]
async fn text_with_half_a_surrogate_in_utf16() {
    text(600, 2)
        .with(r#"(data (i32.const 600) "a\00\00\d8")"#)
        .encoded(StringEncoding::UTF16)
        .fails(Malformed, "surrogate")
        .await;
}

#[tokio::test]
async fn text_in_utf16_that_is_not_aligned() {
    text(601, 2).encoded(StringEncoding::UTF16).fails(Malformed, "align").await;
}

#[tokio::test]
async fn list_of_two_to_the_power_of_thirty() {
    logging("", 2, 512, 1 << 30).fails(Trap, "out of bounds").await;
}

#[tokio::test]
async fn list_whose_size_does_not_fit() {
    // 2^28 elements of 16 bytes are 2^32 bytes, which is 0 for who does not look.
    logging("", 2, 512, 1 << 28).fails(Trap, "out of bounds").await;
}

#[tokio::test]
async fn list_that_is_not_aligned() {
    logging("", 2, 601, 1).fails(Trap, "align").await;
}

#[tokio::test]
async fn list_that_names_one_text_many_times() {
    // A thousand pairs, all of the same 64 KiB: small in the guest, 128 MiB in a host that copies before it counts.
    let before = "(drop (memory.grow (i32.const 1))) (loop $more
        (i32.store (i32.add (i32.const 8192) (i32.mul (local.get $i) (i32.const 8))) (i32.const 131072))
        (i32.store (i32.add (i32.const 8196) (i32.mul (local.get $i) (i32.const 8))) (i32.const 65536))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $i) (i32.const 2000))))";
    logging(before, 2, 8192, 1000).fails(Limit, "too much data is being copied").await;
}

#[tokio::test]
async fn list_that_lies_in_itself() {
    // Pairs whose texts are the list itself: overlapping is allowed, and harmless.
    let before = "(loop $more
        (i32.store (i32.add (i32.const 8192) (i32.mul (local.get $i) (i32.const 8))) (i32.const 8192))
        (i32.store (i32.add (i32.const 8196) (i32.mul (local.get $i) (i32.const 8))) (i32.const 1))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $i) (i32.const 20))))";
    logging(before, 2, 8192, 10).hurts_nobody().await;
}

#[tokio::test]
async fn level_that_does_not_exist() {
    logging("", 99, 0, 0).fails(Trap, "discriminant").await;
}

#[tokio::test]
async fn case_of_a_result_that_does_not_exist() {
    Hostile::new(answer(&[(0, "(i32.const 9)")])).fails(Malformed, "discriminant").await;
}

#[tokio::test]
async fn case_of_an_option_that_does_not_exist() {
    Hostile::new(answer(&[(4, "(i32.const 2)")])).fails(Malformed, "discriminant").await;
}

#[tokio::test]
async fn truth_of_two() {
    // Every number but 0 is true (canonical ABI); a gate that means to block does.
    let body = answer(&[(4, "(i32.const 1)"), (20, "(i32.const 2)")]);
    let trial = Hostile::new(body).gate_only().tried().await;
    let decision = crate::rig::decide(&trial.dispatcher, &Scope::default()).await.unwrap();
    assert!(decision.blocked_by.is_some());
    trial.is_as_before();
}

#[tokio::test]
async fn answer_outside_of_the_memory() {
    for at in [-4_i64, 0x7fff_0000, 131_070 & !3] {
        Hostile::new(format!("(i32.const {at})")).fails(Malformed, "out of bounds").await;
    }
}

#[tokio::test]
async fn answer_that_is_not_aligned() {
    Hostile::new("(i32.const 1025)").fails(Malformed, "align").await;
}

#[tokio::test]
async fn allocator_that_gives_what_it_does_not_have() {
    for (at, words) in [("(i32.const -8)", "beyond end of memory"), ("(i32.const 65537)", "not aligned")] {
        let trial = Hostile::quiet().allocating(at).tried().await;
        let fault = trial.ask_the_gate().await.unwrap_err();
        assert!([Malformed, Trap].contains(&fault.kind()) && fault.text().contains(words), "{fault}");
        trial.names_it_in_one_line("before_tool_call");
        trial.is_as_before();
    }
}

#[tokio::test]
async fn allocator_that_gives_the_same_place_each_time() {
    // The event is written over itself; only the guest sees nonsense.
    Hostile::quiet().allocating("(i32.const 65536)").hurts_nobody().await;
}

#[tokio::test]
async fn allocator_that_writes_over_the_code_of_nobody() {
    // Into address 0, where the guest's own data is.
    Hostile::quiet().allocating("(i32.const 0)").hurts_nobody().await;
}

#[tokio::test]
async fn each_call_after_a_broken_value_is_served() {
    // The first call of an instance answers well, the second breaks the rules; the instance is gone after that.
    let body = format!(
        "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))
         (if (i32.eq (global.get $calls) (i32.const 2)) (then (return (i32.const -4)))) {}",
        answer(&[])
    );
    let trial = Hostile::new(body).gate_only().tried().await;
    let run = crate::rig::run("r");
    let mut kinds = Vec::new();
    for _ in 0..6 {
        kinds.push(call(&trial.dispatcher, &run).await.err().map(|fault| fault.kind()));
    }
    let expected: [Option<FaultKind>; 2] = [None, Some(Malformed)];
    assert_eq!(kinds, expected.repeat(3));
    drop(run);
    trial.is_as_before();
}
