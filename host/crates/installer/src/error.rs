//! Why an installation, an update or a removal did not happen. In every case everything is as it was.

use std::io;
use std::path::PathBuf;

use domain::PluginId;

use crate::asks::Widening;
use crate::check::CheckError;
use crate::gate::GateRefusal;
use crate::lock::LockError;
use crate::policy::PolicyRefusal;
use crate::signature::{SignatureError, TrustError};
use crate::stage::{SourceError, StageError};

/// Why nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Another process installs.
    #[error("another creel process is installing or removing a plugin; wait until it has ended")]
    Busy,
    /// The source is none.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The source cannot be unpacked.
    #[error("{} is refused: {cause}", path.display())]
    Stage {
        /// The source.
        path: PathBuf,
        /// Why.
        cause: StageError,
    },
    /// What was unpacked is no plugin for this host.
    #[error("{} is refused: {cause}", path.display())]
    Check {
        /// The source.
        path: PathBuf,
        /// Why.
        cause: CheckError,
    },
    /// It is installed already.
    #[error("the plugin `{0}` is installed already; `creel plugins update {0}` replaces it")]
    Installed(PluginId),
    /// It is not installed.
    #[error("the plugin `{0}` is not installed; `creel plugins verify` lists what is")]
    NotInstalled(PluginId),
    /// Somebody put it there by hand.
    #[error("{} holds the plugin `{id}`, and creel.lock has no entry for it: it was put there by hand; remove it there", place.display())]
    ByHand {
        /// The plugin.
        id: PluginId,
        /// Where it is.
        place: PathBuf,
    },
    /// The source is another plugin.
    #[error("{} holds the plugin `{found}`, not `{wanted}`", path.display())]
    OtherPlugin {
        /// The source.
        path: PathBuf,
        /// Its id.
        found: PluginId,
        /// What it should be.
        wanted: PluginId,
    },
    /// Its signature does not count.
    #[error("{} is refused: {cause}", path.display())]
    Signature {
        /// The source.
        path: PathBuf,
        /// Why.
        cause: SignatureError,
    },
    /// Whose signature counts cannot be told.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The install policy stops it.
    #[error(transparent)]
    Policy(#[from] PolicyRefusal),
    /// A plugin stops it.
    #[error("`{target}` is not installed: {refusal}")]
    Gate {
        /// What is not installed.
        target: String,
        /// Who refused and why.
        refusal: GateRefusal,
    },
    /// It asks for more than the operator accepted.
    #[error("the new version of `{id}` asks for more than was accepted: {}; `--accept-capabilities` accepts it", told(wider))]
    Capabilities {
        /// The plugin.
        id: PluginId,
        /// What is more.
        wider: Vec<Widening>,
    },
    /// Somebody changed what was staged.
    #[error("what was staged was changed while it was judged; try again, and see what else writes to {}", path.display())]
    Tampered {
        /// Where it was staged.
        path: PathBuf,
    },
    /// The lockfile cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The state directory takes no change.
    #[error("{doing} failed: {source}")]
    Disk {
        /// What was being done.
        doing: &'static str,
        /// Why.
        source: io::Error,
    },
    /// Work of the process was lost.
    #[error("the installation was interrupted")]
    Interrupted,
}

fn told(wider: &[Widening]) -> String {
    wider.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Names what was being done in an error of the disk.
pub(crate) fn doing(doing: &'static str) -> impl Fn(io::Error) -> InstallError {
    move |source| InstallError::Disk { doing, source }
}
