//! What is wrong with a configuration, and how that reads. No message repeats the value of a key that may hold a
//! secret.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::text::key_path::KeyPath;
use crate::text::{Position, printable};

/// Most problems that are kept. What is above is counted.
pub(crate) const MAX_PROBLEMS: usize = 50;

/// Everything that is wrong with one configuration. Never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigErrors {
    origin: PathBuf,
    problems: Vec<Problem>,
    more: usize,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The key. `None`: the file as a whole.
    pub key: Option<KeyPath>,
    /// The place in the file. `None`: it has no place.
    pub position: Option<Position>,
    /// What is wrong.
    pub kind: ProblemKind,
    /// The line with a mark, for errors of syntax. Texts in it are masked.
    pub excerpt: Option<String>,
}

/// Kinds of problems.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ProblemKind {
    /// The file cannot be read.
    #[error("cannot read the file: {cause}")]
    Unreadable {
        /// Text of the operating system.
        cause: String,
    },
    /// The path is a directory, a pipe or a device.
    #[error("this is not a regular file; put the configuration into a file, or change CREEL_CONFIG_PATH")]
    NotAFile,
    /// The file is too large.
    #[error("the file has more than {limit} bytes, which is the limit; move large settings into files of their own")]
    TooLarge {
        /// Largest size in bytes.
        limit: u64,
    },
    /// The file is not UTF-8.
    #[error("the file is not UTF-8 from here on; save it as UTF-8")]
    NotUtf8,
    /// There is nothing in the file but space and comments.
    #[error("the file is empty; write `{{}}` for the defaults, or remove the file")]
    Empty,
    /// The file is not JSON5.
    #[error("{phrase}")]
    Syntax {
        /// What the parser expected.
        phrase: &'static str,
    },
    /// Objects and lists are nested too deep.
    #[error("objects and lists are nested deeper than {limit}")]
    TooDeep {
        /// Deepest nesting.
        limit: usize,
    },
    /// `Infinity` or `NaN`.
    #[error("found `Infinity` or `NaN`, expected a finite number")]
    NotFinite,
    /// A key occurs again in its object.
    #[error("this key is already in the same object; remove one of the two")]
    DuplicateKey,
    /// Nobody knows the key.
    #[error("unknown key{}", suggestion(nearest.as_deref(), known))]
    UnknownKey {
        /// The known key that is nearest to it.
        nearest: Option<String>,
        /// The keys that this version acts on at this place.
        known: Vec<String>,
    },
    /// A key has to be there.
    #[error("the key `{name}` is missing here")]
    MissingKey {
        /// Its name.
        name: String,
    },
    /// The value has another type or is out of range.
    #[error("found {found}, expected {expected}{}", suggestion(nearest.as_deref(), &[]))]
    BadValue {
        /// The value, or its kind.
        found: String,
        /// What the key takes.
        expected: String,
        /// The word that is nearest to the value.
        nearest: Option<String>,
    },
    /// A variable in `${…}` is not set.
    #[error("the environment variable `{name}` is not set; set it, or write `$${{{name}}}` for the text itself")]
    MissingVariable {
        /// Name of the variable.
        name: String,
    },
    /// Two settings contradict each other, or a value breaks a rule that is not about its type. One phrase.
    #[error("{0}")]
    Rule(String),
    /// The checks let something pass that the types refuse: a fault of this program.
    #[error("internal error: {cause}; please report it")]
    Internal {
        /// Which check, and where.
        cause: String,
    },
}

/// The end of a message about an unknown word.
fn suggestion(nearest: Option<&str>, known: &[String]) -> String {
    match (nearest, known) {
        (Some(nearest), _) => format!("; did you mean `{nearest}`?"),
        (None, []) => String::new(),
        (None, known) => format!("; known here: {}", known.join(", ")),
    }
}

impl ConfigErrors {
    /// Keeps the first problems in the order of the file. There has to be at least one.
    pub(crate) fn new(origin: &Path, mut problems: Vec<Problem>, dropped: usize) -> Self {
        problems.sort_by_key(|problem| problem.position);
        let more = dropped + problems.len().saturating_sub(MAX_PROBLEMS);
        problems.truncate(MAX_PROBLEMS);
        Self { origin: origin.to_owned(), problems, more }
    }

    /// A problem of the file as a whole.
    pub(crate) fn whole_file(origin: &Path, kind: ProblemKind) -> Self {
        Self::new(origin, vec![Problem { key: None, position: None, kind, excerpt: None }], 0)
    }

    /// The file.
    pub fn origin(&self) -> &Path {
        &self.origin
    }

    /// The problems, in the order of the file.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many further problems there are.
    pub fn more(&self) -> usize {
        self.more
    }
}

impl std::error::Error for ConfigErrors {}

impl fmt::Display for ConfigErrors {
    /// A headline, then one block for each problem: place and key, then what is wrong.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.problems.len() + self.more;
        let noun = if count == 1 { "error" } else { "errors" };
        write!(f, "the configuration {} has {count} {noun}", self.origin.display())?;
        for problem in &self.problems {
            write!(f, "\n\n{}", self.origin.display())?;
            if let Some(position) = problem.position {
                write!(f, ":{position}")?;
            }
            match &problem.key {
                Some(key) if !key.segments().is_empty() => write!(f, ": {key}")?,
                _ => {}
            }
            write!(f, "\n  {}", printable(&problem.kind.to_string()))?;
            for line in problem.excerpt.iter().flat_map(|excerpt| excerpt.lines()) {
                write!(f, "\n  {line}")?;
            }
        }
        if self.more > 0 {
            write!(f, "\n\nand {} more", self.more)?;
        }
        Ok(())
    }
}
