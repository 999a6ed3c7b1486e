//! Does what an action says: effects first, then how the call ends.

use std::hint::black_box;
use std::time::{Duration, Instant};

use creel_plugin::{Message, Payload, config, log};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::form;
use crate::record;
use crate::settings::{Action, Plan, Settings};

/// One call of a handler whose hook decides.
pub(crate) fn decide<A: DeserializeOwned>(
    hook: &str,
    handler: &str,
    event: &impl Serialize,
    context: &impl Serialize,
) -> Result<Option<A>, String> {
    let event = value(event)?;
    let answer = with_action(hook, handler, &event, context, |action| {
        perform(action)?;
        Ok(answer_of(hook, action, &event))
    })?;
    let Some(answer) = answer.flatten() else { return Ok(None) };
    let answer = form::answer(hook, &answer);
    serde_json::from_value(answer).map(Some).map_err(|error| format!("the test gave no answer of {hook}: {error}"))
}

/// One call of a handler that only watches.
pub(crate) fn observe(hook: &str, handler: &str, event: &impl Serialize, context: &impl Serialize) -> Result<(), String> {
    with_action(hook, handler, &value(event)?, context, perform).map(|_| ())
}

fn with_action<T>(
    hook: &str,
    handler: &str,
    event: &Value,
    context: &impl Serialize,
    act: impl FnOnce(&Action) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let settings = config::<Settings>().map_err(|error| error.to_string())?;
    if settings.record.iter().any(|recorded| recorded == hook) {
        record::call(hook, handler, event, &value(context)?)?;
    }
    match settings.handlers.get(hook).and_then(|handlers| handlers.get(handler)) {
        None => Ok(None),
        Some(Plan::Always(action)) => act(action).map(Some),
        Some(Plan::PerCall(actions)) => {
            let turn = record::turn(hook, handler)?;
            actions.get(turn).or(actions.last()).map(act).transpose()
        }
    }
}

fn value(record: &impl Serialize) -> Result<Value, String> {
    serde_json::to_value(record).map_err(|error| error.to_string())
}

/// The effects of an action.
///
/// # Errors
/// The error that it reports, if it does.
pub(crate) fn perform(action: &Action) -> Result<(), String> {
    print(action.print);
    allocate(action.alloc);
    if action.spin_ms > 0 {
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(action.spin_ms) {}
    }
    if action.sleep_ms > 0 {
        std::thread::sleep(Duration::from_millis(action.sleep_ms));
    }
    if action.loops {
        loop {
            black_box(action);
        }
    }
    if action.recurse {
        black_box(recurse(black_box(1)));
    }
    if action.trap {
        std::process::abort();
    }
    action.error.clone().map_or(Ok(()), Err)
}

#[expect(clippy::print_stdout, reason = "it is what the action asks for")]
fn print(lines: u64) {
    for line in 0..lines {
        println!("line {line} of a plugin that prints a lot");
        log::info!("record {line} of a plugin that logs a lot");
    }
}

/// Keeps what it takes until all of it is there.
fn allocate(bytes: u64) {
    const PIECE: usize = 1 << 20;
    let mut taken: Vec<Vec<u8>> = Vec::new();
    while (taken.len() as u64).saturating_mul(PIECE as u64) < bytes {
        taken.push(black_box(vec![1; PIECE]));
    }
    black_box(&taken);
}

#[expect(unconditional_recursion, reason = "it is what the action asks for")]
fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 16]);
    black_box(recurse(depth + frame[0])) + frame[15]
}

/// The answer of an action, in the words of the test.
fn answer_of(hook: &str, action: &Action, event: &Value) -> Option<Value> {
    let rewrite = |text: &str| match (&action.append, &action.replace) {
        (Some(end), _) => Some(format!("{text}{end}")),
        (_, Some((from, to))) => text.contains(from.as_str()).then(|| text.replace(from.as_str(), to)),
        _ => None,
    };
    if action.append.is_none() && action.replace.is_none() {
        return action.answer.clone();
    }
    let text_of = |key: &str| event[key].as_str().unwrap_or_default();
    match hook {
        "tool_result_persist" | "before_message_write" => {
            let mut message = Message::parse(text_of("message")).ok()?;
            message.rewrite_texts(|key, text| (key == "text" || action.replace.is_some()).then(|| rewrite(text)).flatten());
            Some(json!({ "message": message.to_json() }))
        }
        "reply_payload_sending" => {
            let mut payload = Payload::parse(text_of("payload")).ok()?;
            payload.rewrite_texts(|key, text| (key == "text").then(|| rewrite(text)).flatten());
            Some(json!({ "payload": payload.to_json() }))
        }
        _ => rewrite(text_of("content")).map(|content| json!({ "content": content })),
    }
}
