//! Whether the policy's command can be trusted to be the one that the operator meant (plugin-hooks 10): nobody else could have put
//! another program in its place.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Bit of a directory in which only the owner of a name may replace it.
const STICKY: u32 = 0o1000;

/// Bits that let others write.
const OTHERS_WRITE: u32 = 0o022;

/// Why a command is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeCommand {
    /// Its path is relative.
    #[error("the command {} is not an absolute path without `.` and `..`", .0.display())]
    NotAbsolute(PathBuf),
    /// It is not there, or cannot be looked at.
    #[error("the command {} cannot be used: {problem}", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
        /// What the system says.
        problem: String,
    },
    /// It is a link.
    #[error("{} is a link; name the file that it points at", .0.display())]
    Link(PathBuf),
    /// It is something else.
    #[error("the command {} is not a regular file", .0.display())]
    NotAFile(PathBuf),
    /// Others can change it.
    #[error("{} can be changed by others (mode {mode:o}); take the right to write from group and world", path.display())]
    Writable {
        /// The file or directory.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Somebody else owns it.
    #[error("{} belongs to user {owner}; it must belong to you or root", path.display())]
    Owner {
        /// The file or directory.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// It is outside of the directories that the operator trusts.
    #[error("the command {} is in none of security.installPolicy.exec.trustedDirs", .0.display())]
    NotTrusted(PathBuf),
}

/// Checks the command and every directory above it.
pub(super) fn check(command: &Path, trusted_dirs: &[PathBuf]) -> Result<(), UnsafeCommand> {
    let is_plain =
        command.components().all(|part| matches!(part, std::path::Component::RootDir | std::path::Component::Normal(_)));
    // `components` leaves `.` out of the middle of a path, so the text is compared too.
    if !command.is_absolute() || !is_plain || command.components().collect::<PathBuf>().as_os_str() != command.as_os_str() {
        return Err(UnsafeCommand::NotAbsolute(command.to_owned()));
    }
    let metadata = look(command)?;
    if !metadata.is_file() {
        return Err(UnsafeCommand::NotAFile(command.to_owned()));
    }
    check_owner(command, &metadata, false)?;
    for directory in command.ancestors().skip(1) {
        check_owner(directory, &look(directory)?, true)?;
    }
    if !trusted_dirs.is_empty() && !trusted_dirs.iter().any(|trusted| command.starts_with(trusted)) {
        return Err(UnsafeCommand::NotTrusted(command.to_owned()));
    }
    Ok(())
}

/// What stands at a path, which is no link.
fn look(path: &Path) -> Result<Metadata, UnsafeCommand> {
    let missing = |error: std::io::Error| UnsafeCommand::Missing { path: path.to_owned(), problem: error.to_string() };
    let metadata = fs::symlink_metadata(path).map_err(missing)?;
    if metadata.is_symlink() { Err(UnsafeCommand::Link(path.to_owned())) } else { Ok(metadata) }
}

/// A directory such as `/tmp`, where everybody may add a name and nobody may replace another's, is safe for what is below it: that is
/// checked itself.
fn check_owner(path: &Path, metadata: &Metadata, is_directory: bool) -> Result<(), UnsafeCommand> {
    let (mode, owner) = (metadata.mode() & 0o7777, metadata.uid());
    if mode & OTHERS_WRITE != 0 && !(is_directory && mode & STICKY != 0) {
        return Err(UnsafeCommand::Writable { path: path.to_owned(), mode });
    }
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(UnsafeCommand::Owner { path: path.to_owned(), owner });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    struct Place {
        _dir: tempfile::TempDir,
        command: PathBuf,
    }

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn place() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let bin = fs::canonicalize(dir.path()).unwrap().join("bin");
        fs::create_dir(&bin).unwrap();
        chmod(&bin, 0o755);
        let command = bin.join("policy");
        fs::write(&command, "#!/bin/sh\n").unwrap();
        chmod(&command, 0o755);
        Place { _dir: dir, command }
    }

    #[test]
    fn a_file_of_its_owner_in_safe_directories_is_run() {
        let place = place();
        assert_eq!(check(&place.command, &[]), Ok(()));
        let parent = place.command.parent().unwrap().to_owned();
        assert_eq!(check(&place.command, &["/nowhere".into(), parent]), Ok(()));
    }

    #[test]
    fn each_rule_bites() {
        let refused = |change: &dyn Fn(&Path) -> PathBuf| {
            let place = place();
            let command = change(&place.command);
            check(&command, &[]).unwrap_err()
        };
        let relative = refused(&|_| "policy".into());
        assert!(matches!(relative, UnsafeCommand::NotAbsolute(_)));
        let roundabout = refused(&|command| command.parent().unwrap().join("../bin/policy"));
        assert!(matches!(roundabout, UnsafeCommand::NotAbsolute(_)));
        let dotted = refused(&|command| format!("{}/./policy", command.parent().unwrap().display()).into());
        assert!(matches!(dotted, UnsafeCommand::NotAbsolute(_)));
        let missing = refused(&|command| command.with_file_name("other"));
        assert!(matches!(missing, UnsafeCommand::Missing { .. }));
        let link = refused(&|command| {
            let link = command.with_file_name("link");
            symlink(command, &link).unwrap();
            link
        });
        assert!(matches!(link, UnsafeCommand::Link(_)));
        let link_above = refused(&|command| {
            let bin = command.parent().unwrap();
            symlink(bin, bin.with_file_name("linked")).unwrap();
            bin.with_file_name("linked").join("policy")
        });
        assert!(matches!(link_above, UnsafeCommand::Link(_)));
        let directory = refused(&|command| command.parent().unwrap().to_owned());
        assert!(matches!(directory, UnsafeCommand::NotAFile(_)));
        for mode in [0o775, 0o757] {
            let writable = refused(&|command| {
                chmod(command, mode);
                command.to_owned()
            });
            assert!(matches!(writable, UnsafeCommand::Writable { .. }), "{mode:o}");
            let writable_above = refused(&|command| {
                chmod(command.parent().unwrap(), mode);
                command.to_owned()
            });
            assert!(matches!(writable_above, UnsafeCommand::Writable { .. }), "{mode:o}");
        }
    }

    #[test]
    fn a_directory_in_which_names_are_their_owners_is_safe() {
        let place = place();
        chmod(place.command.parent().unwrap(), 0o1777);
        assert_eq!(check(&place.command, &[]), Ok(()));
    }

    #[test]
    fn another_owner_is_refused() {
        let place = place();
        // Only root can give a file away.
        if chown(&place.command, Some(12_345), None).is_ok() {
            assert_eq!(check(&place.command, &[]), Err(UnsafeCommand::Owner { path: place.command.clone(), owner: 12_345 }));
        }
    }

    #[test]
    fn trusted_directories_are_a_fence() {
        let place = place();
        let sibling = format!("{}-not", place.command.parent().unwrap().display());
        assert_eq!(check(&place.command, &[sibling.into()]), Err(UnsafeCommand::NotTrusted(place.command.clone())));
    }
}
