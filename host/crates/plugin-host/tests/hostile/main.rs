//! Hostile guests. Each test is one row: a plugin that misbehaves in one way, put through a whole trial ([`trial`]). A row proves that the
//! plugin's own call ends within its budget with the right fault, that its gate blocks and its other hooks are passed over, that one line
//! of the log names it, that a second session is answered meanwhile on the one thread there is, and that the host's memory returns.
//!
//! One file per family. `docs/security.md` refers to the rows by name. What needs the standard library of a guest (files, sockets, names
//! of hosts) is in `tests/suite/probing.rs` of the repository, compile bombs are in `host/tests/cli/compilation.rs`.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod answers;
mod cache;
mod handles;
mod hostile;
mod kv;
mod log;
mod loops;
mod manifest;
mod memory;
mod probing;
mod reentry;
mod second_session;
mod stack;
mod trial;
mod values;
mod waiting;
mod wasi;

#[path = "../suite/guest.rs"]
#[allow(dead_code, reason = "shared with the suite")]
mod guest;
#[path = "../suite/logs.rs"]
#[allow(dead_code, reason = "shared with the suite")]
mod logs;
#[path = "../suite/ports.rs"]
#[allow(dead_code, reason = "shared with the suite")]
mod ports;
#[path = "../suite/rig.rs"]
#[allow(dead_code, reason = "shared with the suite")]
mod rig;
