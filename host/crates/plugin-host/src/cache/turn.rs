//! Of several processes that share a cache one compiles at a time, as within one process: a compilation uses all cores and much memory
//! by itself, and what another process compiles is most likely what this one needs. The lock goes with the process that holds it.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::private;

const LOCK_FILE: &str = "compile.lock";

/// Time between two looks at the lock.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The right to compile.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Whether another process compiled meanwhile, so that the code may be there now.
    pub(crate) has_waited: bool,
    /// None: there was no right to be had; compiling twice is slow and not wrong.
    _held: Option<File>,
}

pub(super) async fn wait(directory: &Path, patience: Duration) -> Turn {
    let path = directory.join(LOCK_FILE);
    let file = match private::open_lock(&path) {
        Ok(file) => file,
        Err(error) => return without(&path, &error, false),
    };
    let deadline = Instant::now() + patience;
    let mut has_waited = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Turn { has_waited, _held: Some(file) },
            Err(TryLockError::Error(error)) => return without(&path, &error, has_waited),
            Err(TryLockError::WouldBlock) if Instant::now() >= deadline => {
                tracing::debug!("another process compiles plugins for more than {} s; not waiting for it", patience.as_secs());
                return Turn { has_waited: true, _held: None };
            }
            Err(TryLockError::WouldBlock) => has_waited = true,
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn without(path: &Path, error: &io::Error, has_waited: bool) -> Turn {
    tracing::debug!(path = %path.display(), "compiling without a look at other processes: {error}");
    Turn { has_waited, _held: None }
}
