//! Every way in, and what no way lets in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;
use crate::digest::{self, sha256};
use crate::disk::SystemDisk;
use crate::test_support::{component, manifest};

const SMALL: Limits = Limits { entries: 8, bytes: 16_384, depth: 4 };

struct Bed(tempfile::TempDir);

impl Bed {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// Stages a source: the names of the files that came out, or the refusal.
    fn stage(&self, path: &Path) -> Result<Vec<String>, String> {
        let into = self.path(&format!("staged-{}", uuid::Uuid::now_v7()));
        let source = Source::find(path).map_err(|error| error.to_string())?;
        let staged = stage(&source, &into, &SystemDisk, &SMALL).map_err(|error| error.to_string())?;
        assert!(!self.path("escaped").exists());
        Ok(digest::files(&staged.root, &SMALL).unwrap().into_keys().collect())
    }

    fn tar(&self, entries: &[Entry<'_>]) -> PathBuf {
        self.write("a.tar", &tar_bytes(entries))
    }

    fn zip(&self, entries: &[(&str, u32, &[u8])]) -> PathBuf {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, mode, bytes) in entries {
            let options = zip::write::SimpleFileOptions::default().unix_permissions(*mode);
            if mode & 0o170_000 == 0o120_000 {
                writer.add_symlink(*name, "/etc/passwd", options).unwrap();
            } else {
                writer.start_file(*name, options).unwrap();
                writer.write_all(bytes).unwrap();
            }
        }
        self.write("a.zip", &writer.finish().unwrap().into_inner())
    }
}

struct Entry<'a> {
    name: &'a str,
    kind: tar::EntryType,
    bytes: &'a [u8],
}

fn file<'a>(name: &'a str, bytes: &'a [u8]) -> Entry<'a> {
    Entry { name, kind: tar::EntryType::Regular, bytes }
}

