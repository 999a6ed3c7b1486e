//! Tells that a file has changed of which plugins are made, once things are quiet. Looks at single directories, never at trees: the
//! component of a plugin that is being developed lies among thousands of files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// Whoever writes without end is not waited for longer than this many times the quiet time.
const MAX_WAITS: u32 = 10;

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Whatever is directly in this directory.
    Directory(PathBuf),
    /// This file, which may not exist yet.
    File(PathBuf),
}

/// Names that count in a directory. None: all.
type Names = Option<BTreeSet<OsString>>;

/// Watches files.
pub struct Watcher {
    watcher: RecommendedWatcher,
    watched: BTreeSet<PathBuf>,
    shared: Arc<Shared>,
    quiet: Duration,
    /// Something has changed that was not told yet.
    is_due: bool,
}

#[derive(Default)]
struct Shared {
    directories: Mutex<BTreeMap<PathBuf, Names>>,
    changed: Notify,
}

impl Watcher {
    /// Watches nothing yet. A change is told once nothing has changed for `quiet`.
    ///
    /// # Errors
    /// When the operating system does not tell changes.
    pub fn start(quiet: Duration) -> notify::Result<Self> {
        let shared = Arc::<Shared>::default();
        let hears = Arc::clone(&shared);
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| match event {
            Ok(event) if hears.counts(&event) => hears.changed.notify_one(),
            Ok(_) => {}
            // Something was missed, so something may have changed.
            Err(_) => hears.changed.notify_one(),
        })?;
        Ok(Self { watcher, watched: BTreeSet::new(), shared, quiet, is_due: false })
    }

    /// Watches these places from now on, and no others. Of a place that does not exist its nearest directory is watched until it does.
    /// What is in a directory that was not watched before may have changed since it was looked at, so that counts as a change.
    pub fn watch(&mut self, places: impl IntoIterator<Item = Place>) {
        let mut directories: BTreeMap<PathBuf, Names> = BTreeMap::new();
        for place in places {
            let (directory, name) = nearest(place);
            let names = directories.entry(directory).or_insert_with(|| Some(BTreeSet::new()));
            match name {
                Some(name) => drop(names.as_mut().map(|names| names.insert(name))),
                None => *names = None,
            }
        }
        let wanted: BTreeSet<PathBuf> = directories.keys().cloned().collect();
        *self.shared.directories.lock().unwrap_or_else(PoisonError::into_inner) = directories;
        for gone in self.watched.difference(&wanted) {
            // It is not watched any more if it is not there any more.
            let _ = self.watcher.unwatch(gone);
        }
        // Asked for again, because a directory that was replaced by another one of its name is a new one for the operating system.
        for directory in &wanted {
            if let Err(error) = self.watcher.watch(directory, RecursiveMode::NonRecursive) {
                tracing::warn!("changes in {} are not noticed: {error}", directory.display());
            }
        }
        if !wanted.is_subset(&self.watched) {
            self.shared.changed.notify_one();
        }
        self.watched = wanted;
    }

    /// Waits until something has changed and things are quiet again. May be given up and called again; nothing is lost.
    pub async fn changed(&mut self) {
        if !self.is_due {
            self.shared.changed.notified().await;
            self.is_due = true;
        }
        let last = Instant::now() + self.quiet * MAX_WAITS;
        while Instant::now() < last && timeout_at(Instant::now() + self.quiet, self.shared.changed.notified()).await.is_ok() {}
        self.is_due = false;
    }
}

impl Shared {
    /// Whether an event may mean that a plugin is another one now. Reading is none, nor is a change of times and rights.
    fn counts(&self, event: &Event) -> bool {
        let is_change = match event.kind {
            EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) => false,
            EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Remove(_) | EventKind::Other => true,
        };
        let directories = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        is_change && (event.need_rescan() || event.paths.iter().any(|path| is_watched(&directories, path)))
    }
}

fn is_watched(directories: &BTreeMap<PathBuf, Names>, path: &Path) -> bool {
    let is_named = |directory: &Path, name: &OsString| match directories.get(directory) {
        Some(Some(names)) => names.contains(name),
        Some(None) => true,
        None => false,
    };
    // A watched directory that goes away or comes back is told by its own path.
    directories.contains_key(path)
        || path.parent().zip(path.file_name()).is_some_and(|(directory, name)| is_named(directory, &name.to_owned()))
}

