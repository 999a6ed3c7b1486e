//! The text join that every `…Context` field and combined `reason` uses (plugin-hooks 1.6).

/// Appends a segment: non-empty segments are kept in order with exactly one blank line between them; nothing is trimmed.
pub fn join_into(so_far: Option<String>, next: Option<&str>) -> Option<String> {
    match (so_far, next) {
        (so_far, None | Some("")) => so_far.filter(|text| !text.is_empty()),
        (None, Some(next)) => Some(next.to_owned()),
        (Some(so_far), Some(next)) if so_far.is_empty() => Some(next.to_owned()),
        (Some(mut so_far), Some(next)) => {
            so_far.push_str("\n\n");
            so_far.push_str(next);
            Some(so_far)
        }
    }
}

/// Joins segments.
pub fn join<'a>(segments: impl IntoIterator<Item = &'a str>) -> Option<String> {
    segments.into_iter().fold(None, |so_far, next| join_into(so_far, Some(next)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_segments_vanish_and_nothing_is_trimmed() {
        assert_eq!(join(["", "a ", "", "\nb"]).as_deref(), Some("a \n\n\nb"));
        assert_eq!(join([]), None);
        assert_eq!(join(["", ""]), None);
    }
}
