//! Cutting text by characters, never inside one. Pure; the caller names the limit.

/// Stands where text was left out.
pub(crate) const CUT_MARK: &str = "… [truncated]";

/// The first `max` characters, and whether anything was left out.
pub(crate) fn head(text: &str, max: usize) -> (&str, bool) {
    match text.char_indices().nth(max) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

/// The last `max` characters.
pub(crate) fn tail(text: &str, max: usize) -> &str {
    match max.checked_sub(1).and_then(|last| text.char_indices().nth_back(last)) {
        Some((start, _)) => &text[start..],
        None if max == 0 => "",
        None => text,
    }
}

/// The first `max` characters, with a mark when something was left out. The mark counts on top.
pub(crate) fn shorten(text: &str, max: usize) -> String {
    match head(text, max) {
        (all, false) => all.to_owned(),
        (kept, true) => format!("{kept}{CUT_MARK}"),
    }
}

/// Keeps beginning and end and at most `max` characters in all, the mark between them included: the beginning of a long result says
/// what it is, its end how it went. Where there is no room for a mark, only the beginning stays.
pub(crate) fn cut_middle(text: &str, max: usize) -> String {
    let total = text.chars().count();
    if total <= max {
        return text.to_owned();
    }
    let mark = format!("\n… [{} of {total} characters left out] …\n", total - max);
    let Some(room) = max.checked_sub(mark.chars().count()).filter(|room| *room > 0) else {
        return head(text, max).0.to_owned();
    };
    let last = room / 3;
    format!("{}{mark}{}", head(text, room - last).0, tail(text, last))
}

/// Takes away the beginning of a UTF-8 character at the end of a piece that was cut by bytes.
pub(crate) fn without_partial_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        // No length: the input ended where a character could still go on.
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => trim_partial_end_of_invalid(bytes),
    }
}

fn trim_partial_end_of_invalid(bytes: &[u8]) -> &[u8] {
    for back in 1..=bytes.len().min(3) {
        let at = bytes.len() - back;
        let needed = match bytes[at] {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return bytes,
        };
        return if needed > back { &bytes[..at] } else { bytes };
    }
    bytes
}

/// Takes away the rest of a UTF-8 character at the start of a piece that was cut by bytes.
pub(crate) fn without_partial_start(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| (0x80..=0xBF).contains(*byte)).count();
    &bytes[rest..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn head_and_tail_count_characters_not_bytes() {
        assert_eq!(head("äöü", 2), ("äö", true));
        assert_eq!(head("äöü", 3), ("äöü", false));
        assert_eq!(tail("äöü", 2), "öü");
        assert_eq!(tail("äöü", 9), "äöü");
        assert_eq!(tail("äöü", 0), "");
    }

    #[test]
    fn a_cut_piece_loses_only_the_broken_character() {
        let text = "a€🙂".as_bytes();
        assert_eq!(without_partial_end(&text[..3]), b"a");
        assert_eq!(without_partial_end(&text[..6]), "a€".as_bytes());
        assert_eq!(without_partial_end(text), text);
        assert_eq!(without_partial_end(b"\xFFa\xE2\x82"), b"\xFFa");
        assert_eq!(without_partial_start(&text[2..]), "🙂".as_bytes());
        assert_eq!(without_partial_start(b"abc"), b"abc");
    }

    proptest! {
        #[test]
        fn a_cut_text_never_exceeds_the_limit(text in "\\PC{0,300}", max in 0usize..200) {
            let cut = cut_middle(&text, max);
            prop_assert!(cut.chars().count() <= max);
            prop_assert!(text.chars().count() > max || cut == text);
        }
    }
}
