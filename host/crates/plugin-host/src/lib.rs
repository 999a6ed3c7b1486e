//! Plugins as sandboxed WebAssembly components: found, described, checked and granted without running anything of them, then compiled,
//! linked and called under limits. The only crate that knows wasmtime; no type of it leaves.
//!
//! Two halves. Up to the [`plan`] nothing of wasmtime is used: [`discovery`], [`manifest`], [`inspect`], [`grant`], [`enablement`]. From
//! the plan on, [`PluginHost`] makes handlers and tools of components. Three things hold for all of it:
//! - a guest reaches what the operator granted and nothing else: there is no other function to call;
//! - one deadline covers everything that a call does, and an instance that did not return cleanly is never used again;
//! - what a guest says (answers, errors, log lines, names) is checked, bounded and never trusted.

pub mod compile;
pub mod discovery;
pub mod embedded;
pub mod enablement;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod grant;
pub mod inspect;
pub mod limits;
pub mod manifest;
pub mod package;
pub mod plan;
pub mod schema;

mod bindings;
mod cache;
mod capability;
mod convert;
mod engine;
mod error;
mod export;
mod fault;
mod guest_log;
mod handler;
mod host;
mod instance;
mod limiter;
mod linker;
mod loader;
mod log_rate;
mod ready;
mod seeded;
mod served;
mod state;
#[cfg(test)]
mod test_support;
mod ticker;
mod told;
mod tool;
mod usage;

pub use cache::{CacheError, ComponentDigest, forget_component};
pub use engine::{
    DEFAULT_LIVE_INSTANCES, DEFAULT_STACK_BYTES, DEFAULT_TICK, EngineError, EngineSettings, MAX_STACK_BYTES, MIN_STACK_BYTES,
};
pub use error::StartError;
pub use export::Misfit;
pub use host::{HostSettings, LoadedPlugins, PluginHost, Serves, StartReport};
pub use loader::{LoadProgress, LoadStep};
pub use ready::ReadyPlugin;
pub use served::Served;
pub use state::Ports;
pub use ticker::TickerError;
pub use usage::{Meter, PluginUsage, Usage};
