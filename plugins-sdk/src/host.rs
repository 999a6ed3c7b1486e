//! Host functions as plain calls.
//!
//! In a component they are imports, and only those that the plugin calls are there: what it imports is what it asks the operator
//! for. Natively they go to the fake host of [`testing`](crate::testing).

pub mod ended_transcript;
pub mod http;
pub mod invocation;
pub mod kv;
pub mod log;
pub mod messages;
pub mod progress;
pub mod secrets;
pub mod session;
pub mod sessions;
pub(crate) mod settings;
pub mod tool_authority;
pub mod tools;

#[cfg(not(target_family = "wasm"))]
use crate::testing::backend;
/// The host behind the functions: the imports of the component, or the fake of the running test.
#[cfg(target_family = "wasm")]
use component as backend;

#[cfg(target_family = "wasm")]
mod component;
#[cfg(target_family = "wasm")]
mod component_http;
