//! Replacing text by text: where it occurs, how line ends are kept, and a short picture of the change. Pure.

use crate::text::shorten;

/// Most places that an error lists; more are only said to exist.
pub const MAX_LISTED_MATCHES: usize = 20;
/// Most characters of the picture of a change.
pub const MAX_DIFF_CHARS: usize = 4000;

/// What to replace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replacement<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) all: bool,
}

/// A changed text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) text: String,
    /// How many places were changed.
    pub(crate) count: usize,
    /// Line of the first one, counted from 1.
    pub(crate) first_line: usize,
    /// The first change, line by line.
    pub(crate) diff: String,
}

/// Why nothing was replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotReplaced {
    /// Nothing to look for.
    #[error("`oldText` is empty; give the text to replace, or use `write` for a whole file")]
    Empty,
    /// Old and new are the same.
    #[error("`oldText` and `newText` are the same, so nothing would change")]
    Same,
    /// No match.
    #[error("`oldText` was found 0 times; it must match the file exactly, white space and line breaks included{}", hint(*.similar_line))]
    NotFound {
        /// Line with the same first words.
        similar_line: Option<usize>,
    },
    /// More than one match.
    #[error("`oldText` was found {count} times, on lines {}; add lines around it until it is unique, or set `replaceAll`", listed(.lines))]
    Ambiguous {
        /// How many, in words when there are too many to count.
        count: String,
        /// Where, the first ones.
        lines: Vec<usize>,
    },
}

fn hint(similar_line: Option<usize>) -> String {
    similar_line.map(|line| format!(" (line {line} is similar)")).unwrap_or_default()
}

fn listed(lines: &[usize]) -> String {
    let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
    lines.join(", ")
}

/// Replaces the one occurrence, or all of them. New text gets the line ends that the file has.
pub(crate) fn replace(text: &str, wanted: Replacement<'_>) -> Result<Replaced, NotReplaced> {
    if wanted.old.is_empty() {
        return Err(NotReplaced::Empty);
    }
    let ending = LineEnding::of(text);
    let new = ending.apply(wanted.new);
    // As given first: in a file of mixed line ends only that can be right.
    let old = [wanted.old.to_owned(), ending.apply(wanted.old)].into_iter().find(|old| text.contains(old.as_str()));
    let Some(old) = old else { return Err(NotReplaced::NotFound { similar_line: similar_line(text, wanted.old) }) };
    if old == new {
        return Err(NotReplaced::Same);
    }
    let places: Vec<usize> = overlapping(text, &old).take(MAX_LISTED_MATCHES + 1).collect();
    if places.len() > 1 && !wanted.all {
        return Err(ambiguous(text, &places));
    }
    let first = places.first().copied().unwrap_or_default();
    Ok(Replaced {
        text: if wanted.all { text.replace(&old, &new) } else { text.replacen(&old, &new, 1) },
        count: if wanted.all { text.matches(&old).count() } else { 1 },
        first_line: line_of(text, first),
        diff: diff(text, first, &old, &new),
    })
}

/// Starts of all occurrences, those that overlap too: a text that overlaps itself is as ambiguous as two apart.
fn overlapping<'a>(text: &'a str, old: &'a str) -> impl Iterator<Item = usize> + 'a {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = from + text.get(from..)?.find(old)?;
        from = at + step;
        Some(at)
    })
}

fn ambiguous(text: &str, places: &[usize]) -> NotReplaced {
    let count =
        if places.len() > MAX_LISTED_MATCHES { format!("more than {MAX_LISTED_MATCHES}") } else { places.len().to_string() };
    let lines = places.iter().take(MAX_LISTED_MATCHES).map(|at| line_of(text, *at)).collect();
    NotReplaced::Ambiguous { count, lines }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The first line of the text that holds the first words of what was looked for, white space around them aside.
fn similar_line(text: &str, old: &str) -> Option<usize> {
    let wanted = old.lines().map(str::trim).find(|line| !line.is_empty())?;
    text.lines().position(|line| line.contains(wanted)).map(|line| line + 1)
}

/// The changed lines before and after, whole.
fn diff(text: &str, at: usize, old: &str, new: &str) -> String {
    let start = text[..at].rfind('\n').map_or(0, |line_end| line_end + 1);
    let behind = at + old.len();
    let end = if old.ends_with('\n') { behind } else { text[behind..].find('\n').map_or(text.len(), |more| behind + more) };
    let (before, after) = (&text[start..at], &text[behind..end]);
    let mut out = format!("@@ line {} @@", line_of(text, at));
    for (sign, changed) in [('-', old), ('+', new)] {
        for line in format!("{before}{changed}{after}").lines() {
            out.push('\n');
            out.push(sign);
            out.push_str(line);
        }
    }
    shorten(&out, MAX_DIFF_CHARS)
}

/// How lines end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineEnding {
    Lf,
    CrLf,
}

