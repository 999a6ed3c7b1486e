//! A toolchain that was chosen, and how cargo is started with it.

use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use super::debian;
use crate::environment;
use crate::evidence::Evidence;
use crate::folders::Folders;

/// The ways to a toolchain for guests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteKind {
    /// The toolchain on the PATH, with the target that rustup installed or installs now.
    Installed,
    /// Debian's own packages, and the standard library compiled from source. For machines where rustup cannot download.
    Debian,
}

impl fmt::Display for RouteKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Installed => "rustup",
            Self::Debian => "debian",
        })
    }
}

/// A toolchain that can compile guests, with what proves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "route", rename_all = "lowercase")]
pub(crate) enum Route {
    /// See [`RouteKind::Installed`].
    Installed {
        /// The compiled standard library of the target. Its name changes with the compiler.
        std: PathBuf,
    },
    /// See [`RouteKind::Debian`].
    Debian {
        /// The linker for core modules.
        wasm_ld: PathBuf,
    },
}

impl Route {
    pub(crate) fn kind(&self) -> RouteKind {
        match self {
            Self::Installed { .. } => RouteKind::Installed,
            Self::Debian { .. } => RouteKind::Debian,
        }
    }

    /// The files that make this toolchain work; while they are unchanged, so is the toolchain.
    pub(crate) fn evidence(&self) -> Vec<&Path> {
        match self {
            Self::Installed { std } => vec![std],
            Self::Debian { wasm_ld } => debian::FILES.iter().map(Path::new).chain([wasm_ld.as_path()]).collect(),
        }
    }

    /// Puts the programs that only guests need where [`Self::cargo`] looks for them.
    pub(crate) fn prepare(&self, folders: &Folders) -> io::Result<()> {
        let Self::Debian { wasm_ld } = self else { return Ok(()) };
        let link = folders.bin().join("wasm-ld");
        if fs::read_link(&link).is_ok_and(|target| target == *wasm_ld) {
            return Ok(());
        }
        fs::create_dir_all(folders.bin())?;
        match fs::remove_file(&link) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        symlink(wasm_ld, &link)
    }

    /// Cargo of this toolchain in the workspace, free of the cargo that runs us.
    pub(crate) fn cargo(&self, folders: &Folders) -> Command {
        let mut cargo = Command::new(match self {
            Self::Installed { .. } => "cargo",
            Self::Debian { .. } => debian::CARGO,
        });
        environment::clean(&mut cargo);
        cargo.current_dir(folders.workspace());
        if let Self::Debian { .. } = self {
            cargo.env("PATH", debian_path(folders));
            cargo.env("RUSTC", debian::RUSTC);
            // Lets a stable compiler build its own standard library.
            cargo.env("RUSTC_BOOTSTRAP", "1");
            // The cargo that runs us puts the libraries of another compiler here.
            cargo.env_remove("LD_LIBRARY_PATH");
        }
        cargo
    }

    /// What cargo is told in addition.
    pub(crate) fn cargo_options(&self) -> &'static [&'static str] {
        match self {
            Self::Installed { .. } => &[],
            Self::Debian { .. } => &["-Zbuild-std=std,panic_abort"],
        }
    }
}

/// Our programs, then Debian's, then the rest.
fn debian_path(folders: &Folders) -> std::ffi::OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    let parts = [folders.bin(), PathBuf::from("/usr/bin")].into_iter().chain(env::split_paths(&path));
    // Joining fails only for a part with a separator in it, and the PATH was split at these.
    env::join_paths(parts).unwrap_or(path)
}

#[cfg(unix)]
fn symlink(target: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, link)
}

/// Never asked for where there is no Debian.
#[cfg(not(unix))]
fn symlink(_target: &Path, _link: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A route, and how its files looked when it was chosen.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Remembered {
    route: Route,
    evidence: Vec<Evidence>,
}

impl Remembered {
    pub(super) fn of(route: Route) -> Self {
        let evidence = Evidence::of_all(route.evidence()).unwrap_or_default();
        Self { route, evidence }
    }

    /// The route in this file, if its toolchain is unchanged.
    pub(super) fn read(path: &Path) -> Option<Route> {
        let remembered: Self = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let whole = !remembered.evidence.is_empty() && remembered.evidence.iter().all(Evidence::holds);
        whole.then_some(remembered.route)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn route_is_remembered_until_its_toolchain_changes() {
        let folder = tempfile::tempdir().unwrap();
        let std = folder.path().join("libstd-1.rlib");
        let memory = folder.path().join("route.json");
        fs::write(&std, "one").unwrap();
        let route = Route::Installed { std: std.clone() };
        fs::write(&memory, serde_json::to_vec(&Remembered::of(route.clone())).unwrap()).unwrap();
        assert_eq!(Remembered::read(&memory), Some(route));

        fs::remove_file(&std).unwrap();
        assert_eq!(Remembered::read(&memory), None);
        fs::write(&memory, "{").unwrap();
        assert_eq!(Remembered::read(&memory), None);
    }

    #[test]
    fn route_that_was_never_whole_is_not_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let memory = folder.path().join("route.json");
        let route = Route::Installed { std: folder.path().join("missing") };
        fs::write(&memory, serde_json::to_vec(&Remembered::of(route)).unwrap()).unwrap();
        assert_eq!(Remembered::read(&memory), None);
    }

    #[cfg(unix)]
    #[test]
    fn debian_finds_our_linker_first_and_its_own_compiler_next() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders::new(root.path()).unwrap();
        for linker in ["old", "new"] {
            let route = Route::Debian { wasm_ld: root.path().join(linker) };
            route.prepare(&folders).unwrap();
            route.prepare(&folders).unwrap();
            assert_eq!(fs::read_link(folders.bin().join("wasm-ld")).unwrap(), root.path().join(linker));
        }

        let cargo = Route::Debian { wasm_ld: root.path().join("new") }.cargo(&folders);
        let value = |name: &str| cargo.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| value);
        let path: Vec<_> = env::split_paths(value("PATH").unwrap()).take(2).collect();
        assert_eq!(path, [folders.bin(), "/usr/bin".into()]);
        assert_eq!(value("RUSTC").unwrap(), debian::RUSTC);
        assert_eq!(value("CARGO_MANIFEST_DIR"), None);
    }
}
