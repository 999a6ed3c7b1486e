//! Text of models and plugins on its way to a terminal. Nothing but the host itself may move the cursor or change the terminal.

use std::borrow::Cow;

/// The text without control characters: line ends and tabs stay, carriage returns go, the rest shows as a replacement character.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter(|c| *c != '\r');
    Cow::Owned(kept.map(|c| if is_harmful(c) { char::REPLACEMENT_CHARACTER } else { c }).collect())
}

/// The text without control characters, except for the styles that the host itself puts around words (`ESC [ digits m`).
pub(super) fn harmless_but_styled(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut pieces = text.split('\u{1b}');
    shown.push_str(&harmless(pieces.next().unwrap_or_default()));
    for piece in pieces {
        let end = piece.find(|c: char| !(c.is_ascii_digit() || matches!(c, '[' | ';')));
        let is_style = piece.starts_with('[') && end.is_some_and(|end| piece[end..].starts_with('m'));
        shown.push(if is_style { '\u{1b}' } else { char::REPLACEMENT_CHARACTER });
        shown.push_str(&harmless(piece));
    }
    shown
}

/// What could move the cursor, change the terminal, or make a line read like another one.
fn is_harmful(c: char) -> bool {
    let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    (c.is_control() && !matches!(c, '\n' | '\t')) || reorders
}

/// A size in the unit that fits: whole kibibytes or mebibytes, rounded up, so that nothing looks smaller than it is.
pub fn bytes(count: impl TryInto<u64>) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    match count {
        0..1024 => format!("{count} bytes"),
        1024..1_048_576 => format!("{} KiB", count.div_ceil(1 << 10)),
        _ => format!("{} MiB", count.div_ceil(1 << 20)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_fits() {
        let sizes = [0_u64, 1023, 1024, 225_194, 1 << 20, 8 << 20].map(bytes);
        assert_eq!(sizes, ["0 bytes", "1023 bytes", "1 KiB", "220 KiB", "1 MiB", "8 MiB"]);
    }

    #[test]
    fn nothing_that_moves_the_cursor_is_left() {
        assert_eq!(harmless("a\tb\nä 🙂"), "a\tb\nä 🙂");
        assert_eq!(harmless("a\u{202e}b"), "a\u{fffd}b");
        assert_eq!(
            harmless_but_styled("\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}\u{1b}[2J"),
            "\u{1b}[1;31mred\u{1b}[0m \u{fffd}]0;title\u{fffd}\u{fffd}[2J"
        );
        assert_eq!(harmless("\u{1b}[2Jx\r\ny\u{7}\u{9b}"), "\u{fffd}[2Jx\ny\u{fffd}\u{fffd}");
    }
}
