//! Compares what is on the disk with what was installed.

use std::path::Path;

use domain::PluginId;

use super::{Entry, Lock};
use crate::digest;
use crate::layout::Layout;
use crate::stage::Limits;

/// What the lockfile says about a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It holds what was installed, and nothing else.
    Locked,
    /// It was not installed; somebody put it there by hand.
    Unlocked,
}

/// What is on the disk is not what was installed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Changed {
    /// A file has another content.
    #[error("{file} was changed after it was installed; {REMEDY}")]
    File {
        /// The file, in the plugin's directory.
        file: String,
    },
    /// A file is gone.
    #[error("{file} was removed after it was installed; {REMEDY}")]
    Missing {
        /// The file.
        file: String,
    },
    /// A file is there that was not installed.
    #[error("{file} was added after it was installed; {REMEDY}")]
    Added {
        /// The file.
        file: String,
    },
    /// The directory is something else, or holds what no installation brings.
    #[error("its directory is not as it was installed: {problem}; {REMEDY}")]
    Directory {
        /// What is wrong.
        problem: String,
    },
}

const REMEDY: &str = "if that is your own doing, install it again, else ask who did it (`creel plugins verify` tells all)";

impl Lock {
    /// Compares a directory of an installed plugin with its entry. The directory's name tells whose entry counts, not what the manifest
    /// in it says.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, directory: &Path) -> Result<Standing, Changed> {
        match self.entry_of(directory) {
            None => Ok(Standing::Unlocked),
            Some((_, entry)) => match differences(entry, directory).into_iter().next() {
                None => Ok(Standing::Locked),
                Some(changed) => Err(changed),
            },
        }
    }

    /// Everything in which the directory of a plugin differs from its entry; none if it has none.
    pub fn differences(&self, id: &PluginId, layout: &Layout) -> Option<Vec<Changed>> {
        self.entry(id).map(|entry| differences(entry, &layout.plugin(id)))
    }

    /// The entry of the plugin that was installed into a directory.
    pub fn entry_of(&self, directory: &Path) -> Option<(PluginId, &Entry)> {
        let name = directory.file_name()?.to_str()?;
        self.entries().find(|(id, _)| Layout::directory_name(id) == name)
    }
}

fn differences(entry: &Entry, directory: &Path) -> Vec<Changed> {
    let strange = |problem: String| vec![Changed::Directory { problem }];
    match std::fs::symlink_metadata(directory) {
        Err(error) => return strange(error.to_string()),
        Ok(metadata) if !metadata.is_dir() => return strange("it is a link or a file".to_owned()),
        Ok(_) => {}
    }
    let found = match digest::files(directory, &Limits::default()) {
        Ok(found) => found,
        Err(error) => return strange(error.to_string()),
    };
    let mut changed = Vec::new();
    for (file, digest) in &entry.files {
        match found.get(file) {
            None => changed.push(Changed::Missing { file: file.clone() }),
            Some(now) if now != digest => changed.push(Changed::File { file: file.clone() }),
            Some(_) => {}
        }
    }
    let added = found.keys().filter(|file| !entry.files.contains_key(*file));
    changed.extend(added.map(|file| Changed::Added { file: file.clone() }));
    changed
}