/// The directory to watch for a place, and the name that counts in it.
fn nearest(place: Place) -> (PathBuf, Option<OsString>) {
    let mut path = match place {
        Place::Directory(path) if path.is_dir() => return (path, None),
        Place::Directory(path) | Place::File(path) => path,
    };
    loop {
        let name = path.file_name().map(OsString::from);
        if !path.pop() {
            return (PathBuf::from("/"), name);
        }
        if path.is_dir() {
            return (path, name);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::fs;

    use super::*;

    /// Far above what a notice takes.
    const LIMIT: Duration = Duration::from_secs(60);

    /// A watcher that has told what is there from the start.
    async fn watcher(places: impl IntoIterator<Item = Place>) -> Watcher {
        let mut watcher = Watcher::start(Duration::from_millis(20)).unwrap();
        watcher.watch(places);
        hears(&mut watcher).await;
        watcher
    }

    async fn hears(watcher: &mut Watcher) {
        tokio::time::timeout(LIMIT, watcher.changed()).await.unwrap();
    }

    /// Events come in order, so what was heard before a change of `witness` is all that there was.
    async fn hears_only(watcher: &mut Watcher, witness: &Path) {
        assert!(!watcher.shared.counts(&Event::new(EventKind::Create(notify::event::CreateKind::File)).add_path("/else".into())));
        fs::write(witness, "now").unwrap();
        hears(watcher).await;
    }

    #[tokio::test]
    async fn files_that_count_are_noticed_also_if_they_do_not_exist_yet() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("made/later.json");
        let mut watcher = watcher([Place::File(file.clone())]).await;
        fs::create_dir(dir.path().join("made")).unwrap();
        hears(&mut watcher).await;
        watcher.watch([Place::File(file.clone())]);
        fs::write(&file, "{}").unwrap();
        hears(&mut watcher).await;
        fs::rename(&file, dir.path().join("made/other")).unwrap();
        hears(&mut watcher).await;
    }

    #[tokio::test]
    async fn what_lies_beside_a_file_that_counts_is_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("creel.json");
        let mut watcher = watcher([Place::File(file.clone())]).await;
        let of = |name: &str| Event::new(EventKind::Modify(ModifyKind::Any)).add_path(dir.path().join(name));
        assert!(!watcher.shared.counts(&of("creel.sqlite")) && watcher.shared.counts(&of("creel.json")));
        hears_only(&mut watcher, &file).await;
    }

    #[tokio::test]
    async fn reading_is_no_change() {
        let dir = tempfile::tempdir().unwrap();
        let mut watcher = watcher([Place::Directory(dir.path().to_owned())]).await;
        let of = |kind| Event::new(kind).add_path(dir.path().join("plugin.wasm"));
        assert!(!watcher.shared.counts(&of(EventKind::Access(notify::event::AccessKind::Read))));
        assert!(!watcher.shared.counts(&of(EventKind::Modify(ModifyKind::Metadata(notify::event::MetadataKind::Any)))));
        hears_only(&mut watcher, &dir.path().join("plugin.wasm")).await;
    }

    #[tokio::test]
    async fn a_wait_that_is_given_up_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut watcher = watcher([Place::Directory(dir.path().to_owned())]).await;
        watcher.quiet = LIMIT;
        fs::write(dir.path().join("plugin.wasm"), "now").unwrap();
        // Given up while it waits for quiet.
        let heard = async {
            while !watcher.is_due {
                let _ = tokio::time::timeout(Duration::from_millis(50), watcher.changed()).await;
            }
        };
        tokio::time::timeout(LIMIT, heard).await.unwrap();
        watcher.quiet = Duration::from_millis(20);
        hears(&mut watcher).await;
        assert!(!watcher.is_due);
    }

    #[tokio::test]
    async fn a_directory_that_is_watched_from_now_on_is_looked_at_once_more() {
        let dir = tempfile::tempdir().unwrap();
        let plugin = dir.path().join("plugin");
        let places = || [Place::Directory(dir.path().to_owned()), Place::Directory(plugin.clone())];
        let mut watcher = watcher(places()).await;
        fs::create_dir(&plugin).unwrap();
        hears(&mut watcher).await;
        // What is made here before the directory is watched is told by nobody.
        fs::write(plugin.join("creel.plugin.json"), "{}").unwrap();
        watcher.watch(places());
        hears(&mut watcher).await;
        watcher.watch(places());
        hears_only(&mut watcher, &plugin.join("creel.plugin.json")).await;
    }
}
