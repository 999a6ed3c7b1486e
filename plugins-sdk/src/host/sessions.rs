//! Reading sessions and transcripts; asks for the grant `sessionsRead`, by agent.
//!
//! ```
//! use creel_plugin::testing::Host;
//! use creel_plugin::{Result, json, sessions};
//!
//! fn last_words(key: &str) -> Result<String> {
//!     let tail = sessions::read_tail(key, 1, 100_000)?;
//!     Ok(tail.messages.first().map(|message| message.text()).unwrap_or_default())
//! }
//! # fn main() -> Result<()> {
//! let host = Host::new().session("agent:main:main", &[json!({ "role": "user", "content": "hello" })]);
//! assert_eq!(host.run(|| last_words("agent:main:main"))?, "hello");
//! assert_eq!(host.run(|| sessions::list(&sessions::Filter::default()))?.len(), 1);
//! # Ok(())
//! # }
//! ```

use super::backend;
use super::ended_transcript::{Tail, tail_of};
use crate::error::HostError;

pub use crate::bindings::host::creel::plugin::sessions_read::{Filter, Session};

/// Sessions that [`list`] fetches at once: what the host gives at most.
const SESSIONS_PER_PAGE: u32 = 200;

impl Default for Filter {
    /// All sessions of every granted agent.
    fn default() -> Self {
        Self { agent_id: None, key_prefix: None, updated_since: None }
    }
}

/// All sessions that fit, newest change first.
///
/// # Errors
/// The agent that the filter names is not granted.
pub fn list(filter: &Filter) -> Result<Vec<Session>, HostError> {
    let mut sessions = Vec::new();
    let mut cursor = None;
    loop {
        let (page, next) = backend::list_sessions(filter, cursor.as_deref(), SESSIONS_PER_PAGE)?;
        sessions.extend(page);
        if next.is_none() {
            return Ok(sessions);
        }
        cursor = next;
    }
}

/// One session. None: there is no such key.
///
/// # Errors
/// Not a valid key, or its agent is not granted.
pub fn get(session_key: &str) -> Result<Option<Session>, HostError> {
    backend::get_session(session_key)
}

/// The last messages of a session, at most `max_messages` of them and `max_bytes` of JSON text; both above 0. The host has limits of its
/// own.
///
/// # Errors
/// No such session, its agent is not granted, or a limit is 0.
pub fn read_tail(session_key: &str, max_messages: u32, max_bytes: u32) -> Result<Tail, HostError> {
    tail_of(&backend::session_tail(session_key, max_messages, max_bytes)?)
}
