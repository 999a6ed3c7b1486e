//! The system tests: the whole host, real components, one binary. Each module is about one subject; the functions named
//! `hooks_<number>_…` are the conformance cases of that number.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod access;
mod approvals;
mod circuit;
mod crash;
mod env;
mod examples;
mod faults;
mod fields;
mod files;
mod finalize;
mod http;
mod install;
mod load;
mod message;
mod messages_send;
mod model;
mod order;
mod persist;
mod probing;
mod prompt;
mod reply;
mod run_gate;
mod session;
mod sessions_read;
mod surroundings;
mod tools;
mod tools_invoke;

use system_tests::Plugin;

/// The guests. One that no test uses does not compile.
#[deny(dead_code)]
mod guests {
    use system_tests::Guest;

    include!(concat!(env!("OUT_DIR"), "/guests.rs"));
}

/// A plugin made of the scripted guest.
fn script(id: &str) -> Plugin {
    Plugin::scripted(id, guests::HOOK_SCRIPT)
}
