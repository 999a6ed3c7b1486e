//! Events, answers and merge rules, one file per hook that decides; hooks that only watch share [`observed`].

pub mod agent_turn_prepare;
pub mod before_agent_finalize;
pub mod before_agent_reply;
pub mod before_agent_run;
pub mod before_agent_start;
pub mod before_install;
pub mod before_message_write;
pub mod before_model_resolve;
pub mod before_prompt_build;
pub mod before_tool_call;
pub mod message_sending;
pub mod observed;
pub mod reply_payload_sending;
pub mod resolve_exec_env;
pub mod tool_result_persist;

use domain::JsonText;

/// Messages of a session as plugins see them: one JSON object each, rendered once and shared.
pub type Messages = std::sync::Arc<[JsonText]>;

/// An id that a channel gives as text or as a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelRef {
    /// Text.
    Text(String),
    /// A whole number.
    Num(i64),
}

/// A short form of a text for traces.
pub(crate) fn excerpt(text: &str) -> String {
    crate::fault::one_line(text, 80)
}
