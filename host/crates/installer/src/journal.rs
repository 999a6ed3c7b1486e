//! One change that is under way, as a directory of its own with a note of what is being done. Whoever finds it after a crash can tell from
//! the note and the lockfile whether the change happened, and finish or undo it.

use std::io;
use std::path::{Path, PathBuf};

use domain::PluginId;
use serde::{Deserialize, Serialize};

use crate::digest::{Files, read_file};
use crate::disk::Disk;
use crate::layout::Layout;
use crate::stage::optional;

const JOURNAL: &str = "journal.json";

/// Largest note, in bytes; it holds digests of two versions.
const MAX_BYTES: u64 = 1 << 20;

/// What is being done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Journal {
    /// The plugin.
    pub(crate) id: PluginId,
    /// What is done with it.
    pub(crate) change: Change,
}

/// A change of one plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) enum Change {
    /// A version takes its place.
    Place {
        /// The installation that the lockfile will name.
        installation: String,
        /// What it brings.
        files: Files,
        /// Whether something has the place until then.
        occupied: bool,
        /// The component that it replaces, SHA-256 in hex digits.
        replaces: Option<String>,
    },
    /// The plugin goes.
    Remove {
        /// The installation that the lockfile names until then.
        installation: String,
        /// Its component, SHA-256 in hex digits.
        component: String,
    },
}

/// The directory of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Work {
    path: PathBuf,
}

impl Work {
    /// A new directory.
    pub(crate) fn begin(layout: &Layout, disk: &dyn Disk) -> io::Result<Self> {
        let path = layout.work().join(uuid::Uuid::now_v7().to_string());
        disk.create_dir(&path)?;
        Ok(Self { path })
    }

    /// All changes that are under way, the oldest first.
    pub(crate) fn all(layout: &Layout) -> io::Result<Vec<Self>> {
        let Some(entries) = optional(std::fs::read_dir(layout.work()))? else { return Ok(Vec::new()) };
        let mut all = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                all.push(Self { path: entry.path() });
            }
        }
        all.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(all)
    }

    /// Where a source is unpacked.
    pub(crate) fn unpacked(&self) -> PathBuf {
        self.path.join("unpacked")
    }

    /// Where a version waits that takes its place; afterwards the one that it replaced, if both could be exchanged.
    pub(crate) fn new_version(&self) -> PathBuf {
        self.path.join("new")
    }

    /// Where the version is that had the place, if it was moved.
    pub(crate) fn old_version(&self) -> PathBuf {
        self.path.join("old")
    }

    /// Writes the note. From here on a crash leaves something to finish or undo.
    pub(crate) fn note(&self, journal: &Journal, disk: &dyn Disk) -> io::Result<()> {
        let text = serde_json::to_vec(journal).map_err(io::Error::from)?;
        let unfinished = self.path.join("journal.new");
        disk.write_new(&unfinished, &text)?;
        disk.rename(&unfinished, &self.path.join(JOURNAL))?;
        disk.sync_dir(&self.path)
    }

    /// The note; none: nothing was changed yet outside of this directory.
    pub(crate) fn journal(&self) -> io::Result<Option<Journal>> {
        let Some(text) = optional(read_file(&self.path.join(JOURNAL), MAX_BYTES))? else { return Ok(None) };
        serde_json::from_slice(&text)
            .map(Some)
            .map_err(|error| io::Error::other(format!("{}: {error}", self.path.join(JOURNAL).display())))
    }

    /// Removes the two versions, and leaves the note.
    pub(crate) fn clear(&self, disk: &dyn Disk) -> io::Result<()> {
        [self.unpacked(), self.new_version(), self.old_version()].iter().try_for_each(|path| disk.remove(path))
    }

    /// Removes the directory. The note goes first: what is left without one changes nothing.
    pub(crate) fn end(&self, disk: &dyn Disk) -> io::Result<()> {
        disk.remove(&self.path.join(JOURNAL))?;
        disk.sync_dir(&self.path)?;
        disk.remove(&self.path)
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
