//! The record of calls: one key per call in the key-value store, from where the test reads it. Kept there and not in memory, because a
//! call may trap and an instance may serve one call only.

use creel_plugin::kv;
use serde_json::Value;

use crate::form::camel_case;

/// Keys of calls begin with this; the number after it grows from call to call.
const CALLS: &str = "calls/";
/// Numbers of calls.
const COUNT: &str = "count";

/// Writes down one call.
///
/// # Errors
/// When the key-value store refuses it.
pub(crate) fn call(hook: &str, handler: &str, event: &Value, context: &Value) -> Result<(), String> {
    let number = kv::increment(COUNT, 1).map_err(|error| error.to_string())?;
    let call = serde_json::json!({
        "hook": hook,
        "handler": handler,
        "event": camel_case(event),
        "context": camel_case(context),
    });
    kv::set(&format!("{CALLS}{number:06}"), &call).map_err(|error| error.to_string())
}

/// How often a handler with one action per call was called before.
///
/// # Errors
/// When the key-value store refuses it.
pub(crate) fn turn(hook: &str, handler: &str) -> Result<usize, String> {
    let turn = kv::increment(&format!("turn/{hook}/{handler}"), 1).map_err(|error| error.to_string())?;
    Ok(usize::try_from(turn).unwrap_or(1).saturating_sub(1))
}
