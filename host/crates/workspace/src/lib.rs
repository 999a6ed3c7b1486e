//! The workspace of an agent on disk: opening it, giving a new one its first files, and reading the files that go into the system
//! prompt (agent-loop 8). This crate reads and writes only below the workspace directory, except for one marker file in the state
//! directory; it never renders a prompt. All functions block; call them off the async threads.

pub mod bootstrap;
mod directory;
mod read;
mod seed;
#[cfg(test)]
mod test_support;

pub use directory::{OpenError, Workspace};
pub use read::MAX_FILE_READ_BYTES;
pub use seed::{OPTIONAL_TEMPLATES, SeedError, SeedOptions, Seeded};
