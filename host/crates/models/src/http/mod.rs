//! HTTP towards providers: one request with its repeats, a bounded and watched body, and server-sent events out of it. Nothing here
//! knows what an event means.

mod body;
mod client;
mod events;
mod failure;
mod lines;
mod meter;
mod redact;
mod retry;
mod watch;

pub(crate) use body::{Body, BodyFault};
pub(crate) use client::Target;
pub(crate) use events::{Event, EventReader};
pub(crate) use failure::Blame;
pub(crate) use meter::Meter;
pub(crate) use retry::Outgoing;
pub(crate) use watch::Watch;
