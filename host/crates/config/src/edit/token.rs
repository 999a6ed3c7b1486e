//! The tokens of JSON5 with their places: as much as is needed to see how a file is written. The text was read by the parser before, so
//! there is nothing here that could be wrong with it.

use std::ops::Range;

use crate::text::is_line_end;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A text in these quotes.
    Quoted(char),
    /// A name, number or word.
    Word,
    /// One of `{}[]:,`.
    Mark(char),
}

/// One token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) at: Range<usize>,
}

/// All tokens from `start` on; space and comments are passed over.
pub(super) fn tokens(text: &str, start: usize) -> impl Iterator<Item = Token> {
    let mut at = start;
    std::iter::from_fn(move || {
        at += blank(&text[at..]);
        let rest = &text[at..];
        let first = rest.chars().next()?;
        let (kind, length) = match first {
            '{' | '}' | '[' | ']' | ':' | ',' => (Kind::Mark(first), 1),
            '"' | '\'' => (Kind::Quoted(first), quoted(rest, first)),
            _ => (Kind::Word, word(rest)),
        };
        let token = Token { kind, at: at..at + length };
        at += length;
        Some(token)
    })
}

/// Where the value at `start` ends: behind its last token.
pub(super) fn value_end(text: &str, start: usize) -> usize {
    let mut depth = 0_usize;
    for token in tokens(text, start) {
        match token.kind {
            Kind::Mark('{' | '[') => depth += 1,
            Kind::Mark('}' | ']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return token.at.end;
        }
    }
    text.len()
}

/// Bytes of space and comments at the start of a text.
pub(super) fn blank(text: &str) -> usize {
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let after = match trimmed.as_bytes() {
            [b'/', b'/', ..] => trimmed.split_once(is_line_end).map_or("", |(_, after)| after),
            [b'/', b'*', ..] => trimmed[2..].split_once("*/").map_or("", |(_, after)| after),
            _ => return text.len() - trimmed.len(),
        };
        rest = after;
    }
}

fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (index, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return index + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn word(text: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || matches!(c, '{' | '}' | '[' | ']' | ':' | ',' | '/' | '"' | '\'');
    let length = text.find(ends).unwrap_or(text.len());
    // A character that belongs nowhere is one token, so that the end is reached.
    length.max(text.chars().next().map_or(0, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_behind_its_last_token() {
        for (text, end) in [
            ("true, x", 4),
            ("'a\\'}', x", 6),
            ("{ a: '}' /* } */, b: [1] } // }", 26),
            ("[[1], {}], 2", 9),
            ("-0x1F}", 5),
            ("\"a\"", 3),
        ] {
            assert_eq!(value_end(text, 0), end, "{text}");
        }
    }

    #[test]
    fn comments_and_space_are_no_tokens() {
        let text = "\u{feff}// a: 1\n /* b */ c // d";
        let found: Vec<Token> = tokens(text, 0).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(&text[found[0].at.clone()], "c");
    }
}
