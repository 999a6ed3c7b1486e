//! Compares everything that is installed with the lockfile, and says what was put there by hand. Changes nothing.

use std::io;

use domain::PluginId;
use plugin_host::discovery::{Found, Sources, discover};

use crate::guard;
use crate::layout::Layout;
use crate::lock::{Changed, Entry, Lock, LockError};

/// What is known of one plugin in the directory of installed plugins.
#[derive(Debug, Clone)]
pub struct Verified {
    /// The plugin.
    pub id: PluginId,
    /// Its entry; none: it was put there by hand.
    pub entry: Option<Entry>,
    /// In what it differs from its entry.
    pub changed: Vec<Changed>,
}

/// Why nothing could be compared.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The lockfile cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The plugins cannot be guarded while they are read.
    #[error("the plugins cannot be read: {0}")]
    Guard(#[from] io::Error),
}

/// Compares all plugins, in the order of their ids.
///
/// # Errors
/// When the lockfile cannot be used.
pub fn verify(layout: &Layout) -> Result<Vec<Verified>, VerifyError> {
    let _guard = guard::reading(layout)?;
    let lock = Lock::read(layout)?;
    let mut all: Vec<Verified> = lock
        .entries()
        .map(|(id, entry)| {
            let changed = lock.differences(&id, layout).unwrap_or_default();
            Verified { id, entry: Some(entry.clone()), changed }
        })
        .collect();
    for found in discover(&Sources { installed: Some(layout.plugins()), ..Sources::default() }).found {
        let Found::Plugin(candidate) = found else { continue };
        if lock.entry_of(&candidate.root).is_none() {
            all.push(Verified { id: candidate.manifest.id.clone(), entry: None, changed: Vec::new() });
        }
    }
    all.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(all)
}
