//! A text as the source of values: one line per value, so that an input of the fuzzer can be read and written by people. What is missing
//! or makes no sense has a plain value: empty, absent, no, 0. In a text, `\r` stands for the end of a line.

use std::str::Split;

/// Stands for a value that is absent, and for an error in the place of an answer the line begins with `!`.
const ABSENT: &str = "-";

/// The lines that are left.
pub(super) struct Lines<'a> {
    left: Option<Split<'a, char>>,
}

impl<'a> Lines<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { left: Some(text.split('\n')) }
    }

    /// Whether nothing is left.
    pub(super) fn are_used_up(&self) -> bool {
        self.left.is_none()
    }

    /// The next line as it is.
    pub(super) fn line(&mut self) -> &'a str {
        let line = self.left.as_mut().and_then(Iterator::next);
        if line.is_none() {
            self.left = None;
        }
        line.unwrap_or_default()
    }

    /// A value in the way that is given.
    pub(super) fn read<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> T {
        read(self)
    }

    pub(super) fn text(&mut self) -> String {
        self.line().replace('\r', "\n")
    }

    /// A value that may be absent.
    pub(super) fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let here = self.left.clone();
        let line = self.line();
        if self.are_used_up() || line == ABSENT {
            return None;
        }
        self.left = here;
        Some(read(self))
    }

    pub(super) fn optional_text(&mut self) -> Option<String> {
        self.optional(Self::text)
    }

    pub(super) fn flag(&mut self) -> bool {
        self.line() == "yes"
    }

    pub(super) fn number(&mut self) -> u32 {
        self.line().parse().unwrap_or(0)
    }

    /// One of these; the first if the line is the name of none.
    pub(super) fn one_of<T: Copy>(&mut self, first: T, others: &[(&str, T)]) -> T {
        let line = self.line();
        others.iter().find(|(name, _)| *name == line).map_or(first, |(_, value)| *value)
    }

    /// A list: a line with the number of items, then the items. It ends with the input.
    pub(super) fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut list = Vec::new();
        for _ in 0..self.number() {
            let item = read(self);
            if self.are_used_up() {
                break;
            }
            list.push(item);
        }
        list
    }

    /// What a handler returns: nothing, an error, or an answer.
    pub(super) fn returned<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> Result<Option<T>, String> {
        match self.line() {
            ABSENT => Ok(None),
            line => match line.strip_prefix('!') {
                Some(error) => Err(error.to_owned()),
                None => Ok(Some(read(self))),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_one_value() {
        let mut lines = Lines::of("a\rb\n-\nc\nyes\n7\nfar\n2\nx\ny\n!no\n-\nanswer\nz");
        assert_eq!(lines.text(), "a\nb");
        assert_eq!((lines.optional_text(), lines.optional_text()), (None, Some("c".to_owned())));
        assert_eq!((lines.flag(), lines.number()), (true, 7));
        assert_eq!(lines.one_of(0, &[("near", 1), ("far", 2)]), 2);
        assert_eq!(lines.list(Lines::text), ["x", "y"]);
        assert_eq!(lines.returned(Lines::text), Err("no".to_owned()));
        assert_eq!(lines.returned(Lines::text), Ok(None));
        assert_eq!(lines.returned(Lines::text), Ok(Some("z".to_owned())));
        assert!(!lines.are_used_up());
        assert_eq!((lines.text(), lines.optional_text(), lines.flag(), lines.number()), (String::new(), None, false, 0));
        assert!(lines.are_used_up());
    }

    #[test]
    fn a_list_ends_with_the_input() {
        assert_eq!(Lines::of("4000000000\na\nb").list(Lines::text), ["a", "b"]);
    }
}
