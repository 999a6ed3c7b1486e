//! The plugin hooks of Creel: which there are, what they carry, in which order handlers run, how answers merge, and what a failure
//! means. This crate does no I/O and knows nothing of WebAssembly: a handler is a port, and the merge rules are pure functions.
//!
//! An emitter (a place in the agent loop) calls [`Dispatcher`] with an event and gets a decision; it sees nothing of plugins,
//! order or faults.

pub mod access;
pub mod allowance;
pub mod budget;
pub mod catalogue;
pub mod circuit;
pub mod context;
pub mod dispatch;
pub mod events;
pub mod fault;
pub mod fields;
pub mod handler;
pub mod join;
pub mod point;
pub mod record;
pub mod registry;
mod turn;

pub use allowance::DispatchBudgets;
pub use catalogue::{FailurePolicy, HookId, Kind};
pub use circuit::{CircuitOverride, CircuitSettings, Circuits};
pub use dispatch::{Claimed, Dispatched, Dispatcher, FailedClosed, Scope};
pub use fault::{Fault, FaultKind};
pub use fields::FieldSet;
pub use handler::{Handler, HookInvocation};
pub use point::{Fold, HookCall, HookPoint, HookReply, Who};
pub use registry::{HandlerOptions, Registration, Registry, RegistryBuilder};
