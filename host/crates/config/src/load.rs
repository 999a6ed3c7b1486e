//! Reads the configuration file. The only file access of this crate.

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::keys::Config;
use crate::locations::Locations;
use crate::parse::parse;
use crate::problem::{ConfigErrors, Problem, ProblemKind};
use crate::text::Position;
use crate::text::key_path::KeyPath;
use crate::text::locate::{Target, locate};
use crate::warning::Warning;

/// Largest file. A configuration is written by people; the bound keeps a wrong path from filling the memory.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// A loaded configuration.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The configuration. A run keeps this one from start to end, whatever happens to the file (runtime 11.1.5).
    pub config: Arc<Config>,
    /// What the operator should know.
    pub warnings: Vec<Warning>,
    /// The file.
    pub path: PathBuf,
    /// Whether the file exists. If not, the defaults hold.
    pub existed: bool,
    source: Source,
}

impl Loaded {
    /// Where a value stands in the file, for messages of whoever checks more of it, for example settings of plugins. `None`: it is
    /// not in the file.
    pub fn position(&self, key: &KeyPath) -> Option<Position> {
        locate(&self.source.0, key, Target::Value)
    }

    /// Where a value stands, or would stand, as a person reads it: file, line and column of the value or of what is nearest around it,
    /// then the key.
    pub fn place(&self, key: &KeyPath) -> String {
        let position = self.nearest_position(key).map_or_else(String::new, |position| format!(":{position}"));
        format!("{}{position}: {key}", self.path.display())
    }

    /// Errors that somebody else found in values of the file, one phrase each, told like those that are found here. `None`: there are
    /// none.
    pub fn errors(&self, found: Vec<(KeyPath, String)>) -> Option<ConfigErrors> {
        let problem = |(key, phrase): (KeyPath, String)| Problem {
            position: self.nearest_position(&key),
            key: Some(key),
            kind: ProblemKind::Rule(phrase),
            excerpt: None,
        };
        let problems: Vec<Problem> = found.into_iter().map(problem).collect();
        (!problems.is_empty()).then(|| ConfigErrors::new(&self.path, problems, 0))
    }

    /// The place of a value, or of the innermost one around it that is in the file.
    fn nearest_position(&self, key: &KeyPath) -> Option<Position> {
        let segments = key.segments();
        let around = |length: usize| segments[..length].iter().cloned().collect::<KeyPath>();
        (1..=segments.len()).rev().find_map(|length| self.position(&around(length)))
    }
}

/// The text of the file. It may hold secrets.
#[derive(Clone)]
struct Source(Arc<str>);

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// Loads the file of a host. A missing file means the defaults (runtime 11.1.1).
///
/// # Errors
/// With everything that is wrong with the file, or the reason why it cannot be read.
pub fn load(locations: &Locations) -> Result<Loaded, ConfigErrors> {
    let path = locations.config_path();
    let Some(bytes) = read(path)? else {
        let warnings = if locations.config_path_is_named() { vec![Warning::NamedFileMissing] } else { Vec::new() };
        let source = Source("{}".into());
        return Ok(Loaded { config: Arc::default(), warnings, path: path.to_owned(), existed: false, source });
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| not_utf8(path, &bytes, error.valid_up_to()))?;
    let parsed = parse(text, path, locations.environment())?;
    Ok(Loaded {
        config: parsed.config,
        warnings: parsed.warnings,
        path: path.to_owned(),
        existed: true,
        source: Source(text.into()),
    })
}

/// The content of a file. `None`: there is none.
fn read(path: &Path) -> Result<Option<Vec<u8>>, ConfigErrors> {
    let fail = |kind| ConfigErrors::whole_file(path, kind);
    let unreadable = |error: std::io::Error| fail(ProblemKind::Unreadable { cause: error.to_string() });
    // Asked before opening: opening a pipe would wait for its other end.
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
        Ok(metadata) if !metadata.is_file() => return Err(fail(ProblemKind::NotAFile)),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(fail(ProblemKind::TooLarge { limit: MAX_FILE_BYTES }));
    }
    Ok(Some(bytes))
}

fn not_utf8(path: &Path, bytes: &[u8], valid: usize) -> ConfigErrors {
    let text = String::from_utf8_lossy(bytes.get(..valid).unwrap_or_default());
    let position = Some(Position::of_offset(text.len(), &text));
    ConfigErrors::new(path, vec![Problem { key: None, position, kind: ProblemKind::NotUtf8, excerpt: None }], 0)
}
