//! The installer: one chain for everything that comes, in this order: stage, check, signature, install policy, `before_install`, what it
//! asks for, switch. Until the switch nothing of it is where plugins are loaded from, and whatever stops the chain leaves everything as it
//! was.

use std::path::PathBuf;
use std::sync::Arc;

use domain::PluginId;
use domain::ports::Clock;
use plugin_host::discovery::{Found, Sources, discover};
use plugin_host::manifest::Manifest;

use crate::asks::{Asks, Widening};
use crate::check::{CheckSettings, Package, check};
use crate::digest;
use crate::disk::Disk;
use crate::error::{InstallError, doing};
use crate::gate::Residue;
use crate::guard::{self, Guard};
use crate::journal::Work;
use crate::layout::Layout;
use crate::lock::{Entry, EntryFile, EntrySource, Lock};
use crate::material::{Material, Mode};
use crate::recover::{forget, recover_with};
use crate::review::{Review, Reviewed};
use crate::signature::{self, Signer, TrustStore};
use crate::stage::{Limits, Source, stage};
use crate::switch::{Leftover, Switch};

/// Size that the component of a plugin may have, in bytes; by its id and what its manifest asks for.
pub type ComponentBytes = Arc<dyn Fn(&PluginId, &Manifest) -> u64 + Send + Sync>;

/// What the operator decided.
#[derive(Clone)]
pub struct Settings {
    /// Where things are.
    pub layout: Layout,
    /// How much one installation may bring.
    pub limits: Limits,
    /// Size of components.
    pub component_bytes: ComponentBytes,
    /// Whether a signature by a trusted key is required.
    pub require_signature: bool,
    /// Trusted keys besides those of the trust directory, one line each.
    pub trusted_keys: Vec<String>,
}

/// What an installer works with.
#[derive(Clone)]
pub struct Ports {
    /// The disk.
    pub disk: Arc<dyn Disk>,
    /// Who has a say.
    pub review: Review,
    /// Who keeps things for plugins.
    pub residue: Arc<dyn Residue>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// What an operator wants.
#[derive(Debug, Clone)]
pub struct Request {
    /// From where.
    pub source: Source,
    /// What the operator typed.
    pub specifier: Option<String>,
    /// The plugin that is replaced; none: a new one comes.
    pub update: Option<PluginId>,
    /// Fingerprints of policy warnings that the operator has seen.
    pub acknowledged: Vec<String>,
    /// Accept that an update asks for more.
    pub accept_capabilities: bool,
    /// A signature is required, whatever the settings say.
    pub require_signature: bool,
    /// Do everything but the switch.
    pub dry_run: bool,
}

impl Request {
    /// A new plugin from a source.
    pub fn install(source: Source) -> Self {
        Self {
            source,
            specifier: None,
            update: None,
            acknowledged: Vec::new(),
            accept_capabilities: false,
            require_signature: false,
            dry_run: false,
        }
    }

    /// A new version of a plugin from a source.
    pub fn update(id: PluginId, source: Source) -> Self {
        Self { update: Some(id), ..Self::install(source) }
    }
}

/// What happened.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The plugin.
    pub package: Package,
    /// Version that it replaced, if it replaced one.
    pub replaced: Option<Entry>,
    /// Who signed it.
    pub signer: Signer,
    /// What was said about it.
    pub reviewed: Reviewed,
    /// What it asks for beyond the version that it replaced.
    pub wider: Vec<Widening>,
    /// Where it is, or would be.
    pub directory: PathBuf,
    /// What went wrong after it had happened; one sentence each.
    pub remarks: Vec<String>,
}

/// Installs, updates and removes plugins below one state directory. Clones share everything.
#[derive(Clone)]
pub struct Installer {
    settings: Arc<Settings>,
    ports: Ports,
}

/// A plugin that was staged and passed the checks.
struct Prepared {
    work: Work,
    root: PathBuf,
    package: Package,
    signer: Signer,
    lock: Lock,
}

impl Installer {
    /// An installer.
    pub fn new(settings: Settings, ports: Ports) -> Self {
        Self { settings: Arc::new(settings), ports }
    }

    /// Installs or updates a plugin.
    ///
    /// # Errors
    /// What stopped it; everything is as it was then.
    pub async fn install(&self, request: Request) -> Result<Outcome, InstallError> {
        let guard = self.begin().await?;
        let this = self.clone();
        let asked = request.clone();
        let prepared = blocking(move || this.prepare(&asked)).await?;
        let ended = self.judge_and_switch(&request, &prepared).await;
        if ended.as_ref().map_or(true, |(_, leftover)| leftover.is_none()) {
            let (work, disk) = (prepared.work.clone(), Arc::clone(&self.ports.disk));
            // What cannot be removed now is removed by the next recovery pass.
            let _ = blocking(move || work.end(&*disk).map_err(doing("clearing up"))).await;
        }
        let (mut outcome, leftover) = ended?;
        if let Some(leftover) = leftover {
            outcome.remarks.extend(self.forget(&leftover).await);
        }
        drop(guard);
        Ok(outcome)
    }

