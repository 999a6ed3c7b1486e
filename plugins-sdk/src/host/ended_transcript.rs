//! The transcript of a session that has just ended.
//!
//! It works during `session_end`, if the event says that it does; elsewhere the answer is [`HostError::Unavailable`].

use super::backend;
use crate::bindings::host::creel::plugin::types::TranscriptTail;
use crate::document::Message;
use crate::error::{HostError, Result};

/// The last messages of a transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct Tail {
    /// Messages in transcript order.
    pub messages: Vec<Message>,
    /// Messages in the whole transcript.
    pub total_messages: u32,
    /// True: a limit left older messages out.
    pub truncated: bool,
}

/// The last messages, at most `max_messages` of them and `max_bytes` of JSON text; both above 0.
///
/// # Errors
/// There is nothing to read here, or a limit is 0.
pub fn read_tail(max_messages: u32, max_bytes: u32) -> Result<Tail, HostError> {
    tail_of(&backend::ended_tail(max_messages, max_bytes)?)
}

pub(super) fn tail_of(tail: &TranscriptTail) -> Result<Tail, HostError> {
    let messages = tail
        .messages
        .iter()
        .map(|text| Message::parse(text).map_err(|error| HostError::Shape(error.into_text())))
        .collect::<Result<_, _>>()?;
    Ok(Tail { messages, total_messages: tail.total_messages, truncated: tail.truncated })
}
