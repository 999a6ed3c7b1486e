//! Why a planned plugin does not start: each a sentence that names the thing, the place and the remedy. What can be told without
//! compiling was told before, by [`plan`](crate::plan).

use crate::compile::CompileError;
use crate::export::Misfit;

/// Why a component cannot serve as the plugin that was planned.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It cannot be compiled.
    #[error("the component does not compile: {0}")]
    Compile(#[from] CompileError),
    /// It has more memories, tables or table elements than any plugin may.
    #[error("the component does not load: {0:#}")]
    Code(wasmtime::Error),
    /// An export has another type than the contract's.
    #[error("{0}; build the plugin against creel:plugin@0.1")]
    Misfit(#[from] Misfit),
    /// It needs more than its limit from the first moment.
    #[error("the component has {needed} {what}, its limit is {limit}; raise plugins.entries.{plugin}.limits.{key}")]
    Needs {
        /// The plugin.
        plugin: String,
        /// Of what.
        what: &'static str,
        /// How much is needed.
        needed: u64,
        /// How much is allowed.
        limit: u64,
        /// Key of the limit.
        key: &'static str,
    },
    /// It imports or exports something else than was planned.
    #[error("the component cannot be linked: {0:#}")]
    Link(wasmtime::Error),
    /// The work was lost; a fault of the host.
    #[error("BUG: the work of loading the plugin was lost: {0}")]
    Lost(String),
}
