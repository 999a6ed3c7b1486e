//! Replacing a file in one step: readers see the old content or the new one, and a crash leaves one of the two. The target is never
//! written in place, so a hard link out of the workspace cannot be written through.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, OpenOptions, Permissions};
use domain::tool::ToolFailure;

use crate::blocking::Stop;
use crate::root::{FileError, Root};

/// Tries for a free temporary name; only a leftover of a process with our own id can take one.
const TEMP_NAME_TRIES: u32 = 100;

/// Where a file is to be put.
pub(crate) struct Target {
    parent: Dir,
    name: OsString,
    /// Permissions of the file that is there; none: there is no file yet.
    pub(crate) existing: Option<Permissions>,
}

/// Finds the place for `given`; with `create_parents`, missing directories are made.
pub(crate) fn target(root: &Root, given: &str, create_parents: bool) -> Result<Target, FileError> {
    let explain = |error: io::Error| root.explain(given, &error);
    let (path, existing) = resolve(root, given)?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::NotAFile { path: given.to_owned(), kind: "a directory" });
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    if create_parents {
        root.dir().create_dir_all(parent).map_err(explain)?;
    }
    let parent = root.dir().open_dir(parent).map_err(explain)?;
    Ok(Target { parent, name: name.to_owned(), existing })
}

/// Follows links, so that the file behind a link is replaced and not the link.
fn resolve(root: &Root, given: &str) -> Result<(PathBuf, Option<Permissions>), FileError> {
    let path = root.relative(given)?;
    let explain = |error: io::Error| root.explain(given, &error);
    match root.dir().metadata(&path) {
        Ok(metadata) => {
            root.regular(given, &metadata)?;
            Ok((root.dir().canonicalize(&path).map_err(explain)?, Some(metadata.permissions())))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if root.dir().symlink_metadata(&path).is_ok_and(|metadata| metadata.is_symlink()) {
                return Err(FileError::NotAFile { path: given.to_owned(), kind: "a link to nothing" });
            }
            Ok((path, None))
        }
        Err(error) => Err(explain(error)),
    }
}

/// Puts `content` at the target.
pub(crate) fn publish(root: &Root, given: &str, target: &Target, content: &[u8], stop: &Stop) -> Result<(), ToolFailure> {
    let explain = |error: io::Error| ToolFailure::from(root.explain(given, &error));
    let temp = Temp::create(&target.parent).map_err(explain)?;
    temp.fill(content, target.existing.clone()).map_err(explain)?;
    stop.check()?;
    temp.rename(&target.name).map_err(explain)
}

/// A file beside the target that vanishes unless it is renamed.
struct Temp<'a> {
    parent: &'a Dir,
    name: Option<String>,
    file: cap_std::fs::File,
}

impl<'a> Temp<'a> {
    fn create(parent: &'a Dir) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        for _ in 0..TEMP_NAME_TRIES {
            let name = format!(".creel-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            match parent.open_with(&name, &options) {
                Ok(file) => return Ok(Self { parent, name: Some(name), file }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a temporary file; remove old `.creel-*.tmp` files"))
    }

    fn fill(&self, content: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
        (&self.file).write_all(content)?;
        if let Some(permissions) = permissions {
            self.file.set_permissions(permissions)?;
        }
        // Without this, a power cut after the rename could leave an empty file.
        self.file.sync_all()
    }

    fn rename(mut self, name: &OsString) -> io::Result<()> {
        let Some(temp) = self.name.as_deref() else { return Ok(()) };
        self.parent.rename(temp, self.parent, name)?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Nothing else can be done about a file that cannot be removed.
            let _ = self.parent.remove_file(name);
        }
    }
}
