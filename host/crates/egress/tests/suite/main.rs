//! Requests from end to end: against real TCP servers on this machine, and against servers in memory where time must stand still.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod deadlines;
mod limits;
mod protocol;
mod rebinding;
mod redirects;
mod secrets;
mod sending;
mod support;
mod tls;
mod urls;
