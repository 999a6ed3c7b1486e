//! How far a message was shown while the model spoke it, so that its delivery shows the rest and nothing twice. Shows nothing itself.

use domain::event::TextChunk;
use domain::growing_text::TextSoFar;

/// The message that is being shown.
#[derive(Debug, Default)]
pub(super) struct Preview {
    message: TextSoFar,
    /// How much of it was shown, in bytes.
    shown: usize,
}

impl Preview {
    /// Takes a piece of the message. Whether it may be shown now: after a piece that was left out the rest waits for the delivery.
    pub(super) fn take(&mut self, chunk: &TextChunk) -> bool {
        self.message = chunk.text.clone();
        self.shown == chunk.text.len() - chunk.delta.len()
    }

    /// All that was taken is on its way to the terminal.
    pub(super) fn has_shown_all(&mut self) {
        self.shown = self.message.len();
    }

    /// How much was shown, in bytes.
    #[cfg(test)]
    pub(super) fn shown(&self) -> usize {
        self.shown
    }

    /// The message is over. Whether a part of it was not shown, which will not come any more.
    pub(super) fn forget(&mut self) -> bool {
        let Self { message, shown } = std::mem::take(self);
        shown < message.len()
    }

    /// What of a reply was not shown while the model spoke it; none: it is not the text that was shown, or nothing was.
    pub(super) fn unshown<'r>(&mut self, reply: &'r str) -> Option<&'r str> {
        let Self { message, shown } = std::mem::take(self);
        let reply = reply.trim();
        if shown == 0 || reply.is_empty() {
            return None;
        }
        message.with(|text| {
            // White space around a reply may go on the way to its delivery.
            let begin = text.len() - text.trim_start().len();
            let seen = shown.saturating_sub(begin).min(reply.len());
            (text.trim() == reply).then(|| &reply[seen..])
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::growing_text::GrowingText;

    use super::*;

    #[test]
    fn the_rest_of_a_reply_begins_where_its_preview_ended() {
        let mut text = GrowingText::default();
        text.push_str("\n one  two\n");
        for (shown, reply, rest) in [
            (0, "one  two", None),
            (3, "one  two", Some("ne  two")),
            (6, "one  two\n", Some(" two")),
            (10, "one  two", Some("")),
            (11, " one  two ", Some("")),
            (6, "another", None),
            (6, " ", None),
        ] {
            let mut preview = Preview { message: text.so_far(), shown };
            assert_eq!(preview.unshown(reply), rest, "{shown} {reply:?}");
        }
    }

    #[test]
    fn after_a_piece_that_was_left_out_nothing_more_is_shown() {
        let (mut text, mut preview) = (GrowingText::default(), Preview::default());
        let mut may_show = |preview: &mut Preview, delta: &str| {
            text.push_str(delta);
            preview.take(&TextChunk { text: text.so_far(), delta: delta.to_owned() })
        };
        assert!(may_show(&mut preview, "one "));
        preview.has_shown_all();
        assert!(may_show(&mut preview, "two "), "this one finds no room");
        assert!(!may_show(&mut preview, "three"));
        assert_eq!(preview.unshown("one two three"), Some("two three"));
        assert!(!preview.forget(), "the reply had it all");
    }
}
