//! What guests answer: good ones count, malformed ones are faults that name the field.

use hooks::{FaultKind, Scope};

use crate::guest::{GUARD, answer, guard, with_hook};
use crate::rig::{call, decide, fault_of, plugin, start};

/// A guard that answers with `params`.
fn rewrite(params: &str) -> Vec<u8> {
    let length = format!("(i32.const {})", params.len());
    let body = answer(&[(4, "(i32.const 1)"), (8, "(i32.const 1)"), (12, "(i32.const 600)"), (16, &length)]);
    with_hook(GUARD, &body, &format!(r#"(data (i32.const 600) "{}")"#, params.replace('"', "\\22")))
}

#[tokio::test]
async fn no_answer_is_no_opinion() {
    let dispatcher = start(vec![plugin("p", guard(&answer(&[])))]).await;
    assert_eq!(call(&dispatcher, &Scope::default()).await, Ok(None));
}

#[tokio::test]
async fn a_rewrite_arrives_as_an_object() {
    let dispatcher = start(vec![plugin("p", rewrite(r#"{"command":"true"}"#))]).await;
    let decision = decide(&dispatcher, &Scope::default()).await.unwrap();
    assert_eq!(decision.params.unwrap()["command"], "true");
}

#[tokio::test]
async fn json_null_is_no_rewrite() {
    let dispatcher = start(vec![plugin("p", rewrite("null"))]).await;
    assert_eq!(decide(&dispatcher, &Scope::default()).await.unwrap().params, None);
}

#[tokio::test]
async fn json_of_another_shape_is_malformed_and_named() {
    for (params, text) in [
        ("[]", "params: expected a JSON object, found an array"),
        ("{", "params: not valid JSON: EOF while parsing an object at line 1 column 1"),
        ("{} {}", "params: not valid JSON: trailing characters at line 1 column 4"),
    ] {
        let fault = fault_of(plugin("p", rewrite(params))).await;
        assert_eq!((fault.kind(), fault.text()), (FaultKind::Malformed, text));
    }
}

#[tokio::test]
async fn what_does_not_lift_is_malformed() {
    for (words, what) in [
        (vec![(0, "(i32.const 9)")], "an unknown case of the result"),
        (vec![(4, "(i32.const 2)")], "an unknown case of the option"),
        (
            vec![(4, "(i32.const 1)"), (24, "(i32.const 1)"), (28, "(i32.const -8)"), (32, "(i32.const 100)")],
            "a text outside of the memory",
        ),
        (
            vec![(4, "(i32.const 1)"), (24, "(i32.const 1)"), (28, "(i32.const 512)"), (32, "(i32.const 1)")],
            "a text that is not UTF-8",
        ),
    ] {
        let body = format!("(i32.store8 (i32.const 512) (i32.const 255)) {}", answer(&words));
        let fault = fault_of(plugin("p", guard(&body))).await;
        assert_eq!(fault.kind(), FaultKind::Malformed, "{what}: {fault}");
    }
}

#[tokio::test]
async fn the_event_arrives_as_it_was_sent() {
    // Blocks with the tool's name, which is the first field of the event behind the handler's name.
    let body = crate::guest::block("(i32.load offset=8 (local.get $args))", "(i32.load offset=12 (local.get $args))");
    let dispatcher = start(vec![plugin("p", guard(&body))]).await;
    assert_eq!(call(&dispatcher, &Scope::default()).await.unwrap().unwrap(), "exec");
}
