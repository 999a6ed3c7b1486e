//! A page of lines from a file of any size. Memory is bounded by the page, however long the file or its lines are.

use std::io::{self, BufRead, BufReader, Read};

use domain::tool::ToolFailure;

use crate::blocking::Stop;
use crate::text::without_partial_end;

/// Which lines to take, and how much of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimits {
    /// First line, counted from 1.
    pub(crate) first_line: u64,
    /// Most lines.
    pub(crate) lines: u64,
    /// Most bytes.
    pub(crate) bytes: usize,
}

/// Lines that were taken.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    /// Their bytes, line ends included.
    pub(crate) bytes: Vec<u8>,
    /// How many there are.
    pub(crate) lines: u64,
    /// How many lines were skipped before.
    pub(crate) skipped: u64,
    /// Whether the only line was too long and lost its end.
    pub(crate) line_cut: bool,
    /// Whether more lines follow.
    pub(crate) more: bool,
}

/// A failure of the tool, or one of the system that does not name the file yet.
pub(crate) enum ReadError {
    /// Ready for the model.
    Tool(ToolFailure),
    /// Still to be put into words.
    Io(io::Error),
}

impl ReadError {
    /// One failure, with the system's one put into words.
    pub(crate) fn explained(self, io: impl FnOnce(io::Error) -> ToolFailure) -> ToolFailure {
        match self {
            Self::Tool(failure) => failure,
            Self::Io(error) => io(error),
        }
    }
}

/// A file, line by line.
pub(crate) struct Lines<R> {
    source: BufReader<R>,
}

impl<R: Read> Lines<R> {
    pub(crate) fn new(source: BufReader<R>) -> Self {
        Self { source }
    }

    /// The bytes that come next, without taking them; empty at the end of the file.
    pub(crate) fn peek(&mut self) -> io::Result<&[u8]> {
        self.source.fill_buf()
    }

    pub(crate) fn into_inner(self) -> BufReader<R> {
        self.source
    }

    /// Takes one page.
    pub(crate) fn page(&mut self, limits: PageLimits, stop: &Stop) -> Result<Page, ReadError> {
        let mut page = Page::default();
        while page.skipped + 1 < limits.first_line {
            if self.line(&mut Vec::new(), 0, stop)? == 0 {
                return Ok(page);
            }
            page.skipped += 1;
        }
        while page.lines < limits.lines {
            let before = page.bytes.len();
            let room = limits.bytes - before;
            let length = self.line(&mut page.bytes, room, stop)?;
            if length == 0 {
                return Ok(page);
            }
            if length > room as u64 {
                // Half a line would be taken for a whole one, unless it is the only one.
                page.bytes.truncate(if page.lines == 0 { limits.bytes } else { before });
                page.line_cut = page.lines == 0;
                page.more = page.lines > 0 || !self.at_end()?;
                if page.line_cut {
                    page.lines = 1;
                    page.bytes.truncate(without_partial_end(&page.bytes).len());
                }
                return Ok(page);
            }
            page.lines += 1;
        }
        page.more = !self.at_end()?;
        Ok(page)
    }

    fn at_end(&mut self) -> Result<bool, ReadError> {
        Ok(self.peek().map_err(ReadError::Io)?.is_empty())
    }

    /// Passes one line, keeps at most `keep` bytes of it and answers its whole length; 0 at the end of the file.
    fn line(&mut self, kept: &mut Vec<u8>, keep: usize, stop: &Stop) -> Result<u64, ReadError> {
        let (mut length, mut room) = (0_u64, keep);
        loop {
            stop.check().map_err(ReadError::Tool)?;
            let chunk = self.source.fill_buf().map_err(ReadError::Io)?;
            if chunk.is_empty() {
                return Ok(length);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |at| at + 1);
            let stored = taken.min(room);
            kept.extend_from_slice(&chunk[..stored]);
            room -= stored;
            length += taken as u64;
            self.source.consume(taken);
            if end.is_some() {
                return Ok(length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use super::*;

    fn page(text: &str, first_line: u64, lines: u64, bytes: usize) -> Page {
        let mut source = Lines::new(BufReader::with_capacity(3, text.as_bytes()));
        let limits = PageLimits { first_line, lines, bytes };
        source.page(limits, &Stop::default()).unwrap_or_else(|_| panic!("reading memory cannot fail"))
    }

    #[test]
    fn pages_are_exact_at_every_edge() {
        let text = "one\ntwo\nthree";
        let taken = |bytes: &str, lines, skipped, line_cut, more| Page { bytes: bytes.into(), lines, skipped, line_cut, more };
        assert_eq!(page(text, 1, 9, 99), taken(text, 3, 0, false, false));
        assert_eq!(page(text, 1, 2, 99), taken("one\ntwo\n", 2, 0, false, true));
        assert_eq!(page(text, 3, 9, 99), taken("three", 1, 2, false, false));
        assert_eq!(page(text, 4, 9, 99), taken("", 0, 3, false, false));
        assert_eq!(page(text, 1, 9, 8), taken("one\ntwo\n", 2, 0, false, true));
        assert_eq!(page(text, 1, 9, 7), taken("one\n", 1, 0, false, true));
        assert_eq!(page(text, 1, 9, 2), taken("on", 1, 0, true, true));
        assert_eq!(page(text, 3, 9, 2), taken("th", 1, 2, true, false));
        assert_eq!(page("", 1, 9, 9), taken("", 0, 0, false, false));
    }
}
