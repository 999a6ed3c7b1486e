//! Debian's own toolchain, for machines where rustup cannot download: a compiler newer than the distribution's usual one, the
//! source of its standard library (cargo compiles it with the guests), and the C library objects of the target.
//!
//! Each step looks first whether its work is done, so a broken set-up goes on where it stopped. It installs packages with the apt of
//! the machine, never removes one, and never changes the package sources.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::apt_sources;
use super::machine::ask_rustc;
use super::wasi_libc::{self, WasiLibc};
use crate::command::{self, CommandError, Stdout};
use crate::environment;
use crate::folders::Folders;
use crate::progress::{Progress, Report};

/// Debian's programs, whatever the PATH says.
pub(super) const RUSTC: &str = "/usr/bin/rustc";
pub(super) const CARGO: &str = "/usr/bin/cargo";
const STD_SOURCE: &str = "/usr/lib/rustlib/src/rust/library/std/Cargo.toml";

/// What every build by this route needs.
pub(super) const FILES: &[&str] = &[RUSTC, CARGO, STD_SOURCE, wasi_libc::PLACES[0], wasi_libc::PLACES[1], wasi_libc::PLACES[2]];

/// Compiler, cargo, source of the standard library, component linker. Debian keeps these apart from its usual `rustc`.
const PACKAGES: &[&str] = &["rustc-web", "cargo-web", "rust-web-src", "rust-web-llvm"];

/// The oldest compiler that this workspace accepts, as `major.minor`.
const OLDEST_COMPILER: &str = env!("CARGO_PKG_RUST_VERSION");

/// About 250 MB of packages on a slow line.
const INSTALL_LIMIT: Duration = Duration::from_secs(1200);

/// A program that only looks something up.
const QUESTION_LIMIT: Duration = Duration::from_secs(30);

/// Another apt may be at work: wait for it for this long, in seconds.
const APT_LOCK: &str = "DPkg::Lock::Timeout=300";

/// Why Debian's toolchain could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum DebianError {
    /// We are not root, and sudo would ask for a password.
    #[error("this needs root: run `{command}`, then try again")]
    NeedsRoot {
        /// What to type.
        command: String,
    },
    /// A program of a step failed.
    #[error("a step of the installation failed")]
    Step(#[from] CommandError),
    /// The distribution is too old or too different.
    #[error("the packages {packages} of this distribution have no rustc {needed} or newer with the source of its standard library", packages = PACKAGES.join(", "), needed = OLDEST_COMPILER)]
    Unsuitable,
    /// The package sources name no mirror of Debian.
    #[error("no mirror of Debian with the component `main` in /etc/apt/sources.list or /etc/apt/sources.list.d")]
    NoMirror,
    /// A package has other content than expected.
    #[error("package {package} does not have {path}", path = path.display())]
    Incomplete {
        /// The package.
        package: String,
        /// The missing file.
        path: PathBuf,
    },
    /// A file could not be read or written.
    #[error("cannot write {path}", path = path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

/// The steps, on this machine.
pub(super) struct Debian<'a> {
    folders: &'a Folders,
    report: Report<'a>,
}

impl<'a> Debian<'a> {
    pub(super) fn new(folders: &'a Folders, report: Report<'a>) -> Self {
        Self { folders, report }
    }

    /// Whether this machine is Debian or calls itself like it, and has apt.
    pub(super) fn is_here() -> bool {
        let release = fs::read_to_string(apt_sources::OS_RELEASE).unwrap_or_default();
        apt_sources::is_debian_like(&release) && Path::new("/usr/bin/apt-get").exists()
    }

    /// Does what is not done yet; returns the linker for core modules.
    pub(super) fn set_up(&self) -> Result<PathBuf, DebianError> {
        let compiler = self.ensure_packages()?;
        self.ensure_libc()?;
        self.ensure_linker(&compiler)
    }

    fn ensure_packages(&self) -> Result<CompilerVersion, DebianError> {
        if let Some(compiler) = self.compiler() {
            return Ok(compiler);
        }
        (self.report)(Progress::Step(&format!("installing {} with apt", PACKAGES.join(", "))));
        self.apt_install(PACKAGES)?;
        self.compiler().ok_or(DebianError::Unsuitable)
    }

    fn ensure_libc(&self) -> Result<(), DebianError> {
        if wasi_libc::PLACES.iter().all(|place| Path::new(place).is_file()) {
            return Ok(());
        }
        (self.report)(Progress::Step("fetching the C library objects of the target (package wasi-libc)"));
        let objects = WasiLibc::new(&self.folders.apt(), self.report).objects()?;
        self.as_root(&wasi_libc::placing(&objects), QUESTION_LIMIT)
    }

    /// Debian's linker of the same LLVM if it is there, else the one that rustup ships, else Debian's is installed.
    fn ensure_linker(&self, compiler: &CompilerVersion) -> Result<PathBuf, DebianError> {
        let own = PathBuf::from(format!("/usr/lib/llvm-{}/bin/wasm-ld", compiler.llvm));
        if own.exists() {
            return Ok(own);
        }
        if let Some(linker) = self.rustup_linker() {
            return Ok(linker);
        }
        let package = format!("lld-{}", compiler.llvm);
        (self.report)(Progress::Step(&format!("installing {package} with apt")));
        self.apt_install(&[&package])?;
        if own.exists() { Ok(own) } else { Err(DebianError::Incomplete { package, path: own }) }
    }

    fn rustup_linker(&self) -> Option<PathBuf> {
        let version = CompilerVersion::parse(&ask_rustc(self.folders, &["-vV"])?)?;
        let sysroot = ask_rustc(self.folders, &["--print", "sysroot"])?;
        let linker = Path::new(sysroot.trim()).join("lib/rustlib").join(version.host).join("bin/gcc-ld/wasm-ld");
        linker.exists().then_some(linker)
    }

