//! Installs, updates and removes plugins: from a directory, a single component, an archive or an OCI image layout into the state
//! directory, through one chain of checks and consents, in one step that a crash cannot cut in half.
//!
//! - Nothing that comes is believed: sizes, names, digests and the component itself are checked before anybody else sees them.
//! - Nothing that comes is run: that a plugin loads is the plugin host's matter.
//! - `creel.lock` says what was installed. What differs from it on the disk does not load, see [`load`].
//! - What must be asked of the rest of the host goes through ports: the [disk](Disk), [plugins that judge](Gate), [whoever keeps things
//!   for a plugin](Residue).
//!
//! It never fetches anything, and it never grants anything: what a plugin may do is written by the operator, in the configuration.

mod asks;
mod check;
mod digest;
mod disk;
mod error;
mod gate;
mod guard;
mod installer;
mod journal;
mod layout;
pub mod load;
mod lock;
mod material;
pub mod policy;
mod recover;
mod review;
mod sign;
pub mod signature;
mod stage;
mod switch;
#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;
mod verify;

pub use asks::{Asks, Bound, Bounds, Widening};
pub use check::{CheckError, ContentType, Package};
pub use digest::{Files, sha256};
pub use disk::{Disk, SystemDisk};
pub use error::InstallError;
pub use gate::{Gate, GateFinding, GateRefusal, NoGate, NoResidue, Residue, Verdict};
pub use guard::{Guard, reading};
pub use installer::{ComponentBytes, Installer, Outcome, Ports, Request, Settings};
pub use layout::Layout;
pub use lock::{Changed, Entry, EntryFile, EntrySource, Lock, LockError, Standing};
pub use material::{Material, Mode, Plugin, Skill, Target, TargetType};
pub use recover::{Recovery, recover, recover_all};
pub use review::{Review, Reviewed};
pub use sign::{SignError, sign};
pub use stage::{Limits, Source, SourceError, SourceKind, StageError};
pub use verify::{Verified, VerifyError, verify};
