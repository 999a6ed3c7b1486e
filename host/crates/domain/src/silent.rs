//! The silent token: the text by which a model says that nothing should be sent. One test serves every sink (agent-loop 16.3).

/// What a model writes to stay silent.
pub const SILENT_TOKEN: &str = "NO_REPLY";

/// Whether the whole text is the token: white space trimmed, case ignored (16.3.2).
pub fn is_silent(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case(SILENT_TOKEN)
}

/// Whether a streamed text may still become the token, so that it must be held back (16.3.5). Blank text is held too: nothing
/// is lost by waiting for its first visible character.
pub fn may_become_silent(text: &str) -> bool {
    let text = text.trim();
    text.len() <= SILENT_TOKEN.len() && SILENT_TOKEN.as_bytes()[..text.len()].eq_ignore_ascii_case(text.as_bytes())
}

/// Removes a token at the very end of a longer text, where it stands by itself (16.3.4). Text that mentions it elsewhere is kept.
pub fn strip_trailing(text: &str) -> &str {
    let trimmed = text.trim_end();
    let Some(start) = trimmed.len().checked_sub(SILENT_TOKEN.len()) else { return text };
    if !trimmed.is_char_boundary(start) || !trimmed[start..].eq_ignore_ascii_case(SILENT_TOKEN) {
        return text;
    }
    let head = &trimmed[..start];
    if head.ends_with(char::is_whitespace) { head.trim_end() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_text_counts_in_any_case() {
        assert!(is_silent(" no_reply\n"));
        assert!(!is_silent("NO_REPLY."));
        assert!(!is_silent("say NO_REPLY"));
    }

    #[test]
    fn prefixes_are_held_back() {
        for held in ["", " ", "n", "NO", "no_rep", "NO_REPLY", "NO_REPLY \n"] {
            assert!(may_become_silent(held), "{held:?}");
        }
        for free in ["No.", "NO_REPLYx", "Nö", "hello", "NO_REPLY yes"] {
            assert!(!may_become_silent(free), "{free:?}");
        }
    }

    #[test]
    fn a_trailing_token_is_stripped_from_longer_text() {
        assert_eq!(strip_trailing("Done. NO_REPLY\n"), "Done.");
        assert_eq!(strip_trailing("the token NO_REPLY means silence"), "the token NO_REPLY means silence");
        assert_eq!(strip_trailing("xNO_REPLY"), "xNO_REPLY");
        assert_eq!(strip_trailing("é"), "é");
    }
}
