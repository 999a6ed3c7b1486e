//! What the tests of this crate share: plugins made of text, a disk that fails or dies at a chosen change, and an installer on it.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use domain::PluginId;
use domain::ports::Clock;
use serde_json::{Value, json};
use std::sync::Mutex;

use crate::InstallError;
use crate::disk::{Disk, SystemDisk};
use crate::gate::{Gate, GateRefusal, NoGate, Residue, Verdict};
use crate::installer::{Installer, Outcome, Ports, Request, Settings};
use crate::layout::Layout;
use crate::material::Material;
use crate::review::Review;
use crate::stage::{Limits, Source};

/// A component that exports hooks, with a text that makes it differ from others.
pub(crate) fn component(exports: &[&str], mark: &str) -> Vec<u8> {
    let exports: String = exports.iter().map(|name| format!(r#"(export "creel:plugin/{name}@0.1.0" (instance $i))"#)).collect();
    wat::parse_str(format!(r#"(component (@custom "mark" "{mark}") (instance $i) {exports})"#)).unwrap()
}

/// The manifest of a plugin, with keys added.
pub(crate) fn manifest(id: &str, version: &str, more: Value) -> String {
    let mut text = json!({ "id": id, "version": version, "component": "plugin.wasm", "configSchema": { "type": "object" } });
    for (key, value) in more.as_object().unwrap() {
        text[key] = value.clone();
    }
    text.to_string()
}

/// Writes the directory of a plugin.
pub(crate) fn write_plugin(directory: &Path, id: &str, version: &str, more: Value) -> PathBuf {
    fs::create_dir_all(directory.join("skills")).unwrap();
    fs::write(directory.join("creel.plugin.json"), manifest(id, version, more)).unwrap();
    fs::write(directory.join("plugin.wasm"), component(&["before-tool-call"], version)).unwrap();
    fs::write(directory.join("skills/how.md"), format!("how, version {version}")).unwrap();
    directory.to_owned()
}

/// What a disk does at the chosen change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// This change fails, half done; later ones work.
    Once,
    /// This change is cut in half and no later one happens: the machine died.
    Death,
    /// This change happens, and no later one.
    DeathAfter,
}

/// A disk that fails at one of its changes.
pub(crate) struct FaultyDisk {
    at: usize,
    fault: Fault,
    exchanges: bool,
    changes: AtomicUsize,
}

impl FaultyDisk {
    pub(crate) fn new(at: usize, fault: Fault, exchanges: bool) -> Self {
        Self { at, fault, exchanges, changes: AtomicUsize::new(0) }
    }

    /// How many changes were asked for.
    pub(crate) fn changes(&self) -> usize {
        self.changes.load(Ordering::SeqCst)
    }

    fn change(&self, half: impl FnOnce(), whole: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let now = self.changes.fetch_add(1, Ordering::SeqCst);
        let broken = || Err(io::Error::other("the disk is broken"));
        match (now.cmp(&self.at), self.fault) {
            (std::cmp::Ordering::Less, _) => whole(),
            (std::cmp::Ordering::Equal, Fault::DeathAfter) => whole().and_then(|()| broken()),
            (std::cmp::Ordering::Equal, _) => {
                half();
                broken()
            }
            (std::cmp::Ordering::Greater, Fault::Once) => whole(),
            (std::cmp::Ordering::Greater, _) => broken(),
        }
    }
}

impl Disk for FaultyDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.change(|| (), || SystemDisk.create_dir(path))
    }

    fn write_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let half = || drop(SystemDisk.write_new(path, &bytes[..bytes.len() / 2]));
        self.change(half, || SystemDisk.write_new(path, bytes))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(|| (), || SystemDisk.rename(from, to))
    }

    fn exchange(&self, one: &Path, other: &Path) -> io::Result<()> {
        if self.exchanges {
            self.change(|| (), || SystemDisk.exchange(one, other))
        } else {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let half = || {
            let first = fs::read_dir(path).ok().and_then(|mut entries| entries.next()).and_then(Result::ok);
            if let Some(entry) = first {
                let _ = SystemDisk.remove(&entry.path());
            }
        };
        self.change(half, || SystemDisk.remove(path))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.change(|| (), || SystemDisk.sync_dir(path))
    }
}

/// Remembers what was forgotten, and can refuse to forget.
#[derive(Default)]
pub(crate) struct Forgotten {
    pub(crate) said: Mutex<Vec<String>>,
    pub(crate) fails: std::sync::atomic::AtomicBool,
}

impl Forgotten {
    fn note(&self, text: String) -> Result<(), String> {
        if self.fails.load(Ordering::SeqCst) {
            return Err("the store is closed".to_owned());
        }
        self.said.lock().unwrap().push(text);
        Ok(())
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.said.lock().unwrap())
    }
}

