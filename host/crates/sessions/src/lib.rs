//! Sessions, transcripts and plugin state in SQLite: the adapter behind the ports `SessionStore`, `SessionExtensions`, `PluginKv`,
//! `CircuitStore`, `SentKeys` and `SessionReader`.
//!
//! - One database per agent (session entries, transcripts, session extensions) and one shared one (key-value state and circuits of
//!   plugins); see [`StateDir`] for where they lie.
//! - One thread per database owns the connection that writes, another one a connection that can only read; see `database`.
//! - A write is one transaction and is on the disk when its future answers. `kill -9` at any moment loses nothing that was
//!   acknowledged; neither does a power cut, as far as the operating system's `fsync` tells the truth.
//! - The run that owns a session is checked inside each commit (sessions 3.6); the owner of a crashed process is taken over.
//!
//! This crate stores rows as they are given. It never repairs, prunes, redacts or interprets what a model sees of them; that belongs
//! to the agent. It takes the time from its callers or from `domain::ports::Clock`, never from the system.

mod browse;
mod circuits;
mod database;
mod entry;
mod event;
mod export;
mod extensions;
mod failure;
mod kv;
mod kv_rows;
mod layout;
mod owner;
mod process;
mod reading;
mod run;
mod schema;
mod sent_keys;
mod store;
mod time;
mod transcript;
mod worker;

pub use browse::{FoundSession, TranscriptTail};
pub use export::ExportError;
pub use extensions::{MAX_EXTENSION_BYTES, MAX_EXTENSION_NAMESPACES, MAX_NAMESPACE_BYTES};
pub use kv::{MAX_KEY_BYTES, MAX_PAGE_KEYS, SqlitePluginKv};
pub use layout::StateDir;
pub use sent_keys::{MAX_SENT_KEY_BYTES, MAX_SENT_KEYS};
pub use store::SqliteSessions;