impl LineEnding {
    /// What most lines of a text end with.
    fn of(text: &str) -> Self {
        let all = text.matches('\n').count();
        if text.matches("\r\n").count() * 2 > all { Self::CrLf } else { Self::Lf }
    }

    fn apply(self, text: &str) -> String {
        let plain = text.replace("\r\n", "\n");
        match self {
            Self::Lf => plain,
            Self::CrLf => plain.replace('\n', "\r\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn once<'a>(old: &'a str, new: &'a str) -> Replacement<'a> {
        Replacement { old, new, all: false }
    }

    #[test]
    fn one_match_is_replaced_and_shown_in_whole_lines() {
        let done = replace("a\nlet x = 1;\nb\n", once("x = 1", "x = 2")).unwrap();
        assert_eq!(done.text, "a\nlet x = 2;\nb\n");
        assert_eq!((done.count, done.first_line), (1, 2));
        assert_eq!(done.diff, "@@ line 2 @@\n-let x = 1;\n+let x = 2;");
    }

    #[test]
    fn several_matches_are_counted_with_their_lines() {
        let error = replace("x\ny\nx\nx\n", once("x", "z")).unwrap_err();
        assert_eq!(error, NotReplaced::Ambiguous { count: "3".to_owned(), lines: vec![1, 3, 4] });
        assert!(error.to_string().contains("found 3 times, on lines 1, 3, 4"));
    }

    #[test]
    fn a_text_that_overlaps_itself_is_ambiguous() {
        assert!(matches!(replace("aaa", once("aa", "b")), Err(NotReplaced::Ambiguous { .. })));
    }

    #[test]
    fn the_list_of_matches_is_bounded() {
        let text = "x\n".repeat(MAX_LISTED_MATCHES + 5);
        let Err(NotReplaced::Ambiguous { count, lines }) = replace(&text, once("x", "y")) else { unreachable!() };
        assert_eq!((count.as_str(), lines.len()), ("more than 20", MAX_LISTED_MATCHES));
    }

    #[test]
    fn no_match_says_zero_and_points_to_a_similar_line() {
        let error = replace("a\n\tlet x = 1;\n", once("  let x = 1;", "y")).unwrap_err();
        assert_eq!(error, NotReplaced::NotFound { similar_line: Some(2) });
        assert!(error.to_string().contains("found 0 times") && error.to_string().ends_with("(line 2 is similar)"));
        assert_eq!(replace("a", once("b", "c")), Err(NotReplaced::NotFound { similar_line: None }));
    }

    #[test]
    fn all_matches_are_replaced_on_request() {
        let done = replace("x x\nx", Replacement { old: "x", new: "yy", all: true }).unwrap();
        assert_eq!((done.text.as_str(), done.count), ("yy yy\nyy", 3));
    }

    #[test]
    fn line_ends_stay_as_the_file_has_them() {
        let rows = [
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
            ("a\nb\n", "a\r\nb", "x\r\ny", "x\ny\n"),
            ("a\r\nb\r\n", "a\r\nb", "x\r\ny", "x\r\ny\r\n"),
            ("a\nb\r\nc\n", "b\r\n", "", "a\nc\n"),
        ];
        for (text, old, new, expected) in rows {
            assert_eq!(replace(text, once(old, new)).unwrap().text, expected, "{text:?}");
        }
    }

    #[test]
    fn what_changes_nothing_is_refused() {
        assert_eq!(replace("a", once("", "b")), Err(NotReplaced::Empty));
        assert_eq!(replace("a", once("a", "a")), Err(NotReplaced::Same));
    }

    #[test]
    fn the_picture_of_a_change_is_bounded() {
        let done = replace("a", once("a", &"long\n".repeat(5000))).unwrap();
        assert!(done.diff.chars().count() <= MAX_DIFF_CHARS + 20);
    }
}
