//! Runs the inner cargo for one guest package and finds what it made. Copies nothing.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use cargo_metadata::{Artifact, Message};

use crate::command::{self, CommandError, Stdout};
use crate::discovery::{PluginSource, TestSource};
use crate::folders::Folders;
use crate::progress::{Progress, Report};
use crate::toolchain::Route;
use crate::{GuestBuildError, TARGET};

/// Far more than the first build needs on a slow machine (it downloads crates and may compile the standard library): a bound for
/// what hangs.
const BUILD_LIMIT: Duration = Duration::from_secs(60 * 60);

/// The profile of the root Cargo.toml for guests.
const PROFILE: &str = "guest";

/// An inner cargo that is ready to run.
pub(crate) struct Compiler<'a> {
    folders: &'a Folders,
    route: &'a Route,
    report: Report<'a>,
}

impl<'a> Compiler<'a> {
    pub(crate) fn new(folders: &'a Folders, route: &'a Route, report: Report<'a>) -> Result<Self, GuestBuildError> {
        route.prepare(folders).map_err(GuestBuildError::file("write", folders.bin()))?;
        Ok(Self { folders, route, report })
    }

    /// Compiles a plugin; returns its component, where cargo put it.
    ///
    /// `cargo rustc` names the crate type itself: with two of them in Cargo.toml (`rlib` for the native tests) cargo would compile
    /// both at once and leave out link-time optimisation, which makes a component about 40 % larger.
    pub(crate) fn plugin(&self, plugin: &PluginSource) -> Result<PathBuf, GuestBuildError> {
        (self.report)(Progress::Step(&format!("building plugin {}", plugin.id)));
        let mut cargo = self.cargo("rustc");
        cargo.args(["--package", &plugin.package, "--lib", "--crate-type", "cdylib"]);
        let artifacts = self.artifacts(cargo).map_err(|source| compile_error(&plugin.package, source))?;
        let library = artifacts.iter().rfind(|artifact| !artifact.target.is_example() && component(artifact).is_some());
        library.and_then(component).ok_or_else(|| GuestBuildError::NoArtifact { guest: plugin.package.clone() })
    }

    /// Compiles all test guests; returns their components, where cargo put them, by name.
    pub(crate) fn tests(&self, tests: &TestSource) -> Result<BTreeMap<String, PathBuf>, GuestBuildError> {
        (self.report)(Progress::Step(&format!("building {} test guests", tests.examples.len())));
        let mut cargo = self.cargo("build");
        cargo.args(["--package", &tests.package, "--examples"]);
        let artifacts = self.artifacts(cargo).map_err(|source| compile_error(&tests.package, source))?;
        let mut built = BTreeMap::new();
        for artifact in artifacts.iter().filter(|artifact| artifact.target.is_example()) {
            built.extend(component(artifact).map(|path| (artifact.target.name.clone(), path)));
        }
        match tests.examples.iter().find(|name| !built.contains_key(*name)) {
            Some(missing) => Err(GuestBuildError::NoArtifact { guest: missing.clone() }),
            None => Ok(built),
        }
    }

    fn cargo(&self, subcommand: &str) -> Command {
        let mut cargo = self.route.cargo(self.folders);
        cargo.arg(subcommand).args(self.route.cargo_options());
        cargo.args(["--profile", PROFILE, "--target", TARGET, "--message-format", "json-render-diagnostics"]);
        cargo.arg("--target-dir").arg(self.folders.cargo_target());
        cargo
    }

    /// Everything that cargo made or found up to date.
    fn artifacts(&self, cargo: Command) -> Result<Vec<Artifact>, CommandError> {
        let messages = command::run(cargo, Stdout::Answer, BUILD_LIMIT, self.report)?;
        Ok(artifacts_of(&messages))
    }
}

fn compile_error(guest: &str, source: CommandError) -> GuestBuildError {
    GuestBuildError::Compile { guest: guest.to_owned(), source }
}

/// Lines that are no message of cargo (a procedural macro may print) are passed over.
fn artifacts_of(messages: &str) -> Vec<Artifact> {
    let messages = Message::parse_stream(Cursor::new(messages)).flatten();
    messages.filter_map(|message| if let Message::CompilerArtifact(artifact) = message { Some(artifact) } else { None }).collect()
}

fn component(artifact: &Artifact) -> Option<PathBuf> {
    let file = artifact.filenames.iter().find(|file| file.extension() == Some("wasm"))?;
    Some(file.clone().into_std_path_buf())
}
