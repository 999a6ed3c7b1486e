//! The port behind which a plugin's handler stands, and what the host tells it about one call.

use std::sync::Arc;
use std::time::Duration;

use domain::cancel::Cancel;
use domain::ports::RunScope;
use domain::{PluginId, SessionKey};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use crate::fault::Fault;
use crate::point::{HookCall, HookReply};

/// Deepest chain of plugin calls inside one another (plugin-hooks 1.4, nested dispatch).
pub const MAX_CHAIN_DEPTH: usize = 4;

/// A place in a distributed trace, in the parts of a W3C `traceparent`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// 32 hex digits.
    pub trace_id: String,
    /// 16 hex digits: the span of this call.
    pub span_id: Option<String>,
    /// 16 hex digits: the span around it.
    pub parent_span_id: Option<String>,
    /// 2 hex digits.
    pub trace_flags: Option<String>,
}

/// Facts about one call of one handler.
#[derive(Debug, Clone)]
pub struct HookInvocation<'a> {
    /// Name of the handler in the manifest; empty: the entry has none.
    pub handler: &'a str,
    /// When the host stops waiting. Covers instantiation, guest code and the host calls it makes.
    pub deadline: Instant,
    /// How long that is in all; for messages.
    pub budget: Duration,
    /// The run that the call belongs to; its instances live as long as it.
    pub run: Option<&'a RunScope>,
    /// The session that the call belongs to.
    pub session_key: Option<&'a SessionKey>,
    /// Asks the run to stop.
    pub cancel: &'a Cancel,
    /// Plugins whose calls are around this one, outermost first.
    pub chain: &'a [PluginId],
    /// The trace of this call.
    pub trace: Option<&'a TraceContext>,
}

/// One handler of one plugin.
pub trait Handler: Send + Sync {
    /// Makes one call. Dropping the future must throw away whatever the call was working on.
    fn call<'a>(&'a self, call: HookCall<'a>, invocation: &'a HookInvocation<'a>) -> BoxFuture<'a, Result<HookReply, Fault>>;
}

impl<T: Handler + ?Sized> Handler for Arc<T> {
    fn call<'a>(&'a self, call: HookCall<'a>, invocation: &'a HookInvocation<'a>) -> BoxFuture<'a, Result<HookReply, Fault>> {
        (**self).call(call, invocation)
    }
}
