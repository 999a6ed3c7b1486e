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

    /// The byte at this place: the reverse of [`of_offset`](Self::of_offset). `None`: the text has no such place.
    pub(crate) fn offset_in(self, text: &str) -> Option<usize> {
        let mut here = Self { line: 1, column: 1 };
        let mut chars = text.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if here == self {
                return Some(at);
            }
            if is_line_end(c) {
                chars.next_if(|(_, next)| (c, *next) == ('\r', '\n'));
                here = Self { line: here.line + 1, column: 1 };
            } else {
                here.column += 1;
            }
        }
        (here == self).then_some(text.len())
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

/// Whether a character ends a line, and with it a comment: where the parser ends them.
pub(crate) fn is_line_end(c: char) -> bool {
    json5::char::is_json5_line_terminator(c)
}

/// A text of the file as a message may repeat it: what a terminal would obey is written out.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_obeys_is_written_out() {
        assert_eq!(printable("ä `\u{1b}[31m` \n\u{202e}x"), r"ä `\u{1b}[31m` \u{a}\u{202e}x");
    }

    #[test]
    fn an_offset_is_found_again_whatever_ends_the_lines() {
        let text = "a\nä\r\n\rb\u{2028}c\u{2029}\n🙂";
        for (offset, c) in text.char_indices().filter(|(at, _)| !text[..*at].ends_with('\r') || !text[*at..].starts_with('\n')) {
            assert_eq!(Position::of_offset(offset, text).offset_in(text), Some(offset), "{c:?}");
        }
        assert_eq!(Position::of_offset(text.len(), text).offset_in(text), Some(text.len()));
        assert_eq!(Position { line: 1, column: 9 }.offset_in(text), None);
        assert_eq!(Position { line: 99, column: 1 }.offset_in(text), None);
    }
}
