//! `invocation`: facts about the call that the instance serves right now.

use tokio::time::Instant;

use super::capability;
use crate::bindings::creel::plugin::invocation;
use crate::state::{Call, State};

/// The call.
pub(crate) struct InvocationView<'a> {
    call: &'a Call,
}

capability! {
    /// `creel:plugin/invocation`.
    Invocation => InvocationView
}

impl State {
    pub(crate) fn invocation(&mut self) -> InvocationView<'_> {
        InvocationView { call: &self.call }
    }
}

impl invocation::Host for InvocationView<'_> {
    fn is_cancelled(&mut self) -> bool {
        self.call.is_cancelled() || Instant::now() >= self.call.deadline
    }

    fn remaining_ms(&mut self) -> u32 {
        let remaining = self.call.deadline.saturating_duration_since(Instant::now());
        u32::try_from(remaining.as_millis()).unwrap_or(u32::MAX)
    }

    fn depth(&mut self) -> u32 {
        u32::try_from(self.call.chain.len()).unwrap_or(u32::MAX)
    }

    fn current_trace(&mut self) -> Option<invocation::Trace> {
        self.call.trace.as_ref().map(|trace| invocation::Trace {
            trace_id: trace.trace_id.clone(),
            span_id: trace.span_id.clone(),
            parent_span_id: trace.parent_span_id.clone(),
            trace_flags: trace.trace_flags.clone(),
        })
    }
}
