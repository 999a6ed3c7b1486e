//! Who owns a session. A run id alone does not say whether its process still lives, so an owner token is stored beside it: the
//! process, told apart by its start, and a nonce of the store that began the run. A store that was dropped, or a process that is gone,
//! owns nothing, so that a crash never blocks a session for ever (sessions 3.3, 3.6).
//!
//! Limit: a process is looked up among those that this one can see. Two containers that share a state directory take each other for
//! gone; the fence still keeps their rows apart, and the run that was passed over is refused.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::process::ProcessIdentity;

/// Nonces of the stores that live in this process. Process-wide on purpose: it answers what this process holds.
static LIVE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The owner side of one store. While it lives, what it owns counts as held.
#[derive(Debug)]
pub(crate) struct Owner {
    token: String,
    nonce: String,
}

/// The token as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Token {
    pid: u32,
    start: u64,
    boot: String,
    nonce: String,
}

impl Owner {
    /// A new owner in this process.
    pub(crate) fn register() -> Self {
        let process = ProcessIdentity::own();
        let token =
            Token { pid: process.pid, start: process.start, boot: process.boot, nonce: Uuid::now_v7().simple().to_string() };
        live().insert(token.nonce.clone());
        // Numbers and texts always render.
        Self { token: serde_json::to_string(&token).unwrap_or_default(), nonce: token.nonce }
    }

    /// The text to store.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        live().remove(&self.nonce);
    }
}

/// Whether the owner behind a stored token still lives. A token that cannot be read belongs to nobody.
pub(crate) fn is_alive(token: &str) -> bool {
    let Ok(Token { pid, start, boot, nonce }) = serde_json::from_str(token) else { return false };
    let process = ProcessIdentity { pid, start, boot };
    if process == ProcessIdentity::own() { live().contains(&nonce) } else { process.is_running() }
}

/// The owner in words.
pub(crate) fn describe(token: &str) -> String {
    match serde_json::from_str::<Token>(token) {
        Ok(token) => format!("process {}", token.pid),
        Err(_) => "an unknown process".to_owned(),
    }
}

fn live() -> MutexGuard<'static, BTreeSet<String>> {
    // The set holds no invariant that a panic could break half way.
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn an_owner_lives_as_long_as_its_store() {
        let owner = Owner::register();
        let token = owner.token().to_owned();
        assert!(is_alive(&token));
        assert_eq!(describe(&token), format!("process {}", std::process::id()));
        drop(owner);
        assert!(!is_alive(&token), "the process lives, but what held the session does not");
    }

    #[test]
    fn an_owner_of_a_process_with_the_same_id_but_another_start_is_gone() {
        let owner = Owner::register();
        let mut token: Token = serde_json::from_str(owner.token()).unwrap();
        token.start += 1;
        assert!(!is_alive(&serde_json::to_string(&token).unwrap()));
    }

    #[test]
    fn a_token_that_cannot_be_read_holds_nothing() {
        for bad in ["", "null", "{", "{\"pid\":-1}", "{\"pid\":1}"] {
            assert!(!is_alive(bad), "{bad}");
        }
    }
}
