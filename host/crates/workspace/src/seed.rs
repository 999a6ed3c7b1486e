//! First files of a new workspace (8.1.5, 8.1.6). An existing file is never touched, and a workspace that was there before and is
//! empty now is reported instead of being filled again: most likely a disk is not mounted.

use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use cap_std::fs::OpenOptions;
use sha2::{Digest as _, Sha256};

use crate::bootstrap::names;
use crate::directory::Workspace;

/// Template files that can be left out by name.
pub const OPTIONAL_TEMPLATES: [&str; 4] = [names::SOUL, names::USER, names::HEARTBEAT, names::IDENTITY];

/// Name and content of each template.
const TEMPLATES: [(&str, &str); 7] = [
    (names::AGENTS, include_str!("../templates/AGENTS.md")),
    (names::SOUL, include_str!("../templates/SOUL.md")),
    (names::TOOLS, include_str!("../templates/TOOLS.md")),
    (names::IDENTITY, include_str!("../templates/IDENTITY.md")),
    (names::USER, include_str!("../templates/USER.md")),
    (names::HEARTBEAT, include_str!("../templates/HEARTBEAT.md")),
    (names::BOOTSTRAP, include_str!("../templates/BOOTSTRAP.md")),
];

/// How to seed.
#[derive(Debug, Clone, Copy)]
pub struct SeedOptions<'a> {
    /// Where it is remembered which workspaces were seen, in `workspaces/`.
    pub state_dir: &'a Path,
    /// Write nothing (`agents.defaults.skipBootstrap`).
    pub skip: bool,
    /// Templates to leave out (`skipOptionalBootstrapFiles`); only those of [`OPTIONAL_TEMPLATES`] can be.
    pub skip_optional: &'a [String],
}

/// What became of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seeded {
    /// It was new and got these files.
    New(Vec<&'static str>),
    /// It was in use already; nothing was written.
    InUse,
    /// It was seen before and is empty now; nothing was written. Worth a warning.
    Vanished,
    /// The settings say to write nothing.
    Skipped,
}

