//! Builds every guest of this repository to a WebAssembly component: the packages under `example-plugins/` and the test guests
//! under `tests/guests/`.
//!
//! The guests are compiled by a second cargo, with a target directory of its own (`target/guests/`) and without the environment of
//! the cargo that runs us. The crate finds the toolchain that can do it, or installs one (see [`RouteKind`]), and skips everything when
//! nothing changed since the last build. Two builders never run at once: the second waits for the first and finds its work done.
//!
//! ```text
//! target/guests/plugins/<id>/creel.plugin.json   a plugin folder that `creel` loads
//! target/guests/plugins/<id>/<component>.wasm
//! target/guests/test/<name>.wasm                 one component per file of tests/guests/examples
//! ```
//!
//! It never writes to the sources, never prints (progress goes to a callback), and never loads or runs a component.

mod command;
mod compile;
mod discovery;
mod environment;
mod evidence;
mod fingerprint;
mod folders;
mod lock;
mod plugin_manifest;
mod progress;
mod publish;
mod stamp;
mod toolchain;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use command::CommandError;
pub use discovery::DiscoveryError;
pub use progress::Progress;
pub use toolchain::{DebianError, RouteError, RouteKind};

use compile::Compiler;
use folders::Folders;
use progress::Report;
use stamp::Stamp;

/// The target that every guest is compiled for.
pub const TARGET: &str = "wasm32-wasip2";

/// What to build and how to tell about it.
#[derive(Clone)]
pub struct Options<'a> {
    workspace: PathBuf,
    route: Option<RouteKind>,
    report: Report<'a>,
}

impl<'a> Options<'a> {
    /// Builds the guests of the workspace whose root folder is `workspace`, by the first route that works, and in silence.
    pub fn new(workspace: impl Into<PathBuf>) -> Self {
        Self { workspace: workspace.into(), route: None, report: &|_| {} }
    }

    /// Uses this route and no other; `None` takes the first that works.
    #[must_use]
    pub fn route(mut self, route: Option<RouteKind>) -> Self {
        self.route = route;
        self
    }

    /// Calls `report` for each step, and for each line that a program of the step prints.
    #[must_use]
    pub fn progress(mut self, report: &'a dyn Fn(Progress<'_>)) -> Self {
        self.report = report;
        self
    }
}

/// Every guest that was built. All paths are absolute.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guests {
    /// The example plugins, ordered by id.
    pub plugins: Vec<BuiltPlugin>,
    /// The test guests: name of the example, its component.
    pub tests: BTreeMap<String, PathBuf>,
}

impl Guests {
    /// Every component: what it is called, and where it is.
    pub fn components(&self) -> impl Iterator<Item = (&str, &Path)> {
        let plugins = self.plugins.iter().map(|plugin| (plugin.id.as_str(), plugin.component.as_path()));
        plugins.chain(self.tests.iter().map(|(name, component)| (name.as_str(), component.as_path())))
    }
}

/// One example plugin, as a folder that the host can load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuiltPlugin {
    /// Plugin id, from the manifest.
    pub id: String,
    /// The plugin folder, with manifest and component.
    pub folder: PathBuf,
    /// The component in it.
    pub component: PathBuf,
}

/// Why the guests could not be built.
#[derive(Debug, thiserror::Error)]
pub enum GuestBuildError {
    /// No toolchain can compile guests, or the one that can could not be installed.
    #[error("no toolchain for guests")]
    Toolchain(#[from] RouteError),
    /// The workspace holds a guest that does not follow the rules for guests.
    #[error("cannot make out the guests of this workspace")]
    Discovery(#[from] DiscoveryError),
    /// A guest does not compile.
    #[error("guest `{guest}` does not compile")]
    Compile {
        /// Name of the package or of the example.
        guest: String,
        /// What cargo said.
        #[source]
        source: CommandError,
    },
    /// Cargo succeeded and named no WebAssembly file for this guest.
    #[error("cargo built no component for guest `{guest}`: its library or example must be able to be a `cdylib`")]
    NoArtifact {
        /// Name of the package or of the example.
        guest: String,
    },
    /// The compiled file is a core module or something else.
    #[error("guest `{guest}` was not compiled to a component: {path} does not start with the component header", path = path.display())]
    NotAComponent {
        /// Name of the package or of the example.
        guest: String,
        /// The file that cargo made.
        path: PathBuf,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {path}", path = path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
}

impl GuestBuildError {
    /// Makes an error of a file operation, to be used with `map_err`.
    pub(crate) fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}

/// Builds every guest, or does nothing if all of them are up to date.
///
/// Waits while another builder is at work on the same workspace. May install a toolchain (see [`RouteKind`]).
///
/// # Errors
/// A sentence that names the guest, file or toolchain; the chain of sources has the cause. Guests that were built before the error
/// stay on disk, and the next call builds the rest.
pub fn build(options: &Options<'_>) -> Result<Guests, GuestBuildError> {
    let folders = Folders::new(&options.workspace)?;
    let _lock = lock::acquire(&folders.lock(), options.report)?;

    let inputs = fingerprint::of_workspace(folders.workspace())?;
    if let Some(stamp) = Stamp::read(&folders.stamp()).filter(|stamp| stamp.is_fresh(&inputs, options.route)) {
        return Ok(stamp.guests);
    }
    // From here on files change, so the old stamp must not vouch for them any more, not even if the sources change back.
    stamp::remove(&folders.stamp())?;

    let sources = discovery::find(folders.workspace(), options.report)?;
    if sources.is_empty() {
        let guests = Guests::default();
        publish::remove_others(&folders, &guests)?;
        return Ok(guests);
    }
    let route = toolchain::settle(&folders, options.route, options.report)?;
    let compiler = Compiler::new(&folders, &route, options.report)?;
    let guests = publish::all(&folders, &sources, &compiler)?;
    Stamp::of(inputs, route, guests.clone()).write(&folders.stamp())?;
    Ok(guests)
}