#[async_trait]
impl Residue for Forgotten {
    async fn forget_plugin(&self, plugin: &PluginId) -> Result<(), String> {
        self.note(format!("plugin {plugin}"))
    }

    async fn forget_component(&self, sha256: &str) -> Result<(), String> {
        self.note(format!("component {sha256}"))
    }
}

/// A gate that remembers what it saw of the disk, and may refuse.
pub(crate) struct Spy {
    pub(crate) layout: Layout,
    pub(crate) refuses: Option<&'static str>,
    pub(crate) seen: Mutex<Vec<Seen>>,
}

/// What a gate saw.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) material: Material,
    pub(crate) is_staged: bool,
    pub(crate) active: Option<String>,
}

#[async_trait]
impl Gate for Spy {
    async fn judge(&self, staged: &Material) -> Verdict {
        let place = self.layout.plugin(&PluginId::new(staged.name.as_str()));
        let active = fs::read_to_string(place.join("skills/how.md")).ok();
        let seen = Seen { material: staged.clone(), is_staged: staged.staged.is_dir(), active };
        self.seen.lock().unwrap().push(seen);
        let refused = self.refuses.map(|reason| GateRefusal { plugin: "spy".to_owned(), reason: reason.to_owned() });
        Verdict { findings: Vec::new(), refused }
    }
}

struct Noon;

impl Clock for Noon {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000
    }
}

/// A state directory with an installer.
pub(crate) struct Bed {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) settings: Settings,
    pub(crate) ports: Ports,
    pub(crate) forgotten: Arc<Forgotten>,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let forgotten = Arc::new(Forgotten::default());
        let settings = Settings {
            layout: Layout::new(dir.path().join("state")),
            limits: Limits::default(),
            component_bytes: Arc::new(|_, _| 1 << 20),
            require_signature: false,
            trusted_keys: Vec::new(),
        };
        let ports = Ports {
            disk: Arc::new(SystemDisk),
            review: Review { policy: None, gate: Arc::new(NoGate), host_version: "0".to_owned() },
            residue: Arc::clone(&forgotten) as _,
            clock: Arc::new(Noon),
        };
        Self { dir, settings, ports, forgotten }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.settings.layout
    }

    pub(crate) fn installer(&self) -> Installer {
        Installer::new(self.settings.clone(), self.ports.clone())
    }

    /// The directory of a plugin with this version, as a source.
    pub(crate) fn source(&self, id: &str, version: &str, more: Value) -> Source {
        Source::find(&write_plugin(&self.path(&format!("from/{id}-{version}")), id, version, more)).unwrap()
    }

    pub(crate) async fn install(&self, source: Source) -> Result<Outcome, InstallError> {
        self.installer().install(Request::install(source)).await
    }

    /// Installs a plain plugin of this version.
    pub(crate) async fn with(self, id: &str, version: &str) -> Self {
        self.install(self.source(id, version, json!({}))).await.unwrap();
        self
    }

    /// The version of a plugin in its place, if all of it is there and the lockfile says the same.
    pub(crate) fn whole_version(&self, id: &str) -> Result<Option<String>, String> {
        let id = PluginId::new(id);
        let lock = crate::lock::Lock::read(self.layout()).map_err(|error| error.to_string())?;
        let place = self.layout().plugin(&id);
        match lock.entry(&id) {
            None if place.exists() => Err("it is there without an entry".to_owned()),
            None => Ok(None),
            Some(entry) => {
                lock.check(&place).map_err(|changed| changed.to_string())?;
                Ok(entry.version.clone())
            }
        }
    }

    /// Everything in the state directory besides installed plugins, guards and the lockfile.
    pub(crate) fn litter(&self) -> Vec<String> {
        let names = |directory: PathBuf| -> Vec<String> {
            let entries = fs::read_dir(directory).into_iter().flatten();
            entries.map(|entry| entry.unwrap().file_name().to_str().unwrap().to_owned()).collect()
        };
        let mut litter = names(self.layout().work());
        litter.retain(|name| !name.ends_with(".guard"));
        litter.extend(names(self.layout().state().to_owned()).into_iter().filter(|name| name.starts_with('.')));
        litter
    }
}
