//! Models: the built-in `offline` provider and a streaming client for OpenAI-compatible chat completions, behind the ports of
//! `domain::model`. A [`Registry`] holds them all. This crate never repairs a history, never chooses a model and never falls back to
//! another one: the agent does. It says what is wrong with a request instead of sending it.
//!
//! # Offline
//! - `offline/echo` answers with the last text of the user.
//! - `offline/script` plays a file of model turns and checks every request; further lists in the file are further models, such as
//!   `offline/fast`. The file is described in `SCRIPT.md`, next to this crate's manifest.
//!
//! Both report tokens as an estimate: characters of all texts divided by four.
//!
//! # Over HTTP
//! A provider is described by [`ProviderSettings`]. Failures arrive as the last event of a stream, with a class
//! (`domain::model::FailureClass`), the text said so far, and a sentence that names provider, cause and, where there is one, the
//! configuration key. No sentence holds the key or a header's value.

mod call_ids;
mod classify;
mod completions;
mod draft;
mod endpoint;
mod http;
mod idle;
mod offline;
mod pairing;
mod problem;
mod registry;
mod settings;
mod tool_names;

pub use completions::{API as COMPLETIONS_API, CompletionsClient};
pub use endpoint::EndpointClass;
pub use offline::{PROVIDER as OFFLINE_PROVIDER, Script, ScriptError};
pub use pairing::{PairingFault, check_pairing};
pub use problem::ProviderProblem;
pub use registry::Registry;
pub use settings::{Compat, ModelSettings, ProviderSettings, RetryPolicy, Secret, StreamLimits, Timeouts};
