//! The recovery pass: finishes or undoes changes whose process ended in the middle. Runs before plugins are looked for and before every
//! change. Nobody recovers while an installer is alive: its change is not interrupted.

use std::io;

use domain::PluginId;

use crate::disk::Disk;
use crate::gate::Residue;
use crate::guard::{self, Guard};
use crate::journal::{Change, Work};
use crate::layout::Layout;
use crate::lock::Lock;
use crate::switch::{Leftover, Switch};

/// What a recovery pass did.
#[derive(Debug, Default)]
pub struct Recovery {
    /// Plugins whose change was undone.
    pub undone: Vec<PluginId>,
    /// Plugins whose change had happened and was finished.
    pub finished: Vec<PluginId>,
    pub(crate) leftovers: Vec<Leftover>,
}

/// Finishes or undoes what was interrupted, as far as files go. What the host keeps for a removed plugin goes with [`recover_all`].
///
/// # Errors
/// When a change can neither be finished nor undone; it is left for the next pass.
pub fn recover(layout: &Layout, disk: &dyn Disk) -> io::Result<Recovery> {
    // Without looking for guards: they would have to be made.
    if Work::all(layout)?.is_empty() {
        return Ok(Recovery::default());
    }
    match guard::try_installer(layout)? {
        Some(guard) => recover_with(&guard, layout, disk),
        None => Ok(Recovery::default()),
    }
}

/// The same for somebody who is the installer.
pub(crate) fn recover_with(_guard: &Guard, layout: &Layout, disk: &dyn Disk) -> io::Result<Recovery> {
    let mut recovery = Recovery::default();
    for work in Work::all(layout)? {
        let Some(journal) = work.journal()? else {
            work.end(disk)?;
            continue;
        };
        let id = journal.id.clone();
        let _switching = guard::switch(layout)?;
        match (Switch { layout, disk, work: &work }).settle(journal)? {
            None => recovery.undone.push(id),
            Some(leftover) => {
                leftover.work.clear(disk)?;
                recovery.finished.push(id);
                recovery.leftovers.push(leftover);
            }
        }
    }
    Ok(recovery)
}

/// Finishes or undoes what was interrupted, and forgets what the host kept for plugins that are gone.
///
/// # Errors
/// When something cannot be finished; it is left for the next pass.
pub async fn recover_all(layout: &Layout, disk: &dyn Disk, residue: &dyn Residue) -> io::Result<Recovery> {
    let mut recovery = recover(layout, disk)?;
    for leftover in std::mem::take(&mut recovery.leftovers) {
        forget(layout, disk, residue, &leftover).await.map_err(io::Error::other)?;
    }
    Ok(recovery)
}

/// Forgets what a change left over, and ends it.
pub(crate) async fn forget(layout: &Layout, disk: &dyn Disk, residue: &dyn Residue, leftover: &Leftover) -> Result<(), String> {
    let id = &leftover.journal.id;
    let lock = Lock::read(layout).map_err(|error| error.to_string())?;
    let gone = match &leftover.journal.change {
        Change::Place { replaces, .. } => replaces.as_ref(),
        Change::Remove { component, .. } => {
            // Installed again meanwhile, its storage is that of the new one.
            if lock.entry(id).is_none() {
                residue.forget_plugin(id).await?;
            }
            Some(component)
        }
    };
    let in_use = |sha256: &String| lock.entries().any(|(_, entry)| entry.component.sha256 == *sha256);
    if let Some(sha256) = gone.filter(|sha256| !in_use(sha256)) {
        residue.forget_component(sha256).await?;
    }
    leftover.work.end(disk).map_err(|error| format!("{} cannot be removed: {error}", leftover.work.path().display()))
}
