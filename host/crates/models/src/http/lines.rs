//! Bytes into whole lines of text, each ended by one line feed. The event parser behind it gets nothing else, for three reasons: it
//! may only see a character whole, it keeps what is unfinished without a limit, and it panics at a byte order mark.

/// An event, or a line of one, is longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventTooLarge;

/// Cuts bytes into lines. Lines end with LF, CRLF or CR (runtime 12.1.1); bytes that are not UTF-8 become U+FFFD.
#[derive(Debug)]
pub(crate) struct LineDecoder {
    line: Vec<u8>,
    /// The last byte was a CR, so that an LF belongs to it.
    after_cr: bool,
    /// No line has ended yet.
    at_start: bool,
    /// Bytes of the lines since the last empty one.
    event_bytes: usize,
    max_event_bytes: usize,
}

impl LineDecoder {
    /// A decoder that refuses events above a size.
    pub(crate) fn new(max_event_bytes: usize) -> Self {
        Self { line: Vec::new(), after_cr: false, at_start: true, event_bytes: 0, max_event_bytes }
    }

    /// Takes a piece and answers the lines that it completes; often none.
    ///
    /// # Errors
    /// When the event that is under way is too large. The decoder is of no use afterwards.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<String, EventTooLarge> {
        let mut lines = String::new();
        for &byte in bytes {
            let follows_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match byte {
                b'\n' if follows_cr => {}
                b'\n' | b'\r' => self.end_line(&mut lines),
                _ if self.event_bytes + self.line.len() >= self.max_event_bytes => return Err(EventTooLarge),
                _ => self.line.push(byte),
            }
        }
        Ok(lines)
    }

    /// Ends the text: an unfinished line counts as a line, and an unfinished event as an event.
    pub(crate) fn finish(&mut self) -> String {
        let mut lines = String::new();
        if !self.line.is_empty() {
            self.end_line(&mut lines);
        }
        lines.push('\n');
        lines
    }

    fn end_line(&mut self, lines: &mut String) {
        let text = String::from_utf8_lossy(&self.line);
        let text = if self.at_start { text.trim_start_matches('\u{feff}') } else { &text };
        lines.push_str(text);
        lines.push('\n');
        self.event_bytes = if text.is_empty() { 0 } else { self.event_bytes + self.line.len() };
        self.at_start = false;
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn decode(pieces: &[&[u8]]) -> String {
        let mut decoder = LineDecoder::new(1000);
        let mut lines: String = pieces.iter().map(|piece| decoder.push(piece).unwrap()).collect();
        lines.push_str(&decoder.finish());
        lines
    }

    #[test]
    fn all_line_ends_are_one() {
        for text in ["a\nb\n\nc\n", "a\r\nb\r\n\r\nc\r\n", "a\rb\r\rc\r"] {
            assert_eq!(decode(&[text.as_bytes()]), "a\nb\n\nc\n\n", "{text:?}");
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(decode(&bytes), "a\nb\n\nc\n\n", "{text:?} in single bytes");
        }
    }

    #[test]
    fn characters_survive_any_cut() {
        let text = "data: 你好🙂é";
        for cut in 0..text.len() {
            let (head, tail) = text.as_bytes().split_at(cut);
            assert_eq!(decode(&[head, tail]), format!("{text}\n\n"), "cut at {cut}");
        }
    }

    #[test]
    fn invalid_bytes_end_nothing() {
        assert_eq!(decode(&[b"a\xff\xf0b\nc"]), "a\u{fffd}\u{fffd}b\nc\n\n");
    }

    #[test]
    fn byte_order_marks_at_the_start_are_dropped() {
        assert_eq!(decode(&["\u{feff}\u{feff}a\n\u{feff}b".as_bytes()]), "a\n\u{feff}b\n\n");
    }

    #[test]
    fn a_large_event_is_refused_however_it_is_cut() {
        let feed = |text: &str| {
            let mut decoder = LineDecoder::new(10);
            text.as_bytes().chunks(1).try_for_each(|byte| decoder.push(byte).map(drop))
        };
        assert_eq!(feed("0123456789\n\n0123456789"), Ok(()));
        assert_eq!(feed("01234567890"), Err(EventTooLarge));
        assert_eq!(feed("01234\r\n56789\r\n0"), Err(EventTooLarge));
        assert_eq!(feed(&"0123\n\n".repeat(100)), Ok(()));
    }
}
