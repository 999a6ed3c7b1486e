//! The binary's parts: where adapters meet ports ([`wiring`]), what the command line can do ([`commands`]), and how it speaks to a person
//! ([`terminal`]). A library so that the system tests start exactly what the binary starts. Nothing here decides what a run does.

pub mod args;
pub mod commands;
pub mod control;
pub mod exit;
pub mod install;
pub mod logging;
pub mod process;
pub mod system;
pub mod terminal;
pub mod wiring;