    /// Removes a plugin and everything that the host kept for it. Gives what it was, and what could not be cleared up.
    ///
    /// # Errors
    /// What stopped it; everything is as it was then.
    pub async fn remove(&self, id: &PluginId) -> Result<(Entry, Vec<String>), InstallError> {
        let guard = self.begin().await?;
        let (this, plugin) = (self.clone(), id.clone());
        let (entry, leftover) = blocking(move || this.take_away(&plugin)).await?;
        let remarks = self.forget(&leftover).await.into_iter().collect();
        drop(guard);
        Ok((entry, remarks))
    }

    /// Becomes the one installer, and finishes or undoes what was interrupted before.
    async fn begin(&self) -> Result<Guard, InstallError> {
        let this = self.clone();
        let (guard, recovery) = blocking(move || {
            let (layout, disk) = (&this.settings.layout, &*this.ports.disk);
            guard::prepare(layout, disk).map_err(doing("preparing the directory of plugins"))?;
            let guard = guard::try_installer(layout).map_err(doing("looking for other installers"))?;
            let guard = guard.ok_or(InstallError::Busy)?;
            let recovery = recover_with(&guard, layout, disk).map_err(doing("recovering from an interrupted change"))?;
            Ok((guard, recovery))
        })
        .await?;
        for leftover in &recovery.leftovers {
            if let Some(remark) = self.forget(leftover).await {
                tracing::warn!("{remark}");
            }
        }
        Ok(guard)
    }

    /// Stages a source and checks what came out of it.
    fn prepare(&self, request: &Request) -> Result<Prepared, InstallError> {
        let layout = &self.settings.layout;
        let lock = Lock::read(layout)?;
        let work = Work::begin(layout, &*self.ports.disk).map_err(doing("making a staging directory"))?;
        let prepared = self.fill(request, &work);
        match prepared {
            Ok((root, package, signer)) => Ok(Prepared { work, root, package, signer, lock }),
            Err(error) => {
                let _ = work.end(&*self.ports.disk);
                Err(error)
            }
        }
    }

    fn fill(&self, request: &Request, work: &Work) -> Result<(PathBuf, Package, Signer), InstallError> {
        let (settings, path) = (&*self.settings, request.source.path.clone());
        let staged = stage(&request.source, &work.unpacked(), &*self.ports.disk, &settings.limits);
        let staged = staged.map_err(|cause| InstallError::Stage { path: path.clone(), cause })?;
        let checks = CheckSettings { limits: &settings.limits, component_bytes: &*settings.component_bytes };
        let package = check(&staged.root, staged.added_file, &checks);
        let package = package.map_err(|cause| InstallError::Check { path: path.clone(), cause })?;
        self.check_place(request, &package)?;
        let trust = TrustStore::read(&settings.layout.trust(), &settings.trusted_keys)?;
        let is_required = settings.require_signature || request.require_signature;
        let signer = signature::verify(&package, staged.signature.as_deref(), &trust, is_required)
            .map_err(|cause| InstallError::Signature { path, cause })?;
        Ok((staged.root, package, signer))
    }

    /// Whether the plugin may have its place.
    fn check_place(&self, request: &Request, package: &Package) -> Result<(), InstallError> {
        let layout = &self.settings.layout;
        let lock = Lock::read(layout)?;
        let (id, is_known) = (&package.id, lock.entry(&package.id).is_some());
        match &request.update {
            Some(wanted) if wanted != id => {
                let path = request.source.path.clone();
                return Err(InstallError::OtherPlugin { path, found: id.clone(), wanted: wanted.clone() });
            }
            Some(_) if !is_known => return Err(InstallError::NotInstalled(id.clone())),
            None if is_known => return Err(InstallError::Installed(id.clone())),
            Some(_) => return Ok(()),
            None => {}
        }
        let place = layout.plugin(id);
        if place.symlink_metadata().is_ok() {
            return Err(InstallError::ByHand { id: id.clone(), place });
        }
        let sources = Sources { installed: Some(layout.plugins()), ..Sources::default() };
        let taken = discover(&sources).found.into_iter().find_map(|found| match found {
            Found::Plugin(candidate) if candidate.manifest.id == *id => Some(candidate.place()),
            _ => None,
        });
        taken.map_or(Ok(()), |place| Err(InstallError::ByHand { id: id.clone(), place }))
    }

