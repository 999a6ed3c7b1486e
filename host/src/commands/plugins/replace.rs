//! Writes a file as a whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Puts bytes into a file, in place of what it held. A link stays one: what it points at is what the operator keeps. Permissions stay.
///
/// # Errors
/// When the bytes cannot be written; the file is as it was then.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let temporary = directory.join(format!(".creel.{}", uuid::Uuid::now_v7()));
    let written = File::create_new(&temporary).and_then(|mut file| {
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
