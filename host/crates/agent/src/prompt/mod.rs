//! The prompt of a run: a pure renderer for the base, and the hooks that shape it.

pub mod assemble;
pub mod base;
pub(crate) mod build;
