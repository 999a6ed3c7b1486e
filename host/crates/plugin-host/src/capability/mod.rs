//! What guests may call: one file per interface, each with a view (a short borrow of what the call needs), the host functions on it,
//! and a marker for the linker. Refusals that a guest can handle are answers; only broken contracts trap. What waits is
//! bounded by the edge of the call, which covers everything that a guest does.

pub(crate) mod config;
pub(crate) mod invocation;
pub(crate) mod kv;
pub(crate) mod log;
pub(crate) mod session_extension;
pub(crate) mod tool_progress;
pub(crate) mod unavailable;
pub(crate) mod wasi;

use std::future::Future;

use domain::ports::StateError;

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

fn from_state_error(error: StateError) -> HostError {
    match error {
        StateError::Invalid(text) => HostError::Invalid(text),
        StateError::Limit(text) => HostError::Limit(text),
        StateError::NotFound(text) => HostError::NotFound(text),
        StateError::Unavailable(text) => HostError::Unavailable(text),
    }
}