/// A tar archive with names as they are: the writer of the library would refuse most of them.
fn tar_bytes(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for entry in entries {
        let mut header = tar::Header::new_gnu();
        header.as_mut_bytes()[..entry.name.len()].copy_from_slice(entry.name.as_bytes());
        header.set_entry_type(entry.kind);
        header.set_mode(0o644);
        header.set_size(entry.bytes.len() as u64);
        if matches!(entry.kind, tar::EntryType::Symlink | tar::EntryType::Link) {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        builder.append(&header, entry.bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn every_kind_of_archive_comes_out_the_same() {
    let bed = Bed::new();
    let entries = [
        file("./creel.plugin.json", b"{}"),
        file("skills/a.md", b"a"),
        file(".git/config", b"x"),
        file("node_modules/x.js", b"x"),
    ];
    let expected = Ok(vec!["creel.plugin.json".to_owned(), "skills/a.md".to_owned()]);
    assert_eq!(bed.stage(&bed.tar(&entries)), expected);
    let packed = gzip(&tar_bytes(&entries));
    assert_eq!(bed.stage(&bed.write("a.tar.gz", &packed)), expected);
    assert_eq!(bed.stage(&bed.write("a.TGZ", &packed)), expected);
    let zipped = [("creel.plugin.json", 0o100_644, &b"{}"[..]), ("skills/a.md", 0o100_644, b"a"), (".env", 0o100_644, b"x")];
    assert_eq!(bed.stage(&bed.zip(&zipped)), expected);
    // Archives are often made of the directory itself.
    let wrapped = [
        Entry { name: "plugin/", kind: tar::EntryType::Directory, bytes: b"" },
        file("plugin/creel.plugin.json", b"{}"),
        file("plugin/skills/a.md", b"a"),
    ];
    assert_eq!(bed.stage(&bed.tar(&wrapped)), expected);
}

#[test]
fn names_that_lead_out_are_refused_in_every_archive() {
    let bed = Bed::new();
    for name in ["../escaped", "a/../../escaped", "/tmp/escaped", "a/./../../escaped", "a\\..\\escaped", ".hidden/../../escaped"]
    {
        for path in [bed.tar(&[file(name, b"x")]), bed.zip(&[(name, 0o100_644, b"x")])] {
            let refused = bed.stage(&path);
            assert!(refused.as_ref().is_err_and(|told| told.starts_with("the entry `")), "{name}: {refused:?}");
        }
    }
}

#[test]
fn links_and_devices_are_refused() {
    let bed = Bed::new();
    use tar::EntryType;
    for kind in [EntryType::Symlink, EntryType::Link, EntryType::Char, EntryType::Block, EntryType::Fifo, EntryType::GNUSparse] {
        let refused = bed.stage(&bed.tar(&[file("good", b"x"), Entry { name: "bad", kind, bytes: b"" }])).unwrap_err();
        assert!(refused.contains("`bad`") || refused.contains("damaged"), "{kind:?}: {refused}");
    }
    let refused = bed.stage(&bed.zip(&[("good", 0o100_644, b"x"), ("bad", 0o120_777, b"")])).unwrap_err();
    assert!(refused.contains("`bad` is a link"), "{refused}");
    let plugin = bed.write("dir/creel.plugin.json", b"{}").parent().unwrap().to_owned();
    symlink("/etc/passwd", plugin.join("bad")).unwrap();
    let refused = bed.stage(&plugin).unwrap_err();
    assert!(refused.contains("`bad` is a link"), "{refused}");
    fs::remove_file(plugin.join("bad")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(plugin.join("pipe")).status().unwrap().success());
    let refused = bed.stage(&plugin).unwrap_err();
    assert!(refused.contains("`pipe` is a link, a pipe or a device"), "{refused}");
}

#[test]
fn names_that_a_file_system_could_confuse_are_refused() {
    let bed = Bed::new();
    for names in [["a", "a"], ["a", "A"], ["d/x", "D/y"], ["a", "a/b"], ["a/b", "a"], ["Straße", "STRAßE"]] {
        let refused = bed.stage(&bed.tar(&[file(names[0], b"1"), file(names[1], b"2")]));
        assert!(refused.as_ref().is_err_and(|told| told.contains("is there twice")), "{names:?}: {refused:?}");
    }
    // The writer of zip archives makes no duplicates, so one name is changed behind its back.
    let path = bed.zip(&[("name-1", 0o100_644, b"1"), ("name-2", 0o100_644, b"2")]);
    let mut bytes = fs::read(&path).unwrap();
    for at in (0..bytes.len() - 6).rev() {
        if &bytes[at..at + 6] == b"name-2" {
            bytes[at + 5] = b'1';
        }
    }
    let refused = bed.stage(&bed.write("b.zip", &bytes));
    assert!(refused.as_ref().is_err_and(|told| told.contains("one name")), "{refused:?}");
    let confused = bed.zip(&[("a", 0o100_644, b"1"), ("A", 0o100_644, b"2")]);
    assert!(bed.stage(&confused).unwrap_err().contains("is there twice"));
}

#[test]
fn every_limit_bites_at_its_number() {
    let bed = Bed::new();
    let names: Vec<String> = (0..9).map(|index| format!("f{index}")).collect();
    let entries: Vec<Entry<'_>> = names.iter().map(|name| file(name, b"")).collect();
    assert_eq!(bed.stage(&bed.tar(&entries[..8])).unwrap().len(), 8);
    assert!(bed.stage(&bed.tar(&entries)).unwrap_err().contains("more than 8 files"));
    let half = vec![0; 8_192];
    assert_eq!(bed.stage(&bed.write("a.tgz", &gzip(&tar_bytes(&[file("a", &half), file("b", &half)])))).unwrap().len(), 2);
    let more = tar_bytes(&[file("a", &half), file("b", &half), file("c", b"x")]);
    assert!(bed.stage(&bed.write("a.tgz", &gzip(&more))).unwrap_err().contains("more than 16384 bytes"));
    assert!(bed.stage(&bed.write("a.tar", &more)).unwrap_err().contains("more than 16384 bytes"), "the archive itself");
    assert!(bed.stage(&bed.tar(&[file("1/2/3/4", b"")])).is_ok());
    assert!(bed.stage(&bed.tar(&[file("1/2/3/4/5", b"")])).unwrap_err().contains("4 directories deep"));
    // Hidden entries are not staged, and count all the same.
    let hidden: Vec<String> = (0..9).map(|index| format!(".f{index}")).collect();
    let hidden: Vec<Entry<'_>> = hidden.iter().map(|name| file(name, b"")).collect();
    assert!(bed.stage(&bed.tar(&hidden)).unwrap_err().contains("more than 8 files"));
    let plugin = bed.write("dir/creel.plugin.json", &[b' '; 16_385]).parent().unwrap().to_owned();
    assert!(bed.stage(&plugin).unwrap_err().contains("more than 16384 bytes"));
}

#[test]
fn bombs_stay_small() {
    let bed = Bed::new();
    let zeros = vec![0; 64 << 20];
    let packed = gzip(&tar_bytes(&[file("bomb", &zeros)]));
    let limits = Limits { bytes: 1 << 20, ..Limits::default() };
    let bomb = bed.write("bomb.tgz", &packed);
    let unpacked = stage(&Source::find(&bomb).unwrap(), &bed.path("into"), &SystemDisk, &limits);
    assert!(matches!(unpacked, Err(StageError::TooLarge { max: 1_048_576 })), "{unpacked:?}");
    // A long name is held in memory, so it is bounded with the rest.
    let mut long = tar::Header::new_gnu();
    long.set_entry_type(tar::EntryType::GNULongName);
    long.set_size(zeros.len() as u64);
    long.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&long, zeros.as_slice()).unwrap();
    let name_bomb = bed.write("name.tgz", &gzip(&builder.into_inner().unwrap()));
    let refused = stage(&Source::find(&name_bomb).unwrap(), &bed.path("into2"), &SystemDisk, &limits);
    assert!(refused.is_err(), "{refused:?}");
    let zipped = bed.zip(&[("bomb", 0o100_644, &zeros)]);
    assert!(bed.stage(&zipped).unwrap_err().contains("bytes"));
}

#[test]
fn damaged_and_misnamed_archives_are_refused() {
    let bed = Bed::new();
    let good = tar_bytes(&[file("creel.plugin.json", b"{}")]);
    for (name, bytes) in [
        ("cut.tar", good[..700].to_vec()),
        ("empty.tar", vec![0; 1_024]),
        ("text.tar", b"hello".to_vec()),
        ("cut.tgz", gzip(&good)[..40].to_vec()),
        ("not.tgz", good.clone()),
        ("not.zip", gzip(&good)),
        ("cut.zip", b"PK\x03\x04".to_vec()),
        ("not.wasm", b"text".to_vec()),
        ("plugin.rar", b"Rar!".to_vec()),
    ] {
        assert!(bed.stage(&bed.write(name, &bytes)).is_err(), "{name}");
    }
    assert!(bed.stage(&bed.path("nowhere")).is_err());
}

#[test]
fn a_component_alone_gets_a_package_file() {
    let bed = Bed::new();
    let path = bed.write("guard-1.2.wasm", &component(&[], "x"));
    assert_eq!(bed.stage(&path), Ok(vec!["package.json".to_owned(), "plugin.wasm".to_owned()]));
    assert_eq!(bed.stage(&bed.tar(&[file("any.wasm", b"\0asm")])), Ok(vec!["any.wasm".to_owned(), "package.json".to_owned()]));
    let with_manifest = bed.tar(&[file("any.wasm", b"\0asm"), file("creel.plugin.json", b"{}")]);
    assert_eq!(bed.stage(&with_manifest), Ok(vec!["any.wasm".to_owned(), "creel.plugin.json".to_owned()]));
}

/// An image layout with these layers and this config, after a change of its parts.
struct Image {
    layers: Vec<(&'static str, Vec<u8>)>,
    config: (&'static str, Vec<u8>),
}

const WASM: &str = "application/wasm";

impl Image {
    fn good() -> Self {
        let text = manifest("guard", "1", json!({ "component": "lib/guard.wasm" }));
        Self { layers: vec![(WASM, component(&[], "x"))], config: (oci::MANIFEST_TYPE, text.into_bytes()) }
    }

    fn write(&self, bed: &Bed, change: impl FnOnce(&mut Value, &mut Value)) -> PathBuf {
        let root = bed.path(&format!("oci-{}", uuid::Uuid::now_v7()));
        let blob = |media_type: &str, bytes: &[u8]| {
            let digest = sha256(bytes);
            fs::create_dir_all(root.join("blobs/sha256")).unwrap();
            fs::write(root.join("blobs/sha256").join(&digest), bytes).unwrap();
            json!({ "mediaType": media_type, "digest": format!("sha256:{digest}"), "size": bytes.len() })
        };
        let layers: Vec<Value> = self.layers.iter().map(|(media_type, bytes)| blob(media_type, bytes)).collect();
        let config = blob(self.config.0, &self.config.1);
        let mut image = json!({ "schemaVersion": 2, "config": config, "layers": layers });
        let mut index = json!({ "schemaVersion": 2, "manifests": [] });
        change(&mut image, &mut index);
        let own = blob("application/vnd.oci.image.manifest.v1+json", image.to_string().as_bytes());
        let listed = index["manifests"].as_array_mut().unwrap();
        listed.insert(0, own);
        fs::write(root.join("index.json"), index.to_string()).unwrap();
        fs::write(root.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
        root
    }
}

#[test]
fn an_image_layout_holds_a_plugin() {
    let bed = Bed::new();
    let root = Image::good().write(&bed, |_, _| ());
    assert_eq!(bed.stage(&root), Ok(vec!["creel.plugin.json".to_owned(), "lib/guard.wasm".to_owned()]));
    let embedded = Image { config: ("application/vnd.wasm.config.v0+json", b"{}".to_vec()), ..Image::good() };
    assert_eq!(bed.stage(&embedded.write(&bed, |_, _| ())), Ok(vec!["package.json".to_owned(), "plugin.wasm".to_owned()]));
    let mut signed = Image::good();
    signed.layers.push((oci::SIGNATURE_TYPE, b"sig".to_vec()));
    let into = bed.path("into");
    let staged = stage(&Source::find(&signed.write(&bed, |_, _| ())).unwrap(), &into, &SystemDisk, &SMALL).unwrap();
    assert_eq!(staged.signature.as_deref(), Some(&b"sig"[..]));
}

#[test]
fn an_image_layout_that_lies_is_refused() {
    let bed = Bed::new();
    let refused = |root: &Path, why: &str| {
        let told = bed.stage(root).unwrap_err();
        assert!(told.contains(why), "{why}: {told}");
    };
    let blob_of = |root: &Path, bytes: &[u8]| root.join("blobs/sha256").join(sha256(bytes));
    // Every blob: another content, another size, gone.
    let image = Image::good();
    for bytes in [&image.layers[0].1, &image.config.1] {
        let root = image.write(&bed, |_, _| ());
        let mut other = bytes.clone();
        let last = other.len() - 1;
        other[last] ^= 1;
        fs::write(blob_of(&root, bytes), &other).unwrap();
        refused(&root, "does not have this digest");
        fs::write(blob_of(&root, bytes), &other[..last]).unwrap();
        refused(&root, "does not have this digest");
        fs::remove_file(blob_of(&root, bytes)).unwrap();
        refused(&root, "does not exist");
    }
    type Change = fn(&mut Value, &mut Value);
    let changes: [(Change, &str); 7] = [
        (|image, _| image["layers"][0]["size"] = json!(1_000_000), "may have 16384"),
        (|image, _| image["layers"][0]["digest"] = json!("md5:00"), "not a sha256 digest"),
        (|image, _| image["layers"][0]["digest"] = json!(format!("sha256:../../{}", "0".repeat(58))), "not a sha256 digest"),
        (|image, _| image["layers"] = json!([]), "its layers are []"),
        (|image, _| image["layers"] = json!([image["layers"][0], image["layers"][0]]), "its layers are"),
        (|image, _| image["layers"][0]["mediaType"] = json!("text/plain"), "text/plain"),
        (|_, index| index["manifests"] = json!([{ "mediaType": "x", "digest": "sha256:0", "size": 1 }]), "lists 2 manifests"),
    ];
    for (change, why) in changes {
        refused(&Image::good().write(&bed, change), why);
    }
    let root = Image::good().write(&bed, |_, _| ());
    fs::write(root.join("oci-layout"), r#"{"imageLayoutVersion":"2.0.0"}"#).unwrap();
    refused(&root, "2.0.0");
    let outside = manifest("guard", "1", json!({ "component": "../escaped" })).into_bytes();
    let escaping = Image { config: (oci::MANIFEST_TYPE, outside), ..Image::good() };
    refused(&escaping.write(&bed, |_, _| ()), "`..`");
}
