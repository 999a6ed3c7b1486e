//! `tool-authority` and `ended-transcript`: interfaces that work during one hook only and that this version of the host does not feed
//! yet. They are linked, so that a plugin that imports them loads, and every question is answered with `unavailable`.

use super::capability;
use crate::bindings::creel::plugin::{ended_transcript, tool_authority, types, types::HostError};
use crate::state::State;

/// Nothing.
pub(crate) struct UnavailableView<'a> {
    _call: std::marker::PhantomData<&'a ()>,
}

capability! {
    /// `creel:plugin/tool-authority` and `creel:plugin/ended-transcript`.
    Unavailable => UnavailableView
}

impl State {
    pub(crate) fn unavailable(&mut self) -> UnavailableView<'_> {
        UnavailableView { _call: std::marker::PhantomData }
    }
}

fn unavailable(what: &str) -> HostError {
    HostError::Unavailable(format!("{what} is not available during this call"))
}

impl tool_authority::Host for UnavailableView<'_> {
    fn allows(&mut self, _tool_name: String) -> Result<bool, HostError> {
        Err(unavailable("the final set of tools"))
    }

    fn list_tools(&mut self) -> Result<Vec<String>, HostError> {
        Err(unavailable("the final set of tools"))
    }

    fn is_active(&mut self) -> bool {
        false
    }
}

impl ended_transcript::Host for UnavailableView<'_> {
    fn read_tail(&mut self, _max_messages: u32, _max_bytes: u32) -> Result<ended_transcript::TranscriptTail, HostError> {
        Err(unavailable("an ended transcript"))
    }
}

// Types only; linked because a component may name the interface.
impl types::Host for UnavailableView<'_> {}
