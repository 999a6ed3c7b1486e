//! The C library objects of the target, from Debian's package `wasi-libc`.
//!
//! The package must come from a release that has the objects for `wasm32-wasip2`; it is the same for every architecture and is only
//! unpacked, never installed. Apt fetches and verifies it in a state of its own, so the package sources of the machine stay as they
//! are; only the address of the mirror is taken from them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::apt_sources;
use super::debian::DebianError;
use crate::command::{self, Stdout};
use crate::progress::Report;

/// The first release of Debian whose `wasi-libc` has the target.
const SUITE: &str = "trixie";

const PACKAGE: &str = "wasi-libc";

/// Where the package has the objects.
const INSIDE: &str = "usr/lib/wasm32-wasip2";

/// What the linker asks for.
const OBJECTS: [&str; 3] = ["crt1-command.o", "crt1-reactor.o", "libc.a"];

/// Where Debian's compiler looks for them.
const PLACE: &str = "/usr/lib/rustlib/wasm32-wasip2/lib/self-contained";

/// The objects in [`PLACE`].
pub(super) const PLACES: [&str; 3] = [
    "/usr/lib/rustlib/wasm32-wasip2/lib/self-contained/crt1-command.o",
    "/usr/lib/rustlib/wasm32-wasip2/lib/self-contained/crt1-reactor.o",
    "/usr/lib/rustlib/wasm32-wasip2/lib/self-contained/libc.a",
];

/// Package lists of about 10 MB and a package of 1 MB.
const FETCH_LIMIT: Duration = Duration::from_secs(300);

/// A folder in which the package is fetched and unpacked.
pub(super) struct WasiLibc<'a> {
    folder: &'a Path,
    report: Report<'a>,
}

impl<'a> WasiLibc<'a> {
    pub(super) fn new(folder: &'a Path, report: Report<'a>) -> Self {
        Self { folder, report }
    }

    /// The unpacked objects; fetches the package if they are not there yet.
    pub(super) fn objects(&self) -> Result<Vec<PathBuf>, DebianError> {
        let unpacked = self.folder.join("unpacked");
        let objects: Vec<_> = OBJECTS.iter().map(|name| unpacked.join(INSIDE).join(name)).collect();
        if objects.iter().all(|object| object.is_file()) {
            return Ok(objects);
        }
        self.unpack(&self.download()?, &unpacked)?;
        match objects.iter().find(|object| !object.is_file()) {
            Some(missing) => Err(DebianError::Incomplete { package: PACKAGE.into(), path: missing.clone() }),
            None => Ok(objects),
        }
    }

    fn download(&self) -> Result<PathBuf, DebianError> {
        let downloads = self.folder.join("downloads");
        for folder in [downloads.clone(), self.folder.join("lists/partial"), self.folder.join("cache/archives/partial")] {
            fs::create_dir_all(&folder).map_err(file_error(&folder))?;
        }
        // Left over from an attempt that was broken off.
        for old in fs::read_dir(&downloads).map_err(file_error(&downloads))?.flatten() {
            fs::remove_file(old.path()).map_err(file_error(&old.path()))?;
        }
        let mirror =
            apt_sources::mirror(Path::new("/etc/apt"), Path::new(apt_sources::OS_RELEASE)).ok_or(DebianError::NoMirror)?;
        let sources = self.folder.join("wasi-libc.sources");
        fs::write(&sources, mirror.with_suite(SUITE)).map_err(file_error(&sources))?;
        self.apt(&["update"])?;
        self.apt(&["download", PACKAGE])?;
        let package = fs::read_dir(&downloads).map_err(file_error(&downloads))?.flatten().next();
        package.map(|file| file.path()).ok_or_else(|| DebianError::Incomplete { package: PACKAGE.into(), path: downloads })
    }

    fn apt(&self, arguments: &[&str]) -> Result<(), DebianError> {
        let mut apt = Command::new("apt-get");
        apt.arg("-q").env("LC_ALL", "C").current_dir(self.folder.join("downloads"));
        for option in self.apt_options() {
            apt.args(["-o", &option]);
        }
        apt.args(arguments);
        command::run(apt, Stdout::Talk, FETCH_LIMIT, self.report)?;
        Ok(())
    }

    /// A state apart from the machine's, and nothing that only a person needs. A path that is `-` is no path.
    fn apt_options(&self) -> [String; 10] {
        let at = |name: &str| self.folder.join(name).display().to_string();
        [
            format!("Dir::Etc::SourceList={}", at("wasi-libc.sources")),
            "Dir::Etc::SourceParts=-".into(),
            "Dir::Etc::Preferences=-".into(),
            "Dir::Etc::PreferencesParts=-".into(),
            format!("Dir::State::Lists={}", at("lists")),
            format!("Dir::Cache={}", at("cache")),
            "APT::Default-Release=".into(),
            "Acquire::Languages=none".into(),
            // Root's apt otherwise reads as a user who cannot look into every folder.
            "APT::Sandbox::User=root".into(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".into(),
        ]
    }

    /// In one step: what was unpacked in part has another name.
    fn unpack(&self, package: &Path, place: &Path) -> Result<(), DebianError> {
        let part = self.folder.join("unpacked.part");
        for old in [&part, place] {
            if old.exists() {
                fs::remove_dir_all(old).map_err(file_error(old))?;
            }
        }
        let mut dpkg = Command::new("dpkg");
        dpkg.arg("--extract").arg(package).arg(&part);
        command::run(dpkg, Stdout::Talk, FETCH_LIMIT, self.report)?;
        fs::rename(&part, place).map_err(file_error(place))
    }
}

/// What root must run to put the objects in place. Each appears whole: it is copied beside its place first, then renamed.
pub(super) fn placing(objects: &[PathBuf]) -> Vec<Vec<String>> {
    let copies = format!("{PLACE}.part");
    let mut copy = vec!["install".into(), "-D".into(), "-m".into(), "0644".into(), "-t".into(), copies.clone()];
    copy.extend(objects.iter().map(|object| object.display().to_string()));
    let mut rename = vec!["mv".into(), "-f".into(), "-t".into(), PLACE.into()];
    rename.extend(OBJECTS.iter().map(|name| format!("{copies}/{name}")));
    let create = vec!["mkdir".into(), "-p".into(), PLACE.into()];
    vec![copy, create, rename, vec!["rmdir".into(), copies]]
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> DebianError {
    let path = path.to_owned();
    move |source| DebianError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_objects_in_the_place() {
        for (place, object) in PLACES.iter().zip(OBJECTS) {
            assert_eq!(*place, format!("{PLACE}/{object}"));
        }
    }

    #[test]
    fn objects_are_renamed_into_place() {
        let objects: Vec<_> = OBJECTS.iter().map(|name| Path::new("/unpacked").join(name)).collect();
        let commands: Vec<_> = placing(&objects).iter().map(|words| words.join(" ")).collect();
        assert_eq!(
            commands[0],
            format!("install -D -m 0644 -t {PLACE}.part /unpacked/crt1-command.o /unpacked/crt1-reactor.o /unpacked/libc.a")
        );
        assert_eq!(
            commands[2],
            format!("mv -f -t {PLACE} {PLACE}.part/crt1-command.o {PLACE}.part/crt1-reactor.o {PLACE}.part/libc.a")
        );
    }
}
