//! The host behind a component: its imports.
//!
//! Each function is one import and no more, so that one that a plugin does not call is not in its component.

use super::log::Level;
use super::tools::Invoked;
use crate::bindings::host::creel::plugin as host;
use crate::bindings::host::creel::plugin::types::{ToolResult, TranscriptTail};
use crate::error::HostError;

type Result<T> = std::result::Result<T, HostError>;

pub(crate) fn log(level: Level, message: &str, fields: &[(String, String)]) {
    let level = match level {
        Level::Trace => host::log::Level::Trace,
        Level::Debug => host::log::Level::Debug,
        Level::Info => host::log::Level::Info,
        Level::Warn => host::log::Level::Warn,
        Level::Error => host::log::Level::Error,
    };
    host::log::write(level, message, fields);
}

pub(crate) fn settings() -> String {
    host::config::get()
}

pub(crate) fn is_cancelled() -> bool {
    host::invocation::is_cancelled()
}

pub(crate) fn remaining_ms() -> u32 {
    host::invocation::remaining_ms()
}

pub(crate) fn depth() -> u32 {
    host::invocation::depth()
}

pub(crate) fn trace() -> Option<host::invocation::Trace> {
    host::invocation::current_trace()
}

pub(crate) fn show_progress(partial: &ToolResult) {
    host::tool_progress::update(partial);
}

pub(crate) fn tool_allowed(name: &str) -> Result<bool> {
    Ok(host::tool_authority::allows(name)?)
}

pub(crate) fn allowed_tools() -> Result<Vec<String>> {
    Ok(host::tool_authority::list_tools()?)
}

pub(crate) fn authority_is_active() -> bool {
    host::tool_authority::is_active()
}

pub(crate) fn ended_tail(max_messages: u32, max_bytes: u32) -> Result<TranscriptTail> {
    Ok(host::ended_transcript::read_tail(max_messages, max_bytes)?)
}

pub(crate) fn tool_names() -> Vec<String> {
    host::tools_invoke::names()
}

pub(crate) fn invoke_tool(name: &str, params: &str) -> Result<Invoked> {
    let host::tools_invoke::Invoked { tool_call_id, outcome, result } = host::tools_invoke::invoke(name, params)?;
    Ok(Invoked { tool_call_id, outcome, result })
}

pub(crate) fn send_message(message: &host::messages_send::Message) -> Result<host::messages_send::Receipt> {
    Ok(host::messages_send::send(message)?)
}

pub(crate) fn list_sessions(
    filter: &host::sessions_read::Filter,
    cursor: Option<&str>,
    limit: u32,
) -> Result<(Vec<host::sessions_read::Session>, Option<String>)> {
    let page = host::sessions_read::list_sessions(filter, cursor, limit)?;
    Ok((page.sessions, page.cursor))
}

pub(crate) fn get_session(key: &str) -> Result<Option<host::sessions_read::Session>> {
    Ok(host::sessions_read::get_session(key)?)
}

pub(crate) fn session_tail(key: &str, max_messages: u32, max_bytes: u32) -> Result<TranscriptTail> {
    Ok(host::sessions_read::read_tail(key, max_messages, max_bytes)?)
}

pub(crate) fn kv_get(key: &str) -> Result<Option<Vec<u8>>> {
    Ok(host::kv::get(key)?)
}

pub(crate) fn kv_set(key: &str, value: &[u8], ttl_ms: Option<u64>) -> Result<()> {
    Ok(host::kv::set(key, value, ttl_ms)?)
}

pub(crate) fn kv_delete(key: &str) -> Result<bool> {
    Ok(host::kv::delete(key)?)
}

pub(crate) fn kv_list(prefix: &str, cursor: Option<&str>, limit: u32) -> Result<(Vec<String>, Option<String>)> {
    let page = host::kv::list_keys(prefix, cursor, limit)?;
    Ok((page.keys, page.cursor))
}

pub(crate) fn kv_increment(key: &str, delta: i64) -> Result<i64> {
    Ok(host::kv::increment(key, delta)?)
}

pub(crate) fn kv_compare_and_set(key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> Result<bool> {
    Ok(host::kv::compare_and_set(key, expected, value)?)
}

pub(crate) fn session_get(namespace: &str) -> Result<Option<String>> {
    Ok(host::session_extension::get(namespace)?)
}

pub(crate) fn session_set(namespace: &str, value: Option<&str>) -> Result<()> {
    Ok(host::session_extension::set(namespace, value)?)
}

pub(crate) fn secret_names() -> Vec<String> {
    host::secrets::names()
}

pub(crate) fn secret_placeholder(name: &str) -> Result<String> {
    Ok(host::secrets::placeholder(name)?)
}

pub(crate) use super::component_http::send_request;
