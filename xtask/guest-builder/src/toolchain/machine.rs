//! The real machine behind the decision: asks `rustc` and `rustup`, and reads what was remembered.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::Probe;
use super::debian::{Debian, DebianError};
use super::route::{Remembered, Route};
use crate::command::{self, CommandError, Stdout};
use crate::folders::Folders;
use crate::progress::{Progress, Report};
use crate::{TARGET, environment};

/// Questions to a compiler: it answers at once, but rustup may install the toolchain of `rust-toolchain.toml` first.
const QUESTION_LIMIT: Duration = Duration::from_secs(600);

/// A download of about 25 MB; rustup itself gives up earlier when nothing moves.
const RUSTUP_LIMIT: Duration = Duration::from_secs(300);

/// This machine, in the folder of the workspace.
pub(super) struct Machine<'a> {
    folders: &'a Folders,
    report: Report<'a>,
}

impl<'a> Machine<'a> {
    pub(super) fn new(folders: &'a Folders, report: Report<'a>) -> Self {
        Self { folders, report }
    }
}

impl Probe for Machine<'_> {
    fn installed_std(&self) -> Option<PathBuf> {
        let folder = ask_rustc(self.folders, &["--print", "target-libdir", "--target", TARGET])?;
        std_in(Path::new(folder.trim()))
    }

    fn remembered_debian(&self) -> Option<Route> {
        Remembered::read(&self.folders.route()).filter(|route| matches!(route, Route::Debian { .. }))
    }

    fn add_target(&self) -> Result<(), CommandError> {
        (self.report)(Progress::Step("adding the target wasm32-wasip2 with rustup"));
        let mut rustup = here("rustup", self.folders);
        rustup.args(["target", "add", TARGET]);
        command::run(rustup, Stdout::Talk, RUSTUP_LIMIT, self.report).map(drop)
    }

    fn is_debian(&self) -> bool {
        Debian::is_here()
    }

    fn set_up_debian(&self) -> Result<PathBuf, DebianError> {
        Debian::new(self.folders, self.report).set_up()
    }
}

/// The answer of the `rustc` on the PATH; `None` if there is none or it does not know.
pub(super) fn ask_rustc(folders: &Folders, question: &[&str]) -> Option<String> {
    let mut rustc = here("rustc", folders);
    rustc.args(question);
    command::run(rustc, Stdout::Answer, QUESTION_LIMIT, &|_| {}).ok()
}

/// A program in the folder of the workspace, where rustup reads which toolchain is meant.
fn here(program: &str, folders: &Folders) -> Command {
    let mut command = Command::new(program);
    environment::clean(&mut command);
    command.current_dir(folders.workspace());
    command
}

/// The compiled standard library in a folder of libraries. The folder is there for every target, with or without it.
fn std_in(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten();
    let is_std = |name: &str| name.starts_with("libstd-") && name.ends_with(".rlib");
    files.filter(|file| file.file_name().to_str().is_some_and(is_std)).map(|file| file.path()).min()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn folder_without_standard_library_is_no_target() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(std_in(&folder.path().join("absent")), None);
        fs::create_dir(folder.path().join("self-contained")).unwrap();
        fs::write(folder.path().join("libcore-1.rlib"), "").unwrap();
        assert_eq!(std_in(folder.path()), None);
        fs::write(folder.path().join("libstd-1.rlib"), "").unwrap();
        assert_eq!(std_in(folder.path()), Some(folder.path().join("libstd-1.rlib")));
    }

    #[test]
    fn compiler_on_the_path_answers() {
        let root = tempfile::tempdir().unwrap();
        let folders = Folders::new(root.path()).unwrap();
        assert!(ask_rustc(&folders, &["-vV"]).unwrap().contains("host: "));
        assert_eq!(ask_rustc(&folders, &["--no-such-option"]), None);
    }
}
