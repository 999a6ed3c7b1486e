//! The words of Creel: ids, session keys, messages, tools, payloads, events, and the ports behind which everything that does I/O
//! stands. This crate never does I/O, never reads a clock and never knows which adapter serves a port.

pub mod approval;
pub mod cancel;
pub mod circuit;
pub mod event;
pub mod growing_text;
pub mod ids;
pub mod json;
pub mod message;
pub mod model;
pub mod payload;
pub mod ports;
pub mod services;
pub mod session;
pub mod session_key;
pub mod silent;
pub mod tool;

#[cfg(any(test, feature = "test-support"))]
pub mod test_support;

pub use ids::{AgentId, CallId, ModelCallId, PluginId, RunId, SessionId};
pub use json::JsonText;
pub use session_key::SessionKey;
