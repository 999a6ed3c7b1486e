//! The fake host: what a test sets up before a call and looks at after it.

use super::store::Store;
use crate::host::http::{HttpError, Request, Response};
use crate::host::invocation::Trace;
use crate::host::log::Level;
use crate::host::messages::Message;
use crate::host::sessions::Session;
use crate::host::settings;
use crate::tool::ToolResult;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

thread_local! {
    /// The host that answers on this thread. None: no test is inside [`Host::run`].
    static CURRENT: RefCell<Option<Rc<RefCell<State>>>> = const { RefCell::new(None) };
}

/// One record that the plugin logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRecord {
    /// How important it is.
    pub level: Level,
    /// Its text.
    pub message: String,
    /// Its fields, in order.
    pub fields: Vec<(String, String)>,
}

/// What the fake host knows.
#[derive(Debug)]
pub(super) struct State {
    pub(super) settings: Value,
    pub(super) logs: Vec<LogRecord>,
    pub(super) cancelled: bool,
    pub(super) remaining: Duration,
    pub(super) depth: u32,
    pub(super) trace: Option<Trace>,
    pub(super) progress: Vec<ToolResult>,
    /// None: the operator did not grant `kv`.
    pub(super) store: Option<Store>,
    /// None: the call belongs to no session.
    pub(super) session: Option<BTreeMap<String, String>>,
    /// What was sent. None: the operator did not grant `messagesSend`.
    pub(super) messages: Option<Vec<Message>>,
    /// Sessions that can be read, each with its messages.
    pub(super) sessions: Vec<(Session, Vec<String>)>,
    /// Granted secrets with their texts.
    pub(super) secrets: BTreeMap<String, String>,
    /// Beginnings of granted addresses, and what requests to them come to.
    pub(super) answers: Vec<(String, Result<Response, HttpError>)>,
    pub(super) requests: Vec<Request>,
    /// Granted tools and what they give back.
    pub(super) tools: BTreeMap<String, ToolResult>,
    pub(super) invoked: Vec<(String, Value)>,
    /// None: no authority, as everywhere but in the second phase of `before_prompt_build`.
    pub(super) allowed_tools: Option<Vec<String>>,
    /// None: nothing to read, as everywhere but in `session_end`.
    pub(super) ended_transcript: Option<Vec<String>>,
}

/// A fake host. `Host::new()` grants everything: no settings (`{}`), an empty store of 1 MiB, a session, a minute of time.
///
/// Methods that take `self` set it up; those that take `&self` act on it or look at it between calls.
#[derive(Debug)]
pub struct Host {
    state: Rc<RefCell<State>>,
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Host {
    /// A host that grants everything.
    #[must_use]
    pub fn new() -> Self {
        Self {
            state: Rc::new(RefCell::new(State {
                settings: json!({}),
                logs: Vec::new(),
                cancelled: false,
                remaining: Duration::from_secs(60),
                depth: 0,
                trace: None,
                progress: Vec::new(),
                store: Some(Store::default()),
                session: Some(BTreeMap::new()),
                messages: Some(Vec::new()),
                sessions: Vec::new(),
                secrets: BTreeMap::new(),
                answers: Vec::new(),
                requests: Vec::new(),
                tools: BTreeMap::new(),
                invoked: Vec::new(),
                allowed_tools: None,
                ended_transcript: None,
            })),
        }
    }

    /// The operator's settings. The schema in the manifest is not looked at: give what it would let through, defaults included.
    #[must_use]
    pub fn config(self, settings: Value) -> Self {
        self.with(|state| state.settings = settings)
    }

    /// Time left of each call.
    #[must_use]
    pub fn remaining(self, time: Duration) -> Self {
        self.with(|state| state.remaining = time)
    }

    /// How many plugin calls are around each call.
    #[must_use]
    pub fn depth(self, depth: u32) -> Self {
        self.with(|state| state.depth = depth)
    }

    /// Place of each call in a trace.
    #[must_use]
    pub fn trace(self, trace: Trace) -> Self {
        self.with(|state| state.trace = Some(trace))
    }

    /// The operator did not grant `kv`.
    #[must_use]
    pub fn without_kv(self) -> Self {
        self.with(|state| state.store = None)
    }

    /// The quota of the key-value store: keys and values together, in bytes.
    #[must_use]
    pub fn kv_quota(self, bytes: usize) -> Self {
        self.with(|state| state.store = Some(Store::with_quota(bytes)))
    }

    /// The calls belong to no session.
    #[must_use]
    pub fn without_session(self) -> Self {
        self.with(|state| state.session = None)
    }

    /// The operator did not grant `messagesSend`.
    #[must_use]
    pub fn without_messages(self) -> Self {
        self.with(|state| state.messages = None)
    }

    /// A session that can be read, with its messages, oldest first. Give them in the order in which a list should show them.
    #[must_use]
    pub fn session(self, key: &str, messages: &[Value]) -> Self {
        let agent_id = key.strip_prefix("agent:").and_then(|rest| rest.split(':').next()).unwrap_or("main").to_owned();
        let session_id = format!("test-session-of-{key}");
        let entry = json!({ "sessionId": session_id }).to_string();
        let session = Session { session_key: key.to_owned(), session_id, agent_id, label: None, updated_at: 0, entry };
        let messages = messages.iter().map(Value::to_string).collect();
        self.with(|state| state.sessions.push((session, messages)))
    }

    /// A granted secret.
    #[must_use]
    pub fn secret(self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.with(|state| drop(state.secrets.insert(name.into(), text.into())))
    }

    /// A granted address, or the beginning of several, and the answer to each request to it. Of several that fit the last one counts;
    /// what fits none is refused.
    #[must_use]
    pub fn answer(self, url: impl Into<String>, response: Response) -> Self {
        self.with(|state| state.answers.push((url.into(), Ok(response))))
    }

    /// The same for requests that fail.
    #[must_use]
    pub fn failing(self, url: impl Into<String>, error: HttpError) -> Self {
        self.with(|state| state.answers.push((url.into(), Err(error))))
    }

    /// A granted tool, and the result of each call of it.
    #[must_use]
    pub fn tool(self, name: impl Into<String>, result: ToolResult) -> Self {
        self.with(|state| drop(state.tools.insert(name.into(), result)))
    }

    /// The final set of tools, as in the second phase of `before_prompt_build`.
    #[must_use]
    pub fn allowed_tools<T: Into<String>>(self, names: impl IntoIterator<Item = T>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        self.with(|state| state.allowed_tools = Some(names))
    }

    /// The transcript that `session_end` can read, oldest message first.
    #[must_use]
    pub fn ended_transcript(self, messages: &[Value]) -> Self {
        let messages = messages.iter().map(Value::to_string).collect();
        self.with(|state| state.ended_transcript = Some(messages))
    }

    /// Runs a handler, or anything else, against this host. The same host may run several calls, one after the other: what it stores
    /// stays, as it would between instances of a plugin.
    pub fn run<T>(&self, call: impl FnOnce() -> T) -> T {
        let _entered = Entered::new(Rc::clone(&self.state));
        call()
    }

    /// The host no longer wants the result of calls.
    pub fn cancel(&self) {
        self.state.borrow_mut().cancelled = true;
    }

    /// Lets time pass, for keys with a time to live.
    pub fn advance(&self, time: Duration) {
        if let Some(store) = &mut self.state.borrow_mut().store {
            store.advance(time);
        }
    }

    /// What was sent so far, as it would have left the host: with secrets in place of their placeholders.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.state.borrow().requests.clone()
    }

