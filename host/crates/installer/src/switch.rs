//! The switch: puts a version into its place, or takes it away, in an order in which every moment can be told apart afterwards.
//!
//! 1. the note says what will be done;
//! 2. the directories change places, in one step where the file system can;
//! 3. the lockfile is replaced: **from here on the change has happened**;
//! 4. what is left over goes.
//!
//! Whatever fails, or ends, before step 3 is undone; afterwards it is finished. Nobody loads plugins between 1 and 3, see
//! [`guard`](crate::guard).

use std::io;
use std::path::Path;

use domain::PluginId;

use crate::digest::{self, Files};
use crate::disk::Disk;
use crate::guard;
use crate::journal::{Change, Journal, Work};
use crate::layout::Layout;
use crate::lock::{Entry, Lock};
use crate::stage::Limits;

/// A change that happened, and what is still to be forgotten because of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Leftover {
    pub(crate) work: Work,
    pub(crate) journal: Journal,
}

/// One change of one plugin.
pub(crate) struct Switch<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) disk: &'a dyn Disk,
    pub(crate) work: &'a Work,
}

impl Switch<'_> {
    /// Puts the version in `work` into its place. On failure everything is as it was.
    pub(crate) fn place(&self, id: &PluginId, lock: Lock, entry: Entry) -> io::Result<Leftover> {
        let replaces = lock.entry(id).map(|old| old.component.sha256.clone());
        let (installation, files) = (entry.installation.clone(), entry.files.clone());
        let change = Change::Place { installation, files, occupied: is_there(&self.layout.plugin(id)), replaces };
        self.run(Journal { id: id.clone(), change }, &lock.with(id, Some(entry)))
    }

    /// Takes a plugin away. On failure everything is as it was.
    pub(crate) fn remove(&self, id: &PluginId, lock: Lock, entry: &Entry) -> io::Result<Leftover> {
        let change = Change::Remove { installation: entry.installation.clone(), component: entry.component.sha256.clone() };
        self.run(Journal { id: id.clone(), change }, &lock.with(id, None))
    }

    fn run(&self, journal: Journal, lock: &Lock) -> io::Result<Leftover> {
        let _guard = guard::switch(self.layout)?;
        let target = self.layout.plugin(&journal.id);
        self.work.note(&journal, self.disk)?;
        let changed = self.move_directories(&journal, &target).and_then(|()| lock.write(self.layout, self.disk));
        match changed {
            Ok(()) => Ok(Leftover { work: self.work.clone(), journal }),
            Err(error) => match self.settle(journal) {
                // The lockfile was replaced all the same; the failure was in making sure.
                Ok(Some(leftover)) => Ok(leftover),
                Ok(None) | Err(_) => Err(error),
            },
        }
    }

    fn move_directories(&self, journal: &Journal, target: &Path) -> io::Result<()> {
        let (new, old) = (self.work.new_version(), self.work.old_version());
        match &journal.change {
            Change::Place { occupied: true, .. } => match self.disk.exchange(&new, target) {
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    self.disk.rename(target, &old)?;
                    self.disk.rename(&new, target)?;
                }
                other => other?,
            },
            Change::Place { .. } => self.disk.rename(&new, target)?,
            Change::Remove { .. } if is_there(target) => self.disk.rename(target, &old)?,
            Change::Remove { .. } => {}
        }
        self.disk.sync_dir(self.work.path())?;
        self.disk.sync_dir(&self.layout.plugins())
    }

    /// Finishes or undoes a change that was interrupted. Gives what is left over if it happened; if not, everything is as it was and
    /// its directory is gone. The guard is held by the caller.
    pub(crate) fn settle(&self, journal: Journal) -> io::Result<Option<Leftover>> {
        let lock = Lock::read(self.layout).map_err(io::Error::other)?;
        let named = lock.entry(&journal.id).map(|entry| entry.installation.as_str());
        let has_happened = match &journal.change {
            Change::Place { installation, .. } => named == Some(installation),
            Change::Remove { installation, .. } => named != Some(installation),
        };
        if has_happened {
            return Ok(Some(Leftover { work: self.work.clone(), journal }));
        }
        self.undo(&journal)?;
        self.work.end(self.disk)?;
        Ok(None)
    }

    /// Gives the old version its place back.
    fn undo(&self, journal: &Journal) -> io::Result<()> {
        let target = self.layout.plugin(&journal.id);
        let (new, old) = (self.work.new_version(), self.work.old_version());
        self.disk.remove(&self.layout.new_lock())?;
        match &journal.change {
            Change::Remove { .. } => {
                if is_there(&old) {
                    self.disk.rename(&old, &target)?;
                }
            }
            Change::Place { .. } if is_there(&old) => {
                if is_there(&target) {
                    self.disk.rename(&target, &new)?;
                }
                self.disk.rename(&old, &target)?;
            }
            // The two were exchanged: what waits is the old version.
            Change::Place { files, occupied: true, .. } if is_there(&new) && holds(&target, files) => {
                self.disk.exchange(&new, &target)?;
            }
            Change::Place { files, occupied: false, .. } if holds(&target, files) => self.disk.rename(&target, &new)?,
            Change::Place { .. } => {}
        }
        self.disk.sync_dir(&self.layout.plugins())
    }
}

/// Whether anything is at a path, a link to nowhere included.
fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Whether a directory holds exactly these files.
fn holds(directory: &Path, files: &Files) -> bool {
    digest::files(directory, &Limits::default()).is_ok_and(|found| found == *files)
}
