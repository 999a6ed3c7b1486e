//! Which registration of a plugin is being called.

/// The call of a handler: facts that are the same for every hook.
///
/// A manifest may name several handlers of one hook, each with a priority and a matcher of its own; the host passes the name:
///
/// ```
/// use creel_plugin::prelude::*;
///
/// struct Guard;
/// impl Plugin for Guard {
///     fn before_tool_call(call: &Call, _: BeforeToolCallEvent, _: ToolContext) -> Result<ToolDecision> {
///         match call.handler() {
///             "audit" => Ok(ToolDecision::pass()),
///             _ => Ok(ToolDecision::block("not allowed here")),
///         }
///     }
/// }
/// ```
///
/// Time left, cancellation and the place in a trace are asked for, in [`invocation`](crate::invocation).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Call {
    handler: String,
}

impl Call {
    /// A call of the handler with this name; for tests. `Call::default()` is that of a manifest entry without a name.
    pub fn new(handler: impl Into<String>) -> Self {
        Self { handler: handler.into() }
    }

    /// Name from the manifest entry; empty if that has none.
    #[must_use]
    pub fn handler(&self) -> &str {
        &self.handler
    }
}
