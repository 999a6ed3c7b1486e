//! The plugin of most system tests: it exports every hook, and tools, and does what its configuration says (`settings`). So a case is a
//! row of JSON in its test and not a component of its own.
//!
//! It never decides anything by itself: without a line in its configuration every handler has no opinion.

mod bindings;
mod conduct;
mod form;
mod handlers;
mod record;
mod settings;
mod tools;
