//! The plugin host against real components: small guests written as text, encoded against the contract in `wit/`, called through the
//! dispatcher as the agent does it.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod answers;
mod capabilities;
mod faults;
mod guest;
mod lifetimes;
mod limits;
mod loading;
mod logs;
mod ports;
mod reload;
mod rig;
mod sessions_read;
mod tools;
