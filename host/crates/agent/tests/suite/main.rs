//! Whole turns of the loop over fakes. Each test is a conversation: what the model says, what plugins and people do, and what is left in
//! the transcript, in the next request, in the event stream and in the channel.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod approvals;
mod claims;
mod deadlines;
mod delivery;
mod exits;
mod history;
mod passes;
mod persist;
mod prompts;
mod sessions;
mod stops;
mod streams;
mod support;
mod tools;
mod turns;
