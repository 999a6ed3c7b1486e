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
    /// The directory, relative to the root.
    parent: PathBuf,
    name: OsString,
    /// Permissions of the file that is there; none: there is no file yet.
    pub(crate) existing: Option<Permissions>,
}

/// Finds the place for `given`. Changes nothing.
pub(crate) fn target(root: &Root, given: &str) -> Result<Target, FileError> {
    let (path, existing) = resolve(root, given)?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::NotAFile { path: given.to_owned(), kind: "a directory" });
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    Ok(Target { parent: parent.to_owned(), name: name.to_owned(), existing })
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

/// Puts `content` at the target, and makes the directories that it needs. If that does not work, or is stopped, nothing is left behind.
pub(crate) fn publish(root: &Root, given: &str, target: &Target, content: &[u8], stop: &Stop) -> Result<(), ToolFailure> {
    let explain = |error: io::Error| ToolFailure::from(root.explain(given, &error));
    stop.check()?;
    let mut made = MadeDirectories::make(root.dir(), &target.parent).map_err(explain)?;
    let parent = root.dir().open_dir(&target.parent).map_err(explain)?;
    let temp = Temp::create(&parent).map_err(explain)?;
    temp.fill(content, target.existing.clone()).map_err(explain)?;
    stop.check()?;
    temp.rename(&target.name).map_err(explain)?;
    made.keep();
    Ok(())
}

/// Directories that were made for a file, and that go again unless the file gets there. Others may have put something into them meanwhile:
/// only empty ones are removed.
struct MadeDirectories<'a> {
    root: &'a Dir,
    /// From the outermost to the innermost.
    made: Vec<PathBuf>,
}

impl<'a> MadeDirectories<'a> {
    fn make(root: &'a Dir, directory: &Path) -> io::Result<Self> {
        let mut making = Self { root, made: Vec::new() };
        let missing: Vec<&Path> = directory.ancestors().take_while(|path| !is_there(root, path)).collect();
        for path in missing.into_iter().rev() {
            match root.create_dir(path) {
                Ok(()) => making.made.push(path.to_owned()),
                // Somebody else made it; what it is shows when it is opened.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Ok(making)
    }

    fn keep(&mut self) {
        self.made.clear();
    }
}

impl Drop for MadeDirectories<'_> {
    fn drop(&mut self) {
        for path in self.made.iter().rev() {
            if self.root.remove_dir(path).is_err() {
                return;
            }
        }
    }
}

fn is_there(root: &Dir, path: &Path) -> bool {
    path.as_os_str().is_empty() || root.symlink_metadata(path).is_ok()
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::test_root::TestRoot;

    #[test]
    fn directories_go_again_unless_they_are_kept_or_used() {
        let test = TestRoot::new();
        let there = |path: &str| test.path().join(path).is_dir();
        std::fs::create_dir(test.path().join("old")).unwrap();
        let make = || MadeDirectories::make(test.root.dir(), Path::new("old/a/b/c")).unwrap();

        let made = make();
        assert!(there("old/a/b/c"));
        drop(made);
        assert!(there("old") && !there("old/a"));

        let made = make();
        test.write("old/a/mine", "");
        drop(made);
        assert!(there("old/a") && !there("old/a/b"));

        make().keep();
        drop(MadeDirectories::make(test.root.dir(), Path::new("old/a/b")).unwrap());
        assert!(there("old/a/b/c"), "what was there before is not touched");
    }

    #[test]
    fn directories_of_which_one_cannot_be_made_go_again() {
        let test = TestRoot::new();
        let outside = MadeDirectories::make(test.root.dir(), Path::new("a/b/../../../up"));
        assert!(outside.is_err() && !test.path().join("a").exists());
    }

    #[test]
    fn a_file_that_cannot_be_put_into_place_leaves_no_directory() {
        let test = TestRoot::new();
        let wanted = target(&test.root, "new/sub/file").unwrap();
        let name = OsString::from("n".repeat(300));
        let too_long = Target { name, ..wanted };
        let failed = publish(&test.root, "new/sub/file", &too_long, b"x", &Stop::default());
        assert!(matches!(failed, Err(ToolFailure::Failed(_))), "{failed:?}");
        assert_eq!(std::fs::read_dir(test.path()).unwrap().count(), 0);
    }
}