    /// Asks everybody who has a say, and switches.
    async fn judge_and_switch(
        &self,
        request: &Request,
        prepared: &Prepared,
    ) -> Result<(Outcome, Option<Leftover>), InstallError> {
        let Prepared { root, package, signer, lock, .. } = prepared;
        let mode = if request.update.is_some() { Mode::Update } else { Mode::Install };
        let material = Material::of_plugin(package, root, &request.source, mode, request.specifier.clone());
        let reviewed = self.ports.review.judge(&material, &request.acknowledged).await?;
        let replaced = lock.entry(&package.id).cloned();
        let wider = replaced.as_ref().map(|old| wider(old, &package.asks, signer)).unwrap_or_default();
        if !wider.is_empty() && !request.accept_capabilities {
            return Err(InstallError::Capabilities { id: package.id.clone(), wider });
        }
        let outcome = Outcome {
            package: package.clone(),
            replaced,
            signer: signer.clone(),
            reviewed,
            wider,
            directory: self.settings.layout.plugin(&package.id),
            remarks: Vec::new(),
        };
        if request.dry_run {
            return Ok((outcome, None));
        }
        let (this, entry) = (self.clone(), self.entry(request, prepared));
        let (work, root, package, lock) = (prepared.work.clone(), root.clone(), package.clone(), lock.clone());
        let leftover = blocking(move || this.switch(&work, &root, &package, lock, entry)).await?;
        Ok((outcome, Some(leftover)))
    }

    fn entry(&self, request: &Request, prepared: &Prepared) -> Entry {
        let package = &prepared.package;
        let manifest = package.manifest_file.clone().unwrap_or_else(|| package.component.clone());
        Entry {
            installation: uuid::Uuid::now_v7().to_string(),
            version: package.version.clone(),
            source: EntrySource { kind: request.source.kind.name().to_owned(), path: request.source.path.clone() },
            component: EntryFile { path: package.component.clone(), sha256: package.component_sha256.clone() },
            manifest: EntryFile { path: manifest, sha256: package.manifest_sha256.clone() },
            files: package.files.clone(),
            signer: prepared.signer.trusted().cloned(),
            accepted: package.asks.clone(),
            installed_at: rfc3339(self.ports.clock.now_ms()),
        }
    }

    fn switch(
        &self,
        work: &Work,
        root: &std::path::Path,
        package: &Package,
        lock: Lock,
        entry: Entry,
    ) -> Result<Leftover, InstallError> {
        let (layout, disk) = (&self.settings.layout, &*self.ports.disk);
        // Others had a look at it meanwhile, programs among them.
        let found = digest::files(root, &self.settings.limits);
        if found.ok().as_ref() != Some(&package.files) {
            return Err(InstallError::Tampered { path: root.to_owned() });
        }
        disk.rename(root, &work.new_version()).map_err(doing("moving the staged plugin"))?;
        disk.sync_dir(work.path()).map_err(doing("moving the staged plugin"))?;
        (Switch { layout, disk, work }).place(&package.id, lock, entry).map_err(doing("putting the plugin into its place"))
    }

    fn take_away(&self, id: &PluginId) -> Result<(Entry, Leftover), InstallError> {
        let (layout, disk) = (&self.settings.layout, &*self.ports.disk);
        let lock = Lock::read(layout)?;
        let Some(entry) = lock.entry(id).cloned() else {
            let place = layout.plugin(id);
            let is_there = place.symlink_metadata().is_ok();
            return Err(if is_there {
                InstallError::ByHand { id: id.clone(), place }
            } else {
                InstallError::NotInstalled(id.clone())
            });
        };
        let work = Work::begin(layout, disk).map_err(doing("making a directory for the removal"))?;
        match (Switch { layout, disk, work: &work }).remove(id, lock, &entry) {
            Ok(leftover) => Ok((entry, leftover)),
            Err(error) => Err(doing("taking the plugin away")(error)),
        }
    }

    /// Clears up after a change that happened. What does not work now is done by the next recovery pass.
    async fn forget(&self, leftover: &Leftover) -> Option<String> {
        let forgotten = forget(&self.settings.layout, &*self.ports.disk, &*self.ports.residue, leftover).await;
        forgotten.err().map(|problem| format!("plugin `{}`: {problem}; it is tried again at the next start", leftover.journal.id))
    }
}

/// What an update asks for beyond what was accepted. Another signer is more, too: somebody else could have made it.
fn wider(old: &Entry, asks: &Asks, signer: &Signer) -> Vec<Widening> {
    let mut wider = asks.beyond(&old.accepted);
    if let Some(before) = old.signer.as_ref().filter(|before| signer.trusted() != Some(before)) {
        let now = signer.trusted().map_or_else(|| "nobody who is trusted".to_owned(), ToString::to_string);
        wider.push(Widening { right: "signer".to_owned(), bound: Some(format!("{before} → {now}")) });
    }
    wider
}

fn rfc3339(now_ms: u64) -> String {
    let timestamp = i64::try_from(now_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    timestamp.unwrap_or(jiff::Timestamp::UNIX_EPOCH).to_string()
}

/// Work on the disk, away from the async threads.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, InstallError> + Send + 'static) -> Result<T, InstallError> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(InstallError::Interrupted))
}
