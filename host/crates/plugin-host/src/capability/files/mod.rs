//! `wasi:filesystem`: one directory of the plugin's own as `/data`, and nothing else of this machine. Paths are resolved by handles, so
//! none leads out of it; what a plugin may keep there is counted in `ledger`. Without a grant there is no directory at all, and a guest
//! gets the error that a program gets who has none.

mod descriptor;
mod ledger;
mod output;
mod scan;
#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use domain::PluginId;
use parking_lot::Mutex;
use wasmtime::component::Resource;
use wasmtime_wasi::filesystem::{Descriptor, Dir, WasiFilesystemCtx, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::filesystem::preopens;
use wasmtime_wasi::{FsPerms, OpenMode};

use super::capability;
use crate::grant::{Capability, FsGrant, FsMode};
use crate::state::State;
use crate::told::Told;
use ledger::{Ledger, Refusal};

/// Where a guest finds its directory.
const GUEST_PATH: &str = "/data";

/// Files and directories that all instances of one plugin may have open together: what is left of the host's own descriptors must do for
/// everybody else.
const MAX_OPEN: usize = 128;

/// The directory of a plugin below that of all plugins. The entry of a package has two names, which a directory cannot hold as they are;
/// no id holds a dot, so no two ids share a directory.
pub(crate) fn directory(below: &Path, plugin: &PluginId) -> PathBuf {
    below.join(plugin.as_str().replace('/', "."))
}

/// The granted directory of one plugin; all its instances share it.
pub(crate) struct DataDirectory {
    path: PathBuf,
    mode: FsMode,
    ledger: Arc<Ledger>,
    /// Opened when the first instance asks for it.
    opened: Mutex<Option<Dir>>,
    in_use: Arc<InUse>,
}

impl DataDirectory {
    pub(crate) fn new(path: PathBuf, grant: FsGrant) -> Self {
        let in_use = Arc::<InUse>::default();
        let ledger = Arc::new(Ledger::new(grant, Arc::clone(&in_use)));
        Self { path, mode: grant.mode, ledger, opened: Mutex::new(None), in_use }
    }

    /// The directory, made if it is not there.
    fn open(&self) -> io::Result<Dir> {
        let mut opened = self.opened.lock();
        if let Some(dir) = &*opened {
            return Ok(dir.clone());
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(&self.path)?;
        let (perms, open_mode) = match self.mode {
            FsMode::Read => (FsPerms::ReadOnly, OpenMode::READ),
            FsMode::ReadWrite => (FsPerms::ReadWrite, OpenMode::READ | OpenMode::WRITE),
        };
        let dir = Dir::new(file, perms, open_mode, false);
        self.ledger.set_root(Arc::clone(&dir.dir));
        Ok(opened.insert(dir).clone())
    }
}

/// What the instances of a plugin have open.
#[derive(Default)]
pub(super) struct InUse(Mutex<Vec<Weak<File>>>);

impl InUse {
    fn has_room(&self) -> bool {
        let mut files = self.0.lock();
        files.retain(|file| file.strong_count() > 0);
        files.len() < MAX_OPEN
    }

    fn add(&self, file: &Arc<File>) {
        self.0.lock().push(Arc::downgrade(file));
    }

    /// Everything that is open now.
    pub(super) fn files(&self) -> Vec<Arc<File>> {
        self.0.lock().iter().filter_map(Weak::upgrade).collect()
    }
}

/// What one instance keeps.
#[derive(Default)]
pub(crate) struct FilesState {
    wasi: WasiFilesystemCtx,
    /// Listings of directories that it holds, each in memory as a whole.
    listings: u32,
}

/// Tells refused uses.
#[derive(Clone)]
pub(super) struct Teller {
    plugin: PluginId,
    told: Told,
    surface: &'static str,
}

impl Teller {
    fn refused(&self, refusal: &Refusal) {
        let key = format!("plugins.entries.{}.capabilities.fs", self.plugin);
        let sentence = match refusal {
            Refusal::Bytes { after, max } => {
                format!("its files would take {after} bytes, granted are {max}; to allow more set {key}.maxBytes")
            }
            Refusal::Files { after, max } => {
                format!("it would have {after} files and directories, granted are {max}; to allow more set {key}.maxFiles")
            }
            Refusal::Unreadable(error) => format!("its files cannot be counted ({error}), so nothing is added to them"),
        };
        self.told.refused(&self.plugin, self.surface, Capability::Fs, &sentence);
    }

    fn read_only(&self) {
        let sentence = format!(
            "its files are granted for reading; to allow changes set plugins.entries.{}.capabilities.fs.mode: \"readWrite\"",
            self.plugin
        );
        self.told.refused(&self.plugin, self.surface, Capability::Fs, &sentence);
    }
}

/// Files of the plugin, for one call of a host function.
pub(crate) struct FilesView<'a> {
    wasi: WasiFilesystemCtxView<'a>,
    directory: Option<&'a DataDirectory>,
    listings: &'a mut u32,
    plugin: &'a PluginId,
    told: &'a Told,
    surface: &'static str,
}

capability! {
    /// `wasi:filesystem`.
    Files => FilesView
}

impl State {
    pub(crate) fn files(&mut self) -> FilesView<'_> {
        FilesView {
            wasi: WasiFilesystemCtxView { ctx: &mut self.files.wasi, table: &mut self.table },
            directory: self.plugin.files.as_ref(),
            listings: &mut self.files.listings,
            plugin: &self.plugin.id,
            told: &self.told,
            surface: self.call.surface,
        }
    }
}

impl FilesView<'_> {
    fn teller(&self) -> Teller {
        Teller { plugin: self.plugin.clone(), told: self.told.clone(), surface: self.surface }
    }
}

impl preopens::Host for FilesView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let Some(directory) = self.directory else { return Ok(Vec::new()) };
        match directory.open() {
            Ok(dir) => Ok(vec![(self.wasi.table.push(Descriptor::Dir(dir))?, GUEST_PATH.to_owned())]),
            Err(error) => {
                let path = directory.path.display();
                let sentence = format!("{path} cannot be opened, so the plugin has no files: {error}");
                self.told.refused(self.plugin, self.surface, Capability::Fs, &sentence);
                Ok(Vec::new())
            }
        }
    }
}
