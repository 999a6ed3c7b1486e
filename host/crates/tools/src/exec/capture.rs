//! What a command printed, bounded: the beginning and the end are kept, the middle is only counted. A flood never grows memory.

use std::collections::VecDeque;

use crate::text::{tail, without_partial_end, without_partial_start};

/// How much of the beginning is kept, bytes: what a command says about itself.
pub const KEPT_HEAD_BYTES: usize = 64 * 1024;
/// How much of the end is kept, bytes: how it went. Larger, because errors come last.
pub const KEPT_TAIL_BYTES: usize = 192 * 1024;

/// Collected output.
#[derive(Debug, Default)]
pub(crate) struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    /// Adds what was printed next.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(KEPT_HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(KEPT_TAIL_BYTES)..];
        let excess = (self.tail.len() + rest.len()).saturating_sub(KEPT_TAIL_BYTES);
        self.tail.drain(..excess);
        self.tail.extend(rest);
    }

    /// Bytes printed in all.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Bytes that were not kept.
    pub(crate) fn omitted(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// The output as text; a mark stands for what was not kept, U+FFFD for bytes that are not UTF-8.
    pub(crate) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        match self.omitted() {
            0 => lossy(&[self.head.as_slice(), &tail].concat()),
            omitted => format!(
                "{}\n… [{omitted} bytes of output left out] …\n{}",
                lossy(without_partial_end(&self.head)),
                lossy(without_partial_start(&tail))
            ),
        }
    }

    /// The newest part of the output, at most `max` characters.
    pub(crate) fn recent(&self, max: usize) -> String {
        // A character has at most four bytes.
        let wanted = max.saturating_mul(4);
        let from_tail = self.tail.len().min(wanted);
        let from_head = if self.omitted() == 0 { self.head.len().min(wanted - from_tail) } else { 0 };
        let mut bytes = self.head[self.head.len() - from_head..].to_vec();
        bytes.extend(self.tail.iter().skip(self.tail.len() - from_tail));
        tail(&lossy(without_partial_end(without_partial_start(&bytes))), max).to_owned()
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: usize = KEPT_HEAD_BYTES + KEPT_TAIL_BYTES;

    #[test]
    fn output_that_fits_is_kept_whole_across_the_seam() {
        let mut capture = Capture::default();
        let text = format!("a{}", "€".repeat(KEPT_HEAD_BYTES / 2));
        for piece in text.as_bytes().chunks(1000) {
            capture.push(piece);
        }
        assert_eq!(capture.text(), text);
        assert_eq!(capture.omitted(), 0);
    }

    #[test]
    fn a_flood_keeps_beginning_and_end_and_no_more() {
        let mut capture = Capture::default();
        capture.push(b"first");
        for _ in 0..1000 {
            capture.push(&[b'.'; 5000]);
        }
        capture.push(b"last");
        assert_eq!(capture.total(), 5_000_009);
        assert_eq!(capture.omitted(), 5_000_009 - ALL as u64);
        assert_eq!((capture.head.len(), capture.tail.len()), (KEPT_HEAD_BYTES, KEPT_TAIL_BYTES));
        let text = capture.text();
        assert!(text.starts_with("first") && text.ends_with("last") && text.len() < ALL + 100);
    }

    #[test]
    fn one_piece_larger_than_everything_is_cut_as_well() {
        let mut capture = Capture::default();
        capture.push(&vec![b'x'; ALL * 3]);
        assert_eq!(capture.tail.len(), KEPT_TAIL_BYTES);
    }

    #[test]
    fn a_cut_never_shows_half_a_character() {
        let mut capture = Capture::default();
        capture.push(b"a");
        capture.push("€".repeat(ALL).as_bytes());
        assert!(!capture.text().contains('\u{FFFD}'));
        assert!(!capture.recent(10).contains('\u{FFFD}'));
        assert_eq!(capture.recent(10), "€".repeat(10));
    }

    #[test]
    fn odd_bytes_are_replaced() {
        let mut capture = Capture::default();
        capture.push(b"a\xFFb");
        assert_eq!(capture.text(), "a\u{FFFD}b");
    }

    proptest! {
        #[test]
        fn the_newest_part_is_the_end_of_the_text(pieces in proptest::collection::vec("\\PC{0,40}", 0..10), max in 0usize..60) {
            let mut capture = Capture::default();
            for piece in &pieces {
                capture.push(piece.as_bytes());
            }
            let whole = pieces.concat();
            prop_assert_eq!(capture.recent(max), tail(&whole, max));
        }
    }
}
