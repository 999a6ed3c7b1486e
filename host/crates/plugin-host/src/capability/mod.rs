//! What guests may call: one file per interface, each with a view (a short borrow of what the call needs), the host functions on it,
//! and a marker for the linker. Refusals that a guest can handle are answers; only broken contracts trap. What waits is
//! bounded by the edge of the call, which covers everything that a guest does.

pub(crate) mod config;
pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod invocation;
pub(crate) mod io_errors;
pub(crate) mod kv;
pub(crate) mod log;
pub(crate) mod messages_send;
pub(crate) mod secrets;
pub(crate) mod session_extension;
pub(crate) mod sessions_read;
pub(crate) mod tool_progress;
pub(crate) mod tools_invoke;
pub(crate) mod unavailable;
pub(crate) mod wasi;

use std::future::Future;
use std::sync::{Arc, Weak};

use domain::PluginId;
use domain::ports::StateError;
use domain::services::RunServices;
use hooks::handler::MAX_CHAIN_DEPTH;

use crate::bindings::creel::plugin::types::HostError;
use crate::state::Call;

/// A marker for the linker whose view is `$view<'_>`.
macro_rules! capability {
    ($(#[$doc:meta])* $marker:ident => $view:ident) => {
        $(#[$doc])*
        pub(crate) struct $marker;

        impl wasmtime::component::HasData for $marker {
            type Data<'a> = $view<'a>;
        }
    };
}
pub(crate) use capability;

/// Waits for a store, and says what went wrong in the guest's terms. A guest whose call is cancelled meanwhile hears of it at once, so
/// that it can leave; one whose time is up hears nothing more, since the edge of the call ends it.
async fn within<T>(call: &Call, work: impl Future<Output = Result<T, StateError>> + Send) -> Result<T, HostError> {
    let cancelled = async {
        match call.cancel() {
            Some(cancel) => cancel.cancelled().await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = cancelled => Err(HostError::Cancelled),
        result = work => result.map_err(from_state_error),
    }
}

/// What the run of a call does for plugins.
fn services(call: &Call) -> Result<Arc<dyn RunServices>, HostError> {
    let services = call.services.as_ref().and_then(Weak::upgrade);
    services.ok_or_else(|| HostError::Unavailable("this call belongs to no run that goes on".to_owned()))
}

/// The chain of what a plugin starts out of a call. It ends before handlers would be left out because it is too deep: a guard must never
/// be passed over that way.
fn further_chain(call: &Call, plugin: &PluginId) -> Result<Vec<PluginId>, HostError> {
    let chain: Vec<PluginId> = call.chain.iter().chain([plugin]).cloned().collect();
    if chain.len() < MAX_CHAIN_DEPTH {
        return Ok(chain);
    }
    Err(HostError::Limit(format!("calls of plugins inside one another are {MAX_CHAIN_DEPTH} deep already")))
}

fn from_state_error(error: StateError) -> HostError {
    match error {
        StateError::Invalid(text) => HostError::Invalid(text),
        StateError::Limit(text) => HostError::Limit(text),
        StateError::NotFound(text) => HostError::NotFound(text),
        StateError::Unavailable(text) => HostError::Unavailable(text),
    }
}
