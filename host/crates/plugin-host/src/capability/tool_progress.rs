//! `tool-progress`: partial results of a running tool. Elsewhere it does nothing. Never blocks: when updates come faster than the host
//! shows them, the newest one counts.

use domain::tool::ToolResult;
use tokio::sync::watch;

use super::capability;
use crate::bindings::creel::plugin::tool_progress;
use crate::convert::result;
use crate::state::State;

/// Where partial results go.
pub(crate) struct ToolProgressView<'a> {
    sender: Option<&'a watch::Sender<Option<ToolResult>>>,
}

capability! {
    /// `creel:plugin/tool-progress`.
    ToolProgress => ToolProgressView
}

impl State {
    pub(crate) fn tool_progress(&mut self) -> ToolProgressView<'_> {
        ToolProgressView { sender: self.call.progress.as_ref() }
    }
}

impl tool_progress::Host for ToolProgressView<'_> {
    fn update(&mut self, partial: tool_progress::ToolResult) {
        let Some(sender) = self.sender else { return };
        // A partial result that does not parse shows nothing; the final one is where that counts.
        if let Ok(partial) = result::from_wit(partial) {
            sender.send_replace(Some(ToolResult { terminate: false, ..partial }));
        }
    }
}
