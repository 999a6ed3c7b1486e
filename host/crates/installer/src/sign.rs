//! Signs a plugin where it lies: a directory gets its signature inside, a single component beside it.

use std::io;
use std::path::PathBuf;

use domain::PluginId;

use crate::check::{CheckError, CheckSettings, check};
use crate::disk::{Disk, SystemDisk};
use crate::installer::ComponentBytes;
use crate::signature::{self, Signature, SigningKey};
use crate::stage::{Limits, Source, SourceKind, StageError, stage};

/// Why nothing was signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// It cannot be read.
    #[error("{} cannot be signed: {cause}", path.display())]
    Stage {
        /// The plugin.
        path: PathBuf,
        /// Why.
        cause: StageError,
    },
    /// It is no plugin that could be installed.
    #[error("{} cannot be signed: {cause}", path.display())]
    Check {
        /// The plugin.
        path: PathBuf,
        /// Why.
        cause: CheckError,
    },
    /// It is packed already.
    #[error("{} is an archive or an image layout; sign the directory before it is packed", .0.display())]
    Packed(PathBuf),
    /// The signature cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// Signs what an installation would take from a source. Gives the plugin and the file of the signature, which replaces an older one.
///
/// # Errors
/// When it could not be installed anyway, or the signature cannot be written.
pub fn sign(
    source: &Source,
    key: &SigningKey,
    component_bytes: &ComponentBytes,
    scratch: &std::path::Path,
) -> Result<(PluginId, PathBuf), SignError> {
    let path = source.path.clone();
    let target = match source.kind {
        SourceKind::Directory => path.join(signature::FILE_NAME),
        SourceKind::Component => signature::path_beside(&path),
        SourceKind::Tar | SourceKind::TarGz | SourceKind::Zip | SourceKind::OciLayout => return Err(SignError::Packed(path)),
    };
    let limits = Limits::default();
    let staged = stage(source, scratch, &SystemDisk, &limits).map_err(|cause| SignError::Stage { path: path.clone(), cause })?;
    let settings = CheckSettings { limits: &limits, component_bytes: &**component_bytes };
    let package = check(&staged.root, staged.added_file, &settings).map_err(|cause| SignError::Check { path, cause })?;
    let text = Signature::make(&package, key).to_text();
    let written = SystemDisk.remove(&target).and_then(|()| SystemDisk.write_new(&target, text.as_bytes()));
    written.map_err(|source| SignError::Write { path: target.clone(), source })?;
    Ok((package.id, target))
}
