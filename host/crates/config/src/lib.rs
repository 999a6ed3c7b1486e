//! Typed configuration: the file `creel.json` (JSON5) and the places of a host on disk.
//!
//! Strict: a key that nobody knows, a wrong type or a bad value is an error that names the key path, the line and what would be
//! right, and all errors are told at once (runtime 11.1.2). Keys of the public configuration whose part this version does not have
//! are listed as a warning and ignored.
//!
//! The crate never reads the process environment, never writes, and touches the disk in [`load()`] only. Secrets never reach a
//! message.

mod check;
mod edit;
mod environment;
pub mod keys;
mod load;
mod locations;
mod parse;
mod problem;
mod reference;
mod schema;
pub mod settings;
mod text;
mod warning;

pub use check::nearest::nearest;
pub use edit::{EditError, parse_value, remove_value, set_value, written_value};
pub use environment::Environment;
pub use keys::{Config, MissingVariable, Secret, SecretInput};
pub use load::{Loaded, MAX_FILE_BYTES, load};
pub use locations::{CONFIG_FILE, LocationError, Locations};
pub use parse::{Parsed, parse};
pub use problem::{ConfigErrors, Problem, ProblemKind};
pub use settings::{AgentSettings, UnknownAgent};
pub use text::Position;
pub use text::key_path::{KeyPath, Segment};
pub use warning::Warning;
