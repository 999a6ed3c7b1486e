//! The host behind a native build: the fake of the running test. The same functions as those of a component.

use super::host::{LogRecord, with_current};
use super::store::Store;
use crate::bindings::host::creel::plugin::types::{ToolOutcome, ToolResult, TranscriptTail};
use crate::error::HostError;
use crate::host::http::{self, HttpError, Request, Response};
use crate::host::invocation::Trace;
use crate::host::log::Level;
use crate::host::messages::{DeliveryStatus, Message, Receipt};
use crate::host::sessions::{Filter, Session};
use crate::host::tools::Invoked;
use serde_json::Value;

type Result<T> = std::result::Result<T, HostError>;

pub(crate) fn log(level: Level, message: &str, fields: &[(String, String)]) {
    with_current("log", |state| {
        state.logs.push(LogRecord { level, message: message.to_owned(), fields: fields.to_vec() });
    });
}

pub(crate) fn settings() -> String {
    with_current("config", |state| state.settings.to_string())
}

pub(crate) fn is_cancelled() -> bool {
    with_current("invocation::is_cancelled", |state| state.cancelled)
}

pub(crate) fn remaining_ms() -> u32 {
    with_current("invocation::remaining", |state| u32::try_from(state.remaining.as_millis()).unwrap_or(u32::MAX))
}

pub(crate) fn depth() -> u32 {
    with_current("invocation::depth", |state| state.depth)
}

pub(crate) fn trace() -> Option<Trace> {
    with_current("invocation::trace", |state| state.trace.clone())
}

pub(crate) fn show_progress(partial: &ToolResult) {
    with_current("progress::update", |state| state.progress.push(partial.clone()));
}

pub(crate) fn tool_allowed(name: &str) -> Result<bool> {
    Ok(allowed_tools()?.iter().any(|tool| tool == name))
}

pub(crate) fn allowed_tools() -> Result<Vec<String>> {
    with_current("tool_authority", |state| state.allowed_tools.clone())
        .ok_or_else(|| HostError::Unavailable("there is no tool authority in this call".to_owned()))
}

pub(crate) fn authority_is_active() -> bool {
    with_current("tool_authority::is_active", |state| state.allowed_tools.is_some())
}

pub(crate) fn ended_tail(max_messages: u32, max_bytes: u32) -> Result<TranscriptTail> {
    let messages = with_current("ended_transcript::read_tail", |state| state.ended_transcript.clone())
        .ok_or_else(|| HostError::Unavailable("no session has ended in this call".to_owned()))?;
    cut(messages, max_messages, max_bytes)
}

fn cut(messages: Vec<String>, max_messages: u32, max_bytes: u32) -> Result<TranscriptTail> {
    if max_messages == 0 || max_bytes == 0 {
        return Err(HostError::Invalid("both limits must be above 0".to_owned()));
    }
    let total = messages.len();
    let mut bytes_left = usize::try_from(max_bytes).unwrap_or(usize::MAX);
    let mut tail: Vec<_> = messages
        .into_iter()
        .rev()
        .take(usize::try_from(max_messages).unwrap_or(usize::MAX))
        .take_while(|message| match bytes_left.checked_sub(message.len()) {
            Some(left) => {
                bytes_left = left;
                true
            }
            None => false,
        })
        .collect();
    tail.reverse();
    Ok(TranscriptTail { truncated: tail.len() < total, messages: tail, total_messages: u32::try_from(total).unwrap_or(u32::MAX) })
}

pub(crate) fn tool_names() -> Vec<String> {
    with_current("tools::names", |state| state.tools.keys().cloned().collect())
}

pub(crate) fn invoke_tool(name: &str, params: &str) -> Result<Invoked> {
    with_current("tools::invoke", |state| {
        let Some(result) = state.tools.get(name).cloned() else {
            return Err(HostError::Denied(format!("the test host was built without tool(\"{name}\", …)")));
        };
        let params = serde_json::from_str(params).map_err(|error| HostError::Invalid(error.to_string()))?;
        if !matches!(params, Value::Object(_)) {
            return Err(HostError::Invalid("params are not a JSON object".to_owned()));
        }
        state.invoked.push((name.to_owned(), params));
        Ok(Invoked { tool_call_id: format!("test-call-{}", state.invoked.len()), outcome: ToolOutcome::Ok, result })
    })
}

pub(crate) fn send_message(message: &Message) -> Result<Receipt> {
    with_current("messages::send", |state| {
        let Some(messages) = &mut state.messages else {
            return Err(HostError::Denied("the test host was built without_messages".to_owned()));
        };
        if message.content.trim().is_empty() && message.media_urls.is_empty() {
            return Err(HostError::Invalid("the message holds neither text nor media".to_owned()));
        }
        let is_known = |sent: &Message| message.idempotency_key.is_some() && sent.idempotency_key == message.idempotency_key;
        if messages.iter().any(is_known) {
            let detail = Some("a message with this key was sent within the last 24 hours".to_owned());
            return Ok(Receipt { status: DeliveryStatus::Suppressed, message_id: None, detail });
        }
        messages.push(message.clone());
        Ok(Receipt { status: DeliveryStatus::Sent, message_id: None, detail: None })
    })
}