/// Why a workspace could not be seeded.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// A file in the workspace.
    #[error("cannot write `{name}` into the workspace `{}`; make it writable or set `agents.defaults.skipBootstrap`", workspace.display())]
    Template {
        /// The file.
        name: &'static str,
        /// The workspace.
        workspace: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The directory itself.
    #[error("cannot list the workspace `{}`", workspace.display())]
    List {
        /// The workspace.
        workspace: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The marker.
    #[error("cannot remember in `{}` that the workspace was seen; make the state directory writable", marker.display())]
    Marker {
        /// The marker file.
        marker: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

impl Workspace {
    /// Gives a new workspace its template files, and remembers that it was seen.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn seed(&self, options: SeedOptions<'_>) -> Result<Seeded, SeedError> {
        if options.skip {
            return Ok(Seeded::Skipped);
        }
        let marker = marker_path(options.state_dir, self.path());
        if marker.exists() {
            return Ok(if self.is_empty()? { Seeded::Vanished } else { Seeded::InUse });
        }
        let seeded = if self.holds_bootstrap_files() { Seeded::InUse } else { Seeded::New(self.write_templates(options)?) };
        // Last: if this is not reached, the files that are there tell the next start the same.
        remember(&marker, self.path()).map_err(|source| SeedError::Marker { marker, source })?;
        Ok(seeded)
    }

    fn is_empty(&self) -> Result<bool, SeedError> {
        let list = |source| SeedError::List { workspace: self.path().to_owned(), source };
        Ok(self.dir().entries().map_err(list)?.next().is_none())
    }

    fn holds_bootstrap_files(&self) -> bool {
        names::ALL.iter().any(|name| self.dir().symlink_metadata(name).is_ok())
    }

    fn write_templates(&self, options: SeedOptions<'_>) -> Result<Vec<&'static str>, SeedError> {
        let left_out = |name: &str| OPTIONAL_TEMPLATES.contains(&name) && options.skip_optional.iter().any(|skip| skip == name);
        let mut written = Vec::new();
        for (name, content) in TEMPLATES.into_iter().filter(|(name, _)| !left_out(name)) {
            let template = |source| SeedError::Template { name, workspace: self.path().to_owned(), source };
            if self.write_new(name, content).map_err(template)? {
                written.push(name);
            }
        }
        Ok(written)
    }

    /// Writes a file unless there is one; another process may be seeding at the same time.
    fn write_new(&self, name: &str, content: &str) -> io::Result<bool> {
        match self.dir().open_with(name, OpenOptions::new().write(true).create_new(true)) {
            Ok(mut file) => file.write_all(content.as_bytes()).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The marker of a workspace: its name is a digest, because a path can be longer than a file name, and its content is the path, for
/// people.
fn marker_path(state_dir: &Path, workspace: &Path) -> PathBuf {
    let digest = Sha256::digest(workspace.as_os_str().as_bytes());
    state_dir.join("workspaces").join(hex::encode(&digest[..16]))
}

fn remember(marker: &Path, workspace: &Path) -> io::Result<()> {
    if let Some(parent) = marker.parent() {
        std::fs::create_dir_all(parent)?;
    }
    std::fs::write(marker, format!("{}\n", workspace.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;
    use crate::test_support::Home;

    fn seed_with(home: &Home, skip: bool, skip_optional: &[&str]) -> Result<Seeded, SeedError> {
        let skip_optional: Vec<String> = skip_optional.iter().map(|name| (*name).to_owned()).collect();
        // Opened anew, as a later start of the host would.
        let workspace = Workspace::open(home.path()).unwrap();
        workspace.seed(SeedOptions { state_dir: &home.state_dir(), skip, skip_optional: &skip_optional })
    }

    fn seed(home: &Home) -> Seeded {
        seed_with(home, false, &[]).unwrap()
    }

    fn count(home: &Home) -> usize {
        std::fs::read_dir(home.path()).unwrap().count()
    }

    #[test]
    fn a_new_workspace_gets_every_template_once() {
        let home = Home::new();
        let Seeded::New(files) = seed(&home) else { panic!("it is new") };
        assert_eq!(files, TEMPLATES.map(|(name, _)| name));
        assert_eq!(count(&home), TEMPLATES.len());
        assert!(std::fs::read_to_string(home.path().join("AGENTS.md")).unwrap().starts_with("# AGENTS.md"));
        assert_eq!(seed(&home), Seeded::InUse);
    }

    #[test]
    fn a_file_that_was_removed_on_purpose_does_not_come_back() {
        let home = Home::new();
        seed(&home);
        std::fs::remove_file(home.path().join("BOOTSTRAP.md")).unwrap();
        assert_eq!(seed(&home), Seeded::InUse);
        assert!(!home.path().join("BOOTSTRAP.md").exists());
    }

    #[test]
    fn a_workspace_in_use_is_not_touched() {
        let home = Home::new();
        home.write("AGENTS.md", "mine");
        assert_eq!(seed(&home), Seeded::InUse);
        assert_eq!((count(&home), std::fs::read_to_string(home.path().join("AGENTS.md")).unwrap().as_str()), (1, "mine"));
    }

    #[test]
    fn a_workspace_that_vanished_is_not_filled_again() {
        let home = Home::new();
        seed(&home);
        std::fs::remove_dir_all(home.path()).unwrap();
        assert_eq!(seed(&home), Seeded::Vanished);
        assert_eq!(count(&home), 0);
    }

    #[test]
    fn templates_can_be_left_out() {
        let home = Home::new();
        assert_eq!(seed_with(&home, true, &[]).unwrap(), Seeded::Skipped);
        assert_eq!(count(&home), 0);
        let Seeded::New(files) = seed_with(&home, false, &["SOUL.md", "USER.md", "AGENTS.md"]).unwrap() else {
            panic!("still new")
        };
        assert_eq!(files, ["AGENTS.md", "TOOLS.md", "IDENTITY.md", "HEARTBEAT.md", "BOOTSTRAP.md"]);
    }

    #[test]
    fn two_workspaces_have_two_markers() {
        let state = Path::new("/state");
        assert_ne!(marker_path(state, Path::new("/a/b")), marker_path(state, Path::new("/a-b")));
        let long = PathBuf::from(format!("/{}", "x/".repeat(2000)));
        assert!(marker_path(state, &long).file_name().unwrap().len() < 100);
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let home = Home::new();
        std::fs::write(home.state_dir(), "a file where the directory should be").unwrap();
        let error = seed_with(&home, false, &[]).unwrap_err();
        assert!(matches!(&error, SeedError::Marker { .. }) && error.to_string().contains("state directory"), "{error}");
    }
}
