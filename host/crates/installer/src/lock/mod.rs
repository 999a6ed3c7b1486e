//! `creel.lock`: what was installed, with the digest of every file, so that a change on the disk is noticed before anything of it runs.
//! Replacing the file is the moment in which an installation, an update or a removal happens; see `switch`.

mod check;

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use domain::PluginId;
use serde::{Deserialize, Serialize};

use crate::asks::Asks;
use crate::digest::{Files, read_file};
use crate::disk::Disk;
use crate::layout::Layout;
use crate::signature::KeyId;
use crate::stage::optional;

pub use check::{Changed, Standing};

/// Version of the lockfile.
const VERSION: u32 = 1;

/// Largest lockfile, in bytes: a thousand plugins with a hundred files each.
const MAX_BYTES: u64 = 16 << 20;

/// What is known of one installed plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// This installation; another one of the same version has another one.
    pub installation: String,
    /// Version, in the plugin's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Where it came from.
    pub source: EntrySource,
    /// The component.
    pub component: EntryFile,
    /// The manifest; its file is that of the component if it stands in there.
    pub manifest: EntryFile,
    /// Digests of all files, SHA-256 in hex digits.
    pub files: Files,
    /// Trusted key that signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<KeyId>,
    /// What it asks for, as the operator accepted it.
    pub accepted: Asks,
    /// When, in RFC 3339.
    pub installed_at: String,
}

/// Where a plugin came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EntrySource {
    /// `directory`, `component`, `archive` or `oci-layout`.
    pub kind: String,
    /// Its path, absolute. `creel plugins update` looks there again.
    pub path: PathBuf,
}

/// A file and its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EntryFile {
    /// Path in the plugin's directory.
    pub path: String,
    /// SHA-256 in hex digits.
    pub sha256: String,
}

/// The lockfile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lock {
    lock_version: u32,
    plugins: BTreeMap<String, Entry>,
}

/// Why the lockfile cannot be used. No installed plugin is loaded then.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// It cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no lockfile.
    #[error("{} is damaged: {problem}; restore it, or remove it and install the plugins again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A newer host wrote it.
    #[error("{} has version {version}; this host knows {VERSION}", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u64,
    },
}

impl Default for Lock {
    fn default() -> Self {
        Self { lock_version: VERSION, plugins: BTreeMap::new() }
    }
}

impl Lock {
    /// Reads the lockfile; without one nothing is installed.
    ///
    /// # Errors
    /// When it is there and cannot be used.
    pub fn read(layout: &Layout) -> Result<Self, LockError> {
        let path = layout.lock();
        let text = match optional(read_file(&path, MAX_BYTES)) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Self::default()),
            Err(source) => return Err(LockError::Read { path, source }),
        };
        let damaged = |problem: String| LockError::Damaged { path: path.clone(), problem };
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        match value["lockVersion"].as_u64() {
            Some(version) if version != u64::from(VERSION) => return Err(LockError::Version { path, version }),
            _ => {}
        }
        serde_json::from_value(value).map_err(|error| damaged(error.to_string()))
    }

    /// The entry of a plugin.
    pub fn entry(&self, id: &PluginId) -> Option<&Entry> {
        self.plugins.get(id.as_str())
    }

    /// All entries, by id.
    pub fn entries(&self) -> impl Iterator<Item = (PluginId, &Entry)> {
        self.plugins.iter().map(|(id, entry)| (PluginId::new(id.as_str()), entry))
    }

    /// This lock with another entry for a plugin, or with none.
    pub(crate) fn with(mut self, id: &PluginId, entry: Option<Entry>) -> Self {
        match entry {
            Some(entry) => drop(self.plugins.insert(id.to_string(), entry)),
            None => drop(self.plugins.remove(id.as_str())),
        }
        self
    }

    /// Replaces the lockfile as a whole.
    pub(crate) fn write(&self, layout: &Layout, disk: &dyn Disk) -> io::Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from)? + "\n";
        let new = layout.new_lock();
        disk.remove(&new)?;
        disk.write_new(&new, text.as_bytes())?;
        disk.rename(&new, &layout.lock())?;
        disk.sync_dir(layout.state())
    }
}
