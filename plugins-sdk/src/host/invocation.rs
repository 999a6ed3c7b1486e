//! Facts about the call that is being served: time left, cancellation, depth, trace.
//!
//! ```
//! use creel_plugin::{Result, invocation};
//!
//! fn scan(files: &[&str]) -> Result<usize> {
//!     let mut seen = 0;
//!     for _file in files {
//!         if invocation::is_cancelled() {
//!             break;
//!         }
//!         seen += 1;
//!     }
//!     Ok(seen)
//! }
//! # let host = creel_plugin::testing::Host::new();
//! # assert_eq!(host.run(|| scan(&["a", "b"]))?, 2);
//! # host.cancel();
//! # assert_eq!(host.run(|| scan(&["a", "b"]))?, 0);
//! # Ok::<(), creel_plugin::Error>(())
//! ```

use super::backend;
use std::time::Duration;

pub use crate::bindings::host::creel::plugin::invocation::Trace;

/// True once the host no longer wants the result. Ask between slow steps; a guest that goes on is interrupted.
#[must_use]
pub fn is_cancelled() -> bool {
    backend::is_cancelled()
}

/// Time until the host interrupts this call.
#[must_use]
pub fn remaining() -> Duration {
    Duration::from_millis(u64::from(backend::remaining_ms()))
}

/// How many plugin calls are around this one; 0: none. Host functions that would start a chain deeper than 4 fail.
#[must_use]
pub fn depth() -> u32 {
    backend::depth()
}

/// Place of this call in a distributed trace. None: tracing is off, or the event has none.
#[must_use]
pub fn trace() -> Option<Trace> {
    backend::trace()
}