    /// What was logged so far.
    #[must_use]
    pub fn logs(&self) -> Vec<LogRecord> {
        self.state.borrow().logs.clone()
    }

    /// The partial results that were shown so far.
    #[must_use]
    pub fn progress(&self) -> Vec<ToolResult> {
        self.state.borrow().progress.clone()
    }

    /// The messages that the plugin sent so far.
    #[must_use]
    pub fn messages(&self) -> Vec<Message> {
        self.state.borrow().messages.clone().unwrap_or_default()
    }

    /// The tool calls that the plugin made so far, each with its parameters.
    #[must_use]
    pub fn invoked(&self) -> Vec<(String, Value)> {
        self.state.borrow().invoked.clone()
    }

    /// A value in the key-value store. None: no such key, or not of this shape.
    #[must_use]
    pub fn stored<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let state = self.state.borrow();
        let value = state.store.as_ref()?.get(key)?;
        serde_json::from_slice(value).ok()
    }

    /// The plugin's value in a namespace of the session. None: nothing there, or not of this shape.
    #[must_use]
    pub fn session_value<T: DeserializeOwned>(&self, namespace: &str) -> Option<T> {
        let state = self.state.borrow();
        serde_json::from_str(state.session.as_ref()?.get(namespace)?).ok()
    }

    fn with(self, set: impl FnOnce(&mut State)) -> Self {
        set(&mut self.state.borrow_mut());
        self
    }
}

/// Runs `ask` on the host of this thread.
#[expect(clippy::panic, reason = "a test called a host function without a host; there is nobody to answer")]
pub(super) fn with_current<T>(function: &str, ask: impl FnOnce(&mut State) -> T) -> T {
    let current = CURRENT.with_borrow(Clone::clone);
    match current {
        Some(state) => ask(&mut state.borrow_mut()),
        None => panic!(
            "`{function}` was called outside a component and outside a test host; \
             wrap the call: creel_plugin::testing::Host::new().run(|| …)"
        ),
    }
}

/// The time inside [`Host::run`]; puts the host before back when it ends, by a panic too.
struct Entered {
    before: Option<Rc<RefCell<State>>>,
}

impl Entered {
    fn new(state: Rc<RefCell<State>>) -> Self {
        settings::forget();
        Self { before: CURRENT.replace(Some(state)) }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        settings::forget();
        CURRENT.set(self.before.take());
    }
}

#[cfg(test)]
mod tests;
