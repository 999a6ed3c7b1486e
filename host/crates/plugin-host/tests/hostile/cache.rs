//! Compiled code on disk that somebody changed, cut, exchanged or made himself. Loading it would be running it outside of every sandbox,
//! so what this host did not write exactly so is compiled again, and nothing else happens.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use hooks::Scope;
use plugin_host::{HostSettings, LoadStep, ReadyPlugin};
use tempfile::TempDir;

use crate::guest::{self, block, guard, with_hook};
use crate::rig::{call, dispatcher, load_with, plugin};

/// A directory of compiled code, and how to change what is in it.
struct Disk(TempDir);

impl Disk {
    /// With the code of plugins that were started once.
    async fn with(plugins: &[ReadyPlugin]) -> Self {
        let disk = Self(TempDir::new().unwrap());
        assert_eq!(disk.compiled(plugins).await.len(), plugins.len());
        assert_eq!(disk.compiled(plugins).await, [""; 0], "nothing is compiled twice");
        disk
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("code")
    }

    /// Starts the plugins; gives the ids of those that were compiled.
    async fn compiled(&self, plugins: &[ReadyPlugin]) -> Vec<String> {
        self.started(plugins).await.0
    }

    /// The same, with what the gate of all of them says.
    async fn started(&self, plugins: &[ReadyPlugin]) -> (Vec<String>, Option<String>) {
        let compiled = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&compiled);
        let settings = HostSettings {
            cache_directory: Some(self.path()),
            progress: Some(Arc::new(move |step: LoadStep<'_>| {
                if let LoadStep::CompileFinished { plugin, .. } = step {
                    told.lock().unwrap().push(plugin.to_string());
                }
            })),
            ..HostSettings::default()
        };
        let dispatcher = dispatcher(load_with(settings, plugins.to_vec()).await);
        let said = call(&dispatcher, &Scope::default()).await.unwrap();
        let compiled = std::mem::take(&mut *compiled.lock().unwrap());
        (compiled, said)
    }

    /// The entry of a plugin.
    fn entry(&self, plugin: &ReadyPlugin) -> PathBuf {
        let digest = hex::encode(plugin.digest);
        let mut entries = fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.find(|path| path.to_str().unwrap().contains(&digest)).expect("an entry")
    }

    fn key(&self) -> PathBuf {
        self.path().join("cache.key")
    }
}

