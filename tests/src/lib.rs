//! What the system tests share. A test describes a [`World`] (configuration, plugins, turns of the model), starts the real host in it,
//! talks to it, and looks at what every edge saw: model, channel, transcript, log, storage, and the plugins themselves.
//!
//! Only the edges are of the tests: the model plays a script, the channel and the reviewer remember. Everything between is what the
//! binary runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod calls;
mod channel;
mod guest;
mod host;
mod journal;
mod log;
mod models;
mod plugin;
mod probe;
mod reviewer;
mod script;
mod world;

pub use calls::Call;
pub use channel::CHANNEL;
pub use guest::Guest;
pub use host::Host;
pub use journal::{Entry, Journal};
pub use log::{Log, LogLine};
pub use plugin::{Handler, Plugin, on, tool};
pub use probe::PROBE;
pub use reviewer::Answer;
pub use script::{Turn, call, fail, say};
pub use world::World;
