//! The whole chain on a real disk: what is installed, what stops it, and what a fault or a crash at any moment leaves.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod chain;
mod crash;
mod lockfile;
mod signing;
