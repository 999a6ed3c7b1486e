//! Tests of the session store through its public API and its files: what a row looks like, who may write, what survives a crash, and
//! what damaged files lead to. Child processes are this test binary again, see `support::child`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod circuits;
mod crash;
mod damage;
mod export;
mod extensions;
mod fence;
mod kv;
mod model;
mod reading;
mod sent_keys;
mod store;
mod support;
