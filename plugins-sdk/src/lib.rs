//! Write Creel plugins: hooks are methods of one trait, host functions are plain calls, and tests run natively.
//!
//! A plugin is a WebAssembly component with a manifest. It exports the hooks that it handles and imports the host functions that it
//! calls; an operator sees both before any of its code runs.
//!
//! # A plugin in five minutes
//!
//! ```sh
//! cargo new --lib no-force && cd no-force
//! cargo add creel-plugin --path …/plugins-sdk
//! ```
//!
//! `Cargo.toml` also gets `[lib] crate-type = ["cdylib", "rlib"]`: one for the component, one for the tests. `src/lib.rs`:
//!
//! ```
//! use creel_plugin::prelude::*;
//!
//! struct NoForce;
//!
//! #[plugin]
//! impl Plugin for NoForce {
//!     fn before_tool_call(_: &Call, event: BeforeToolCallEvent, _: ToolContext) -> Result<ToolDecision> {
//!         let params = event.params_value()?;
//!         let command = params["command"].as_str().unwrap_or_default();
//!         if event.tool_name == "exec" && command.contains("push --force") {
//!             return Ok(ToolDecision::block("force pushes are not allowed here"));
//!         }
//!         Ok(ToolDecision::pass())
//!     }
//! }
//!
//! // A unit test, run by `cargo test` like any other.
//! use creel_plugin::testing::{context, event};
//! let call = event::before_tool_call("exec", &json!({ "command": "git push --force" }));
//! let decision = NoForce::before_tool_call(&Call::default(), call, context::tool())?;
//! assert_eq!(decision, ToolDecision::block("force pushes are not allowed here"));
//! # Ok::<(), Error>(())
//! ```
//!
//! The manifest, `creel.plugin.json`, says what the plugin is called and how its hooks are registered:
//!
//! ```json
//! {
//!   "id": "no-force",
//!   "component": "no_force.wasm",
//!   "configSchema": { "type": "object", "additionalProperties": false },
//!   "hooks": [{ "hook": "before_tool_call", "matcher": ["exec"] }],
//!   "activation": { "onStartup": true }
//! }
//! ```
//!
//! `cargo build --release --target wasm32-wasip2` makes the component, `target/wasm32-wasip2/release/no_force.wasm` (cargo turns dashes
//! into underscores); put it beside the manifest. `docs/plugins.md` of the repository goes on from there, to a run in which it acts.
//!
//! # Where things are
//!
//! | You want | Look at |
//! | --- | --- |
//! | the hooks, one method each | [`Plugin`] |
//! | what they are given, what they answer | [`event`], [`decision`] |
//! | settings of the operator | [`config`](config()) |
//! | state that lasts | [`kv`], and [`session`] for one conversation |
//! | the host's log | [`log`] |
//! | time left, cancellation, trace | [`invocation`] |
//! | a tool of your own | [`Plugin::list_tools`], [`Tool`], [`progress`] |
//! | tests | [`testing`] |
//!
//! # What to know
//!
//! - `#[plugin]` exports the methods that stand in the block and no others. A guard that calls no host function imports none.
//! - An instance serves one agent run at most, unless the manifest asks for more: statics and thread-locals are a cache.
//! - A handler that fails blocks in the three gates `before_tool_call`, `before_agent_run` and `before_install`; elsewhere the
//!   host goes on without it. A panic is a failure, and costs the instance.
//! - A plugin cannot say who it is: no answer has a plugin id, the host stamps it.

mod adapter;
mod bindings;
mod call;
pub mod decision;
mod document;
mod error;
pub mod event;
mod host;
mod json_text;
mod plugin;
pub mod prelude;
#[cfg(not(target_family = "wasm"))]
pub mod testing;
mod tool;

pub use crate::call::Call;
pub use crate::decision::*;
pub use crate::document::{Message, Payload};
pub use crate::error::{Error, HostError, Result};
pub use crate::event::*;
pub use crate::host::settings::config;
pub use crate::host::{
    ended_transcript, http, invocation, kv, log, messages, progress, secrets, session, sessions, tool_authority, tools,
};
pub use crate::plugin::Plugin;
pub use crate::tool::{ActiveModel, ContentBlock, Image, Tool, ToolCall, ToolOutcome, ToolResult, ToolScope};

pub use creel_plugin_macros::plugin;
pub use serde_json::{self, json};

/// What `#[plugin]` refers to. Not for plugins: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::adapter::{Adapter, assert_plugin};
    pub use crate::bindings::*;
}
