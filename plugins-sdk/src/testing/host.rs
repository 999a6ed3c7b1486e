//! The fake host: what a test sets up before a call and looks at after it.

use super::store::Store;
use crate::host::invocation::Trace;
use crate::host::log::Level;
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
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::{Host, Level};
    use crate::{HostError, ToolOutcome, ToolResult};
    use crate::{config, ended_transcript, invocation, kv, log, progress, session, tool_authority, tools};
    use serde_json::json;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;
    use std::time::Duration;

    #[test]
    fn without_a_host_the_message_says_what_to_do() {
        let panic = catch_unwind(|| kv::get::<u32>("k")).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.contains("`kv::get`"), "{text}");
        assert!(text.contains("testing::Host::new().run"), "{text}");
    }

    #[test]
    fn a_panic_inside_leaves_no_host_behind() {
        let host = Host::new();
        catch_unwind(AssertUnwindSafe(|| host.run(|| panic!("handler")))).unwrap_err();
        assert!(catch_unwind(invocation::depth).is_err());
    }

    #[test]
    fn hosts_nest() {
        let (outer, inner) = (Host::new().depth(1), Host::new().depth(2));
        outer.run(|| {
            assert_eq!(inner.run(invocation::depth), 2);
            assert_eq!(invocation::depth(), 1);
        });
    }

    #[test]
    fn settings_are_parsed_once_per_host() {
        let host = Host::new().config(json!(["a"]));
        host.run(|| {
            let first = config::<Vec<String>>().unwrap();
            assert!(Rc::ptr_eq(&first, &config::<Vec<String>>().unwrap()));
        });
        let other = Host::new().config(json!(["b"]));
        assert_eq!(*other.run(config::<Vec<String>>).unwrap(), ["b"]);
    }

    #[test]
    fn settings_of_another_shape_are_an_error() {
        let error = Host::new().run(config::<Vec<String>>).unwrap_err();
        assert!(error.to_string().starts_with("settings of the plugin: invalid type"), "{error}");
    }

    #[test]
    fn records_keep_level_text_and_fields() {
        let host = Host::new();
        host.run(|| {
            log::trace!("plain");
            log::error!(tool = "exec", code = 2; "failed after {} s", 3);
        });
        let logs = host.logs();
        assert_eq!((logs[0].level, logs[0].message.as_str()), (Level::Trace, "plain"));
        assert_eq!(logs[1].message, "failed after 3 s");
        let fields = [("tool".to_owned(), "exec".to_owned()), ("code".to_owned(), "2".to_owned())];
        assert_eq!(logs[1].fields, fields);
    }

    #[test]
    fn a_call_knows_its_time_and_its_end() {
        let host = Host::new().remaining(Duration::from_millis(250));
        assert_eq!(host.run(invocation::remaining), Duration::from_millis(250));
        assert!(!host.run(invocation::is_cancelled));
        host.cancel();
        assert!(host.run(invocation::is_cancelled));
    }

    #[test]
    fn session_values_live_in_a_session_only() {
        let host = Host::new();
        host.run(|| session::set("ns", &7)).unwrap();
        assert_eq!(host.session_value::<u32>("ns"), Some(7));
        assert_eq!(host.run(|| session::get::<u32>("ns")), Ok(Some(7)));
        host.run(|| session::remove("ns")).unwrap();
        assert_eq!(host.session_value::<u32>("ns"), None);
        let outside = Host::new().without_session();
        assert!(matches!(outside.run(|| session::get::<u32>("ns")), Err(HostError::NotFound(_))));
    }

    #[test]
    fn partial_results_are_kept_in_order() {
        let host = Host::new();
        host.run(|| {
            progress::update(&ToolResult::text("1"));
            progress::update(&ToolResult::text("2"));
        });
        assert_eq!(host.progress(), [ToolResult::text("1"), ToolResult::text("2")]);
    }

    #[test]
    fn authority_answers_in_its_phase_only() {
        let host = Host::new();
        assert!(matches!(host.run(|| tool_authority::allows("exec")), Err(HostError::Unavailable(_))));
        assert!(!host.run(tool_authority::is_active));
        let host = Host::new().allowed_tools(["read"]);
        assert_eq!(host.run(|| tool_authority::allows("exec")), Ok(false));
        assert_eq!(host.run(tool_authority::tools), Ok(vec!["read".to_owned()]));
    }

    #[test]
    fn tools_answer_if_they_are_granted() {
        let host = Host::new().tool("read", ToolResult::text("text"));
        host.run(|| {
            assert_eq!(tools::names(), ["read"]);
            let invoked = tools::invoke("read", &json!({ "path": "a" })).unwrap();
            assert_eq!((invoked.outcome, invoked.text().as_str()), (ToolOutcome::Ok, "text"));
            assert!(matches!(tools::invoke("exec", &json!({})), Err(HostError::Denied(_))));
            assert!(matches!(tools::invoke("read", &json!(["a"])), Err(HostError::Invalid(_))));
        });
        assert_eq!(host.invoked(), [("read".to_owned(), json!({ "path": "a" }))]);
    }

    #[test]
    fn the_tail_is_cut_by_number_and_by_size() {
        let message = |text: &str| json!({ "role": "user", "content": text });
        let host = Host::new().ended_transcript(&[message("a"), message("b"), message("c")]);
        let tail = host.run(|| ended_transcript::read_tail(2, 1000)).unwrap();
        let texts: Vec<_> = tail.messages.iter().map(crate::Message::text).collect();
        assert_eq!(texts, ["b", "c"]);
        assert_eq!((tail.total_messages, tail.truncated), (3, true));
        let size = u32::try_from(message("c").to_string().len()).unwrap();
        let tail = host.run(|| ended_transcript::read_tail(10, size)).unwrap();
        assert_eq!(tail.messages.len(), 1);
        assert!(matches!(host.run(|| ended_transcript::read_tail(0, 1)), Err(HostError::Invalid(_))));
        let elsewhere = Host::new().run(|| ended_transcript::read_tail(1, 1));
        assert!(matches!(elsewhere, Err(HostError::Unavailable(_))));
    }
}