pub(crate) fn list_sessions(filter: &Filter, cursor: Option<&str>, limit: u32) -> Result<(Vec<Session>, Option<String>)> {
    let first: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    with_current("sessions::list", |state| {
        let fits = |session: &&Session| {
            filter.agent_id.as_ref().is_none_or(|agent| *agent == session.agent_id)
                && filter.key_prefix.as_ref().is_none_or(|prefix| session.session_key.starts_with(prefix))
                && filter.updated_since.is_none_or(|since| session.updated_at >= since)
        };
        let found: Vec<Session> = state.sessions.iter().map(|(session, _)| session).filter(fits).cloned().collect();
        let next = (found.len() > first.saturating_add(limit)).then(|| (first + limit).to_string());
        Ok((found.into_iter().skip(first).take(limit).collect(), next))
    })
}

pub(crate) fn get_session(key: &str) -> Result<Option<Session>> {
    with_current("sessions::get", |state| {
        Ok(state.sessions.iter().map(|(session, _)| session).find(|session| session.session_key == key).cloned())
    })
}

pub(crate) fn session_tail(key: &str, max_messages: u32, max_bytes: u32) -> Result<TranscriptTail> {
    let found = with_current("sessions::read_tail", |state| {
        state.sessions.iter().find(|(session, _)| session.session_key == key).map(|(_, messages)| messages.clone())
    });
    let messages = found.ok_or_else(|| HostError::NotFound(format!("there is no session `{key}`")))?;
    cut(messages, max_messages, max_bytes)
}

pub(crate) fn kv_get(key: &str) -> Result<Option<Vec<u8>>> {
    with_store("kv::get", |store| Ok(store.get(key).map(<[u8]>::to_vec)))
}

pub(crate) fn kv_set(key: &str, value: &[u8], ttl_ms: Option<u64>) -> Result<()> {
    with_store("kv::set", |store| store.set(key, value, ttl_ms))
}

pub(crate) fn kv_delete(key: &str) -> Result<bool> {
    with_store("kv::delete", |store| store.delete(key))
}

pub(crate) fn kv_list(prefix: &str, cursor: Option<&str>, limit: u32) -> Result<(Vec<String>, Option<String>)> {
    with_store("kv::keys", |store| Ok(store.list(prefix, cursor, limit)))
}

pub(crate) fn kv_increment(key: &str, delta: i64) -> Result<i64> {
    with_store("kv::increment", |store| store.increment(key, delta))
}

pub(crate) fn kv_compare_and_set(key: &str, expected: Option<&[u8]>, value: Option<&[u8]>) -> Result<bool> {
    with_store("kv::compare_and_set", |store| store.compare_and_set(key, expected, value))
}

pub(crate) fn session_get(namespace: &str) -> Result<Option<String>> {
    with_current("session::get", |state| match &state.session {
        Some(values) => Ok(values.get(namespace).cloned()),
        None => Err(no_session()),
    })
}

pub(crate) fn session_set(namespace: &str, value: Option<&str>) -> Result<()> {
    with_current("session::set", |state| {
        let values = state.session.as_mut().ok_or_else(no_session)?;
        match value {
            Some(value) => values.insert(namespace.to_owned(), value.to_owned()),
            None => values.remove(namespace),
        };
        Ok(())
    })
}

pub(crate) fn secret_names() -> Vec<String> {
    with_current("secrets::names", |state| state.secrets.keys().cloned().collect())
}

pub(crate) fn secret_placeholder(name: &str) -> Result<String> {
    with_current("secrets::placeholder", |state| match state.secrets.get(name) {
        Some(_) => Ok(placeholder(name)),
        None => Err(HostError::Denied(format!("the test host was built without secret(\"{name}\", …)"))),
    })
}

fn placeholder(name: &str) -> String {
    format!("test-placeholder-of-{name}")
}

pub(crate) fn send_request(request: &Request) -> std::result::Result<Response, HttpError> {
    let (scheme, ..) = http::parts(&request.url)?;
    if !["http", "https"].contains(&scheme) {
        return Err(HttpError::Invalid(format!("nothing is sent by `{scheme}`")));
    }
    with_current("http::send", |state| {
        let answer = state.answers.iter().rev().find(|(prefix, _)| request.url.starts_with(prefix.as_str()));
        let Some((_, answer)) = answer else {
            return Err(HttpError::Refused(format!("the test host was built without answer({:?}, …)", request.url)));
        };
        let mut sent = request.clone();
        for (_, value) in &mut sent.headers {
            for (name, text) in &state.secrets {
                *value = value.replace(&placeholder(name), text);
            }
        }
        state.requests.push(sent);
        answer.clone()
    })
}

fn with_store<T>(function: &str, ask: impl FnOnce(&mut Store) -> Result<T>) -> Result<T> {
    with_current(function, |state| match &mut state.store {
        Some(store) => ask(store),
        None => Err(HostError::Denied("the test host was built without_kv".to_owned())),
    })
}

fn no_session() -> HostError {
    HostError::NotFound("the call belongs to no session".to_owned())
}
