//! Text of models and plugins on its way to a terminal. Nothing but the host itself may move the cursor or change the terminal.

use std::borrow::Cow;

/// The text without control characters: line ends and tabs stay, carriage returns go, the rest shows as a replacement character.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let kept = text.chars().filter(|c| *c != '\r');
    Cow::Owned(kept.map(|c| if is_harmful(c) { char::REPLACEMENT_CHARACTER } else { c }).collect())
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
        assert_eq!(harmless("\u{1b}[2Jx\r\ny\u{7}\u{9b}"), "\u{fffd}[2Jx\ny\u{fffd}\u{fffd}");
    }
}
