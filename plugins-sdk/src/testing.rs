//! A host for unit tests: plugins run natively under `cargo test`, against a fake that behaves as the contract says.
//!
//! ```
//! use creel_plugin::prelude::*;
//! use creel_plugin::testing::{self, Host};
//!
//! struct Guard;
//! impl Plugin for Guard {
//!     fn before_tool_call(_: &Call, event: BeforeToolCallEvent, _: ToolContext) -> Result<ToolDecision> {
//!         let forbidden = config::<Vec<String>>()?;
//!         if !forbidden.contains(&event.tool_name) {
//!             return Ok(ToolDecision::pass());
//!         }
//!         log::warn!(tool = event.tool_name; "blocked");
//!         Ok(ToolDecision::block("not here"))
//!     }
//! }
//!
//! let host = Host::new().config(json!(["exec"]));
//! let event = testing::event::before_tool_call("exec", &json!({ "command": "ls" }));
//! let decision = host.run(|| Guard::before_tool_call(&Call::default(), event, testing::context::tool()))?;
//! assert_eq!(decision, ToolDecision::block("not here"));
//! assert_eq!(host.logs()[0].message, "blocked");
//! # Ok::<(), creel_plugin::Error>(())
//! ```
//!
//! Every test has a host of its own: nothing is shared between threads, and nothing is left when it is dropped. The module does not
//! exist in a component.

pub(crate) mod backend;
pub mod context;
pub mod event;
mod host;
mod store;

pub use host::{Host, LogRecord};
