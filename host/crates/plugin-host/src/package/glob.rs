//! Patterns of a package file, expanded inside the package's directory. Walks a bounded part of it and follows no links.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::discovery::{FileError, FileKind, Root};

/// Most files and directories that one pattern may look at.
const MAX_WALKED: usize = 10_000;

/// Deepest directory that a pattern may look into.
const MAX_DEPTH: usize = 12;

/// Why a pattern cannot be expanded.
#[derive(Debug)]
pub(super) enum GlobError {
    /// It is no pattern.
    Pattern(String),
    /// A directory cannot be listed, or there is too much in it.
    File(FileError),
}

/// Whether an entry is a pattern rather than a path.
pub(super) fn is_pattern(entry: &str) -> bool {
    entry.contains(['*', '?', '[', '{'])
}

/// What a pattern finds, sorted. Links are found, and not followed.
pub(super) fn expand(root: &Root, pattern: &str) -> Result<Vec<PathBuf>, GlobError> {
    let plain = pattern.trim_start_matches("./");
    let glob = GlobBuilder::new(plain).literal_separator(true).build();
    let matcher = glob.map_err(|error| GlobError::Pattern(format!("is not a pattern: {error}")))?.compile_matcher();
    let mut walk = Walk { root, matcher, depth: depth(plain), walked: 0, found: Vec::new() };
    walk.directory(&start(plain), 0).map_err(GlobError::File)?;
    walk.found.sort();
    Ok(walk.found)
}

/// The directory that all finds are in: the parts of the pattern before the first one with a special character.
fn start(pattern: &str) -> PathBuf {
    let parts: Vec<&str> = pattern.split('/').collect();
    parts[..parts.len() - 1].iter().take_while(|part| !is_pattern(part)).collect()
}

/// How deep the walk has to go, below its start.
fn depth(pattern: &str) -> usize {
    let below = pattern.split('/').skip_while(|part| !is_pattern(part)).count();
    if pattern.contains("**") { MAX_DEPTH } else { below.min(MAX_DEPTH) }
}

struct Walk<'a> {
    root: &'a Root,
    matcher: GlobMatcher,
    depth: usize,
    walked: usize,
    found: Vec<PathBuf>,
}

impl Walk<'_> {
    fn directory(&mut self, directory: &Path, depth: usize) -> Result<(), FileError> {
        let listed = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let names = match self.root.names(listed) {
            Ok(names) => names,
            Err(FileError::Missing { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        for name in names {
            self.walked += 1;
            if self.walked > MAX_WALKED {
                return Err(FileError::TooMany { path: self.root.path().to_owned(), max: MAX_WALKED });
            }
            let path = directory.join(name);
            if depth + 1 < self.depth && !self.root.is_link(&path) && matches!(self.root.kind(&path), Ok(FileKind::Directory)) {
                self.directory(&path, depth + 1)?;
            }
            if self.matcher.is_match(&path) {
                self.found.push(path);
            }
        }
        Ok(())
    }
}
