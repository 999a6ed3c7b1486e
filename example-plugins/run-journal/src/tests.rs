//! What each hook counts.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use super::RunJournal;
use creel_plugin::prelude::*;
use creel_plugin::serde_json::{Value, from_str};
use creel_plugin::testing::{Host, context, event};
use creel_plugin::{EndReason, ModelCallOutcome, ToolOutcome, Usage};

/// Runs a hook and gives all counters after it.
fn counters(host: &Host, call: impl FnOnce(&Call) -> Result<()>) -> Vec<(String, i64)> {
    host.run(|| call(&Call::default())).unwrap();
    let keys = host.run(|| kv::keys("")).unwrap();
    keys.into_iter()
        .map(|key| {
            let value = host.stored(&key).unwrap();
            (key, value)
        })
        .collect()
}

fn expect(actual: &[(String, i64)], expected: &[(&str, i64)]) {
    let actual: Vec<_> = actual.iter().map(|(key, value)| (key.as_str(), *value)).collect();
    assert_eq!(actual, expected);
}

#[test]
fn runs_are_counted_by_outcome_and_time() {
    let host = Host::new();
    let failed = AgentEndEvent { success: false, duration_ms: None, ..event::agent_end(&[]) };
    counters(&host, |call| RunJournal::agent_end(call, failed, context::agent()));
    let all = counters(&host, |call| RunJournal::agent_end(call, event::agent_end(&[]), context::agent()));
    expect(&all, &[("hook/agent_end", 2), ("run/failed", 1), ("run/ms", 1200), ("run/ok", 1)]);
}

#[test]
fn model_calls_are_counted_by_model() {
    let host = Host::new();
    counters(&host, |call| RunJournal::model_call_started(call, event::model_call_started(), context::agent()));
    let ended = event::model_call_ended(ModelCallOutcome::Completed);
    let all = counters(&host, |call| RunJournal::model_call_ended(call, ended, context::agent()));
    expect(
        &all,
        &[
            ("hook/model_call_ended", 1),
            ("hook/model_call_started", 1),
            ("model/offline/echo/completed", 1),
            ("model/offline/echo/ms", 800),
            ("model/offline/echo/started", 1),
        ],
    );
}

#[test]
fn tokens_add_up_and_missing_ones_are_not_written() {
    let host = Host::new();
    for _ in 0..2 {
        let usage = Usage { input: Some(10), output: Some(3), cache_read: None, cache_write: Some(0), total: Some(13) };
        let event = LlmOutputEvent { usage: Some(usage), ..event::llm_output("text") };
        counters(&host, |call| RunJournal::llm_output(call, event, context::agent()));
    }
    let input = LlmInputEvent { images_count: 2, ..event::llm_input("text") };
    let all = counters(&host, |call| RunJournal::llm_input(call, input, context::agent()));
    expect(
        &all,
        &[
            ("hook/llm_input", 1),
            ("hook/llm_output", 2),
            ("model/offline/echo/images", 2),
            ("tokens/input", 20),
            ("tokens/output", 6),
        ],
    );
}

#[test]
fn tools_are_counted_by_outcome() {
    let host = Host::new();
    let blocked = event::after_tool_call("exec", &json!({}), ToolOutcome::Blocked);
    counters(&host, |call| RunJournal::after_tool_call(call, blocked, context::tool()));
    let ran = AfterToolCallEvent { duration_ms: Some(40), ..event::after_tool_call("exec", &json!({}), ToolOutcome::Ok) };
    let all = counters(&host, |call| RunJournal::after_tool_call(call, ran, context::tool()));
    expect(&all, &[("hook/after_tool_call", 2), ("tool/exec/blocked", 1), ("tool/exec/ms", 40), ("tool/exec/ok", 1)]);
}

#[test]
fn messages_are_counted_by_channel_and_leave_no_text() {
    let host = Host::new();
    let received = event::message_received("a private text");
    counters(&host, |call| RunJournal::message_received(call, received, context::message()));
    let sent = event::message_sent("an answer", true);
    counters(&host, |call| RunJournal::message_sent(call, sent, context::message()));
    let failed = event::message_sent("an answer", false);
    let all = counters(&host, |call| RunJournal::message_sent(call, failed, context::message()));
    expect(
        &all,
        &[
            ("hook/message_received", 1),
            ("hook/message_sent", 2),
            ("message/terminal/failed", 1),
            ("message/terminal/received", 1),
            ("message/terminal/sent", 1),
        ],
    );
}

#[test]
fn sessions_and_compactions_are_counted() {
    let host = Host::new();
    counters(&host, |call| RunJournal::session_start(call, event::session_start(), context::session()));
    let ended = event::session_end(4, EndReason::Reset);
    counters(&host, |call| RunJournal::session_end(call, ended, context::session()));
    counters(&host, |call| RunJournal::before_reset(call, event::before_reset("new"), context::agent()));
    counters(&host, |call| RunJournal::before_compaction(call, event::before_compaction(9), context::agent()));
    let all = counters(&host, |call| RunJournal::after_compaction(call, event::after_compaction(3, 6), context::agent()));
    expect(
        &all,
        &[
            ("compaction/messages", 6),
            ("hook/after_compaction", 1),
            ("hook/before_compaction", 1),
            ("hook/before_reset", 1),
            ("hook/session_end", 1),
            ("hook/session_start", 1),
            ("session/ended/reset", 1),
            ("session/new", 1),
        ],
    );
}

#[test]
fn the_gateway_is_counted() {
    let host = Host::new();
    counters(&host, |call| RunJournal::gateway_start(call, event::gateway_start(1), context::gateway()));
    let all = counters(&host, |call| RunJournal::gateway_stop(call, event::gateway_stop("end"), context::gateway()));
    expect(&all, &[("hook/gateway_start", 1), ("hook/gateway_stop", 1)]);
}

#[test]
fn the_manifest_names_this_package() {
    let manifest: Value = from_str(include_str!("../creel.plugin.json")).unwrap();
    assert_eq!(manifest["id"], env!("CARGO_PKG_NAME"));
    assert_eq!(manifest["component"], concat!(env!("CARGO_PKG_NAME"), ".wasm"));
}