/// A gate that blocks with a word of five letters.
fn says(id: &str, word: &str) -> ReadyPlugin {
    let body = block("(i32.const 600)", "(i32.const 5)");
    plugin(id, with_hook(guest::GUARD, &body, &format!(r#"(data (i32.const 600) "{word}")"#)))
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn entry_with_one_byte_changed() {
    let good = [says("good", "hello")];
    let disk = Disk::with(&good).await;
    let entry = disk.entry(&good[0]);
    let bytes = fs::read(&entry).unwrap();
    // One in each page of it, each time at another place of the page, and in the hash at its end.
    let places = (0..bytes.len()).step_by(4096).map(|page| (page + page / 4096 * 997 % 4096).min(bytes.len() - 1));
    for place in places.chain([bytes.len() - 32, bytes.len() - 1]) {
        fs::write(&entry, &bytes).unwrap();
        change(&entry, |bytes| bytes[place] ^= 1);
        assert_eq!(disk.started(&good).await, (vec!["good".to_owned()], Some("hello".to_owned())), "byte {place}");
    }
    assert_eq!(disk.compiled(&good).await, [""; 0], "the last one was replaced by a good one");
}

#[tokio::test]
async fn entry_that_is_cut_short() {
    let good = [says("good", "hello")];
    let disk = Disk::with(&good).await;
    let entry = disk.entry(&good[0]);
    let bytes = fs::read(&entry).unwrap();
    for length in [0, 1, 31, 32, 33, 4096, bytes.len() / 2, bytes.len() - 32, bytes.len() - 1] {
        fs::write(&entry, &bytes[..length]).unwrap();
        assert_eq!(disk.started(&good).await, (vec!["good".to_owned()], Some("hello".to_owned())), "{length} bytes");
    }
}

#[tokio::test]
async fn entry_of_another_plugin() {
    let plugins = [says("first", "first"), says("other", "other")];
    let disk = Disk::with(&plugins).await;
    fs::copy(disk.entry(&plugins[1]), disk.entry(&plugins[0])).unwrap();
    assert_eq!(disk.started(&plugins).await, (vec!["first".to_owned()], Some("first".to_owned())));
}

#[tokio::test]
async fn entry_of_an_older_version() {
    let (old, new) = ([says("p", "older")], [says("p", "newer")]);
    let disk = Disk::with(&old).await;
    let stale = disk.entry(&old[0]);
    let name = stale.to_str().unwrap().replace(&hex::encode(old[0].digest), &hex::encode(new[0].digest));
    fs::copy(&stale, name).unwrap();
    assert_eq!(disk.started(&new).await, (vec!["p".to_owned()], Some("newer".to_owned())));
}

#[tokio::test]
async fn entry_of_another_host() {
    let good = [says("good", "hello")];
    let (disk, foreign) = (Disk::with(&good).await, Disk::with(&good).await);
    fs::copy(foreign.entry(&good[0]), disk.entry(&good[0])).unwrap();
    assert_eq!(disk.compiled(&good).await, ["good"]);
}

#[tokio::test]
async fn entry_signed_with_a_guessed_key() {
    let good = [says("good", "hello")];
    let disk = Disk::with(&good).await;
    for hash in [|code: &[u8]| blake3::hash(code), |code: &[u8]| blake3::keyed_hash(&[0; 32], code)] {
        change(&disk.entry(&good[0]), |bytes| {
            let code = bytes.len() - 32;
            bytes[100] ^= 1;
            let hash = hash(&bytes[..code]);
            bytes[code..].copy_from_slice(hash.as_bytes());
        });
        assert_eq!(disk.started(&good).await, (vec!["good".to_owned()], Some("hello".to_owned())));
    }
}

#[tokio::test]
async fn key_that_somebody_replaced() {
    let good = [says("good", "hello")];
    let disk = Disk::with(&good).await;
    for forged in [&[7; 32][..], &[7; 31], &[]] {
        change(&disk.key(), |bytes| *bytes = forged.to_vec());
        assert_eq!(disk.started(&good).await, (vec!["good".to_owned()], Some("hello".to_owned())));
        assert_eq!(disk.compiled(&good).await, [""; 0], "from now on the new key counts");
    }
}

#[tokio::test]
async fn key_that_is_a_link_or_gone() {
    let good = [says("good", "hello")];
    let disk = Disk::with(&good).await;
    let known = disk.0.path().join("known");
    fs::copy(disk.key(), &known).unwrap();
    fs::remove_file(disk.key()).unwrap();
    symlink(&known, disk.key()).unwrap();
    assert_eq!(disk.compiled(&good).await, ["good"]);
    assert!(fs::symlink_metadata(disk.key()).unwrap().is_file(), "the link was replaced");
    fs::remove_file(disk.key()).unwrap();
    assert_eq!(disk.compiled(&good).await, ["good"]);
}

#[tokio::test]
async fn entry_that_is_a_link_a_directory_or_nobodys() {
    let good = [says("good", "hello")];
    let disk = Disk::with(&good).await;
    let entry = disk.entry(&good[0]);
    let elsewhere = disk.0.path().join("elsewhere");
    fs::rename(&entry, &elsewhere).unwrap();
    symlink(&elsewhere, &entry).unwrap();
    assert_eq!(disk.compiled(&good).await, ["good"]);
    fs::remove_file(&entry).unwrap();
    symlink("/dev/zero", &entry).unwrap();
    assert_eq!(disk.compiled(&good).await, ["good"]);
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    // It cannot be replaced, so the plugin is compiled at every start, and runs.
    assert_eq!(disk.started(&good).await, (vec!["good".to_owned()], Some("hello".to_owned())));
}

#[tokio::test]
async fn two_plugins_with_one_component() {
    // Nothing is gained by having the component of somebody else: code is shared, instances and grants are not.
    let component = guard(&block("(i32.const 600)", "(i32.const 0)"));
    let plugins = [plugin("first", component.clone()), plugin("other", component)];
    let disk = Disk(TempDir::new().unwrap());
    assert_eq!(disk.compiled(&plugins).await, ["first"]);
}
