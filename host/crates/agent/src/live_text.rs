//! Streamed text of one message: cumulative, with what may still become the silent token held back (agent-loop 16.3.5). Pure.

use domain::event::TextChunk;
use domain::growing_text::GrowingText;
use domain::silent;

/// Streamed text of one message.
#[derive(Debug, Default)]
pub(crate) struct LiveText {
    text: GrowingText,
    /// What was not told yet.
    held: String,
    /// Whether the text can no longer become the silent token.
    is_free: bool,
    block: Option<usize>,
}

impl LiveText {
    /// Takes a piece of a content block and gives what may be shown now.
    pub(crate) fn push(&mut self, block: usize, delta: &str) -> Option<TextChunk> {
        self.take(block, delta);
        // Until the first piece is told, what is held is all there is.
        self.is_free = self.is_free || !silent::may_become_silent(&self.held);
        if self.is_free { self.unsent() } else { None }
    }

    /// The same for text that is never a reply, so that nothing is held back.
    pub(crate) fn push_at_once(&mut self, block: usize, delta: &str) -> Option<TextChunk> {
        self.take(block, delta);
        self.unsent()
    }

    /// What was held back, unless it is the token itself; for the end of a message that is complete.
    pub(crate) fn rest(&mut self) -> Option<TextChunk> {
        if !self.is_free && silent::is_silent(&self.held) { None } else { self.unsent() }
    }

    /// All text so far.
    pub(crate) fn text(&self) -> String {
        self.text.so_far().to_string()
    }

    /// Blocks are joined by a line feed, as in the final text.
    fn take(&mut self, block: usize, delta: &str) {
        if self.block.is_some_and(|before| before != block) && !self.text.is_empty() {
            self.add("\n");
        }
        self.block = Some(block);
        self.add(delta);
    }

    fn add(&mut self, piece: &str) {
        self.text.push_str(piece);
        self.held.push_str(piece);
    }

    fn unsent(&mut self) -> Option<TextChunk> {
        let delta = std::mem::take(&mut self.held);
        (!delta.is_empty()).then(|| TextChunk { text: self.text.so_far(), delta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(deltas: &[(usize, &str)]) -> Vec<String> {
        let mut live = LiveText::default();
        let mut sent: Vec<String> =
            deltas.iter().filter_map(|(block, delta)| live.push(*block, delta)).map(|chunk| chunk.delta).collect();
        sent.extend(live.rest().map(|chunk| chunk.delta));
        sent
    }

    #[test]
    fn a_prefix_of_the_silent_token_is_held_until_it_differs() {
        assert_eq!(stream(&[(0, "N"), (0, "O"), (0, " way"), (0, " out")]), ["NO way", " out"]);
        assert_eq!(stream(&[(0, "NO_"), (0, "REPLY")]), Vec::<String>::new());
        assert_eq!(stream(&[(0, "No")]), ["No"]);
    }

    #[test]
    fn every_piece_comes_with_the_text_up_to_it() {
        let mut live = LiveText::default();
        let told: Vec<String> =
            ["a", "b", "c"].iter().filter_map(|piece| live.push(0, piece)).map(|chunk| chunk.text.to_string()).collect();
        assert_eq!(told, ["a", "ab", "abc"]);
        assert_eq!(live.text(), "abc");
    }

    #[test]
    fn blocks_are_told_apart() {
        assert_eq!(stream(&[(0, "one"), (2, "two"), (2, "!")]), ["one", "\ntwo", "!"]);
        assert_eq!(stream(&[(1, "one")]), ["one"]);
    }
}
