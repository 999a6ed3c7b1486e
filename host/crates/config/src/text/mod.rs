//! The file as text: reading JSON5 within limits, finding the place of a key, showing a line. It knows nothing about the keys.
//!
//! All positions come from the JSON5 parser itself, so they cannot disagree with what it read.

pub(crate) mod document;
pub(crate) mod excerpt;
pub(crate) mod key_path;
pub(crate) mod locate;

use std::fmt;

/// A place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, the first one is 1.
    pub line: usize,
    /// Column in characters, the first one is 1.
    pub column: usize,
}

impl Position {
    /// The place of a byte in a text. The byte has to begin a character, or be the end of the text.
    pub(crate) fn of_offset(offset: usize, text: &str) -> Self {
        json5::Position::from_offset(offset, text).into()
    }
}

impl From<json5::Position> for Position {
    fn from(position: json5::Position) -> Self {
        Self { line: position.line + 1, column: position.column + 1 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}
