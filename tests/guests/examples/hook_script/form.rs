//! Between the words of a test and the records of the contract: names in camelCase against snake_case, objects against JSON text, and
//! the fields that a test need not write.

use serde_json::{Map, Value, json};

/// Fields of answers that hold JSON as text.
const JSON_FIELDS: [&str; 5] = ["params", "message", "payload", "reply", "metadata"];
/// Fields of answers that hold the case of an enum.
const ENUM_FIELDS: [&str; 5] = ["action", "severity", "timeout_behavior", "audience", "visibility"];

/// An answer of a test as the record of the contract.
pub(crate) fn answer(hook: &str, written: &Value) -> Value {
    let written = record(written);
    if hook == "before_agent_run" {
        return run_decision(written);
    }
    let Value::Object(written) = written else { return written };
    let mut complete = obligatory(hook);
    complete.extend(written);
    if hook == "resolve_exec_env" {
        complete.insert("env".to_owned(), variables(complete.get("env")));
    }
    if let Some(Value::Object(approval)) = complete.get_mut("require_approval") {
        approval.entry("allowed_decisions").or_insert_with(|| json!([]));
    }
    Value::Object(complete)
}

/// Keys as the contract's records have them; JSON fields become text, unless the test gave text.
fn record(written: &Value) -> Value {
    match written {
        Value::Object(keys) => Value::Object(keys.iter().map(|(key, value)| field(&snake_case(key), value)).collect()),
        Value::Array(items) => Value::Array(items.iter().map(record).collect()),
        other => other.clone(),
    }
}

fn field(key: &str, value: &Value) -> (String, Value) {
    let value = match value {
        Value::String(case) if ENUM_FIELDS.contains(&key) => json!(upper_camel_case(case)),
        Value::Object(_) | Value::Array(_) if JSON_FIELDS.contains(&key) => json!(value.to_string()),
        // Names of variables are not names of fields.
        Value::Object(_) if key == "env" => value.clone(),
        other => record(other),
    };
    (key.to_owned(), value)
}

/// What a record must have and a test need not say.
fn obligatory(hook: &str) -> Map<String, Value> {
    let fields: &[(&str, Value)] = match hook {
        "before_agent_reply" => &[("handled", json!(true))],
        "before_tool_call" | "before_message_write" => &[("block", json!(false))],
        "reply_payload_sending" | "message_sending" => &[("cancel", json!(false))],
        "before_install" => &[("findings", json!([])), ("block", json!(false))],
        _ => &[],
    };
    fields.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
}

/// `{outcome: "pass"}` and `{outcome: "block", reason, …}` are a variant in the contract.
fn run_decision(written: Value) -> Value {
    let Value::Object(mut block) = written else { return written };
    match block.shift_remove("outcome") {
        Some(Value::String(outcome)) if outcome == "pass" => json!("Pass"),
        _ => json!({ "Block": block }),
    }
}

/// A map of variables is a list in the contract.
fn variables(map: Option<&Value>) -> Value {
    let Some(Value::Object(map)) = map else { return json!([]) };
    map.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect()
}

/// All keys of a record in camelCase, as the test reads them.
pub(crate) fn camel_case(record: &Value) -> Value {
    match record {
        Value::Object(keys) => Value::Object(keys.iter().map(|(key, value)| (camel_case_word(key), camel_case(value))).collect()),
        Value::Array(items) => Value::Array(items.iter().map(camel_case).collect()),
        other => other.clone(),
    }
}

fn camel_case_word(word: &str) -> String {
    let mut parts = word.split('_');
    let head = parts.next().unwrap_or_default().to_owned();
    parts.fold(head, |so_far, part| so_far + &capitalized(part))
}

fn upper_camel_case(word: &str) -> String {
    word.split('-').map(capitalized).collect()
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

fn snake_case(word: &str) -> String {
    let mut out = String::with_capacity(word.len() + 4);
    for c in word.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