    /// Debian's compiler, if everything that the packages bring is there and new enough.
    fn compiler(&self) -> Option<CompilerVersion> {
        let mut rustc = Command::new(RUSTC);
        environment::clean(&mut rustc);
        rustc.env_remove("LD_LIBRARY_PATH").arg("-vV");
        let version = CompilerVersion::parse(&command::run(rustc, Stdout::Answer, QUESTION_LIMIT, &|_| {}).ok()?)?;
        let component_linker = format!("/usr/lib/rustlib/{}/bin/wasm-component-ld", version.host);
        let whole = [CARGO, STD_SOURCE, &component_linker].iter().all(|file| Path::new(file).exists());
        (whole && version.is_at_least(OLDEST_COMPILER)).then_some(version)
    }

    /// A fresh machine has no package lists, an old one has lists of packages that are gone: so they are refreshed first. One
    /// unreachable source of many is no reason to give up; if it matters, the installation says so.
    fn apt_install(&self, packages: &[&str]) -> Result<(), DebianError> {
        let update = words(&["apt-get", "-q", "-o", APT_LOCK, "update"]);
        let install = ["apt-get", "-q", "-y", "-o", APT_LOCK, "install", "--no-install-recommends", "--no-remove"];
        let install = words(&[&install[..], packages].concat());
        let Some(rights) = self.rights() else { return Err(needs_root(&[update, install])) };
        if let Err(refusal) = self.run_as_root(rights, &update, INSTALL_LIMIT) {
            (self.report)(Progress::Step(&format!("going on with the package lists that are there: {refusal}")));
        }
        Ok(self.run_as_root(rights, &install, INSTALL_LIMIT)?)
    }

    fn as_root(&self, commands: &[Vec<String>], limit: Duration) -> Result<(), DebianError> {
        let rights = self.rights().ok_or_else(|| needs_root(commands))?;
        for command in commands {
            self.run_as_root(rights, command, limit)?;
        }
        Ok(())
    }

    /// What to put before a command so that it runs as root; `None` if that would need a password.
    fn rights(&self) -> Option<&'static [&'static str]> {
        let ask = |program: &str, question: &[&str]| {
            let mut command = Command::new(program);
            command.args(question);
            command::run(command, Stdout::Answer, QUESTION_LIMIT, &|_| {}).ok()
        };
        if ask("id", &["-u"])?.trim() == "0" {
            return Some(&[]);
        }
        ask("sudo", &["-n", "true"]).map(|_| &["sudo", "-n"][..])
    }

    /// `timeout` ends the command where we may not end a process of root.
    fn run_as_root(&self, rights: &[&str], words: &[String], limit: Duration) -> Result<(), CommandError> {
        let limit_s = limit.as_secs().to_string();
        let before = ["env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "timeout", "--kill-after=10", &limit_s];
        let mut all = rights.iter().copied().chain(before).chain(words.iter().map(String::as_str));
        let mut command = Command::new(all.next().unwrap_or_default());
        command.args(all);
        command::run(command, Stdout::Talk, limit + Duration::from_secs(20), self.report).map(drop)
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn needs_root(commands: &[Vec<String>]) -> DebianError {
    let commands: Vec<_> = commands.iter().map(|words| format!("sudo {}", words.join(" "))).collect();
    DebianError::NeedsRoot { command: commands.join(" && ") }
}

/// The parts of `rustc -vV` that matter here.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CompilerVersion {
    /// `1.96.0`.
    release: String,
    /// `x86_64-unknown-linux-gnu`.
    host: String,
    /// Major version of LLVM: `22`.
    llvm: String,
}

impl CompilerVersion {
    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let llvm = field("LLVM version")?.split('.').next()?.to_owned();
        Some(Self { release: field("release")?.to_owned(), host: field("host")?.to_owned(), llvm })
    }

    /// Compares `major.minor`.
    fn is_at_least(&self, oldest: &str) -> bool {
        let number = |text: &str| {
            let mut parts = text.split(['.', '-']).map(|part| part.parse::<u32>().ok());
            Some((parts.next()??, parts.next()??))
        };
        number(&self.release).is_some_and(|found| number(oldest).is_some_and(|oldest| found >= oldest))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const VERSION: &str = "rustc 1.96.0 (ac68faa20 2026-05-25)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: 1.96.0\nLLVM version: 22.1.8\n";

    #[test]
    fn compiler_version_is_read() {
        let version = CompilerVersion::parse(VERSION).unwrap();
        assert_eq!((version.host.as_str(), version.llvm.as_str()), ("x86_64-unknown-linux-gnu", "22"));
        assert_eq!(CompilerVersion::parse("rustc 1.96.0"), None);
    }

    #[test]
    fn versions_are_compared_by_number() {
        let version = CompilerVersion::parse(VERSION).unwrap();
        for (oldest, enough) in [("1.96", true), ("1.95", true), ("1.9", true), ("1.97", false), ("1.100", false), ("2.0", false)]
        {
            assert_eq!(version.is_at_least(oldest), enough, "{oldest}");
        }
        assert!(version.is_at_least(OLDEST_COMPILER));
        assert!(!CompilerVersion { release: "nightly".into(), ..version }.is_at_least("1.0"));
    }

    #[test]
    fn who_is_not_root_is_told_what_to_type() {
        let error = needs_root(&[words(&["apt-get", "update"]), words(&["apt-get", "install", "x"])]);
        assert_eq!(error.to_string(), "this needs root: run `sudo apt-get update && sudo apt-get install x`, then try again");
    }
}
