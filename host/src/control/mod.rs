//! How a host that runs for long hears that plugins should be loaded again: from `creel plugins reload`, over a socket in the state
//! directory, or because a file has changed. Loads nothing itself.

pub mod client;
mod listener;
mod protocol;
mod watch;

pub use listener::{Listener, ReloadRequest};
pub use protocol::{Answer, MAX_ANSWER_BYTES};
pub use watch::{Place, Watcher};

use std::path::{Path, PathBuf};

/// Where the sockets of the processes are that work with a state directory.
fn directory(state_dir: &Path) -> PathBuf {
    state_dir.join("control")
}
