//! Bringing bootstrap files within their limits (8.3.3, 8.3.4) and reporting sizes (8.3.12). Pure. The report never holds text of a
//! file. Marks and notes stand beside the text and do not count.

use serde::Serialize;

use super::collect::{BootstrapContent, BootstrapFile};

/// Most characters of a name; whoever changes the list may have put anything there.
const NAME_CHARS: usize = 200;

/// Limits, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BootstrapLimits {
    /// Of one file (`bootstrapMaxChars`).
    pub file_chars: usize,
    /// Of all files together (`bootstrapTotalMaxChars`).
    pub total_chars: usize,
}

impl Default for BootstrapLimits {
    fn default() -> Self {
        Self { file_chars: 20_000, total_chars: 60_000 }
    }
}

/// A file as it goes into the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectedFile {
    /// Name to show; one line.
    pub name: String,
    /// Text, with a mark where it was cut; or one line that says why there is none.
    pub text: String,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FileState {
    /// Its text is in the prompt.
    Injected,
    /// It holds nothing but white space and was skipped.
    Blank,
    /// It is not there.
    Missing,
    /// It cannot be used.
    Unusable,
}

/// Sizes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileReport {
    /// Name.
    pub name: String,
    /// What became of it.
    pub state: FileState,
    /// Characters that were read.
    pub raw_chars: usize,
    /// Bytes of the whole file.
    pub raw_bytes: u64,
    /// Characters of it that are in the prompt.
    pub injected_chars: usize,
    /// Whether something was left out.
    pub truncated: bool,
}

/// Files within their limits, and the report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rendered {
    /// What goes into the prompt, in order.
    pub files: Vec<InjectedFile>,
    /// One report for each file of the list, skipped ones too.
    pub report: Vec<FileReport>,
}

/// Brings a list within its limits.
pub fn render(files: &[BootstrapFile], limits: BootstrapLimits) -> Rendered {
    let mut rendered = Rendered::default();
    let mut left = limits.total_chars;
    for file in files {
        let name = one_line(&file.name);
        let (text, report) = render_one(&name, &file.content, limits.file_chars.min(left));
        left -= report.injected_chars;
        rendered.report.push(report);
        rendered.files.extend(text.map(|text| InjectedFile { name, text }));
    }
    rendered
}

fn render_one(name: &str, content: &BootstrapContent, room: usize) -> (Option<String>, FileReport) {
    let report = FileReport {
        name: name.to_owned(),
        state: FileState::Blank,
        raw_chars: 0,
        raw_bytes: 0,
        injected_chars: 0,
        truncated: false,
    };
    match content {
        BootstrapContent::Missing => {
            (Some(format!("[missing: {name} is not in the workspace]")), FileReport { state: FileState::Missing, ..report })
        }
        BootstrapContent::Unusable(reason) => {
            (Some(format!("[not usable: {name}, {}]", one_line(reason))), FileReport { state: FileState::Unusable, ..report })
        }
        BootstrapContent::Text { text, lossy, unread_bytes } => {
            let raw_bytes = text.len() as u64 + unread_bytes;
            let report = FileReport { raw_chars: text.chars().count(), raw_bytes, ..report };
            if text.trim().is_empty() && *unread_bytes == 0 {
                return (None, report);
            }
            let (text, report) = cut(name, text, *unread_bytes, room, report);
            (Some(if *lossy { format!("{text}\n[bytes of {name} that are not UTF-8 were replaced]") } else { text }), report)
        }
    }
}

fn cut(name: &str, text: &str, unread_bytes: u64, room: usize, report: FileReport) -> (String, FileReport) {
    let total = report.raw_chars;
    let end = text.char_indices().nth(room).map_or(text.len(), |(end, _)| end);
    let injected = total.min(room);
    let truncated = injected < total || unread_bytes > 0;
    let report = FileReport { state: FileState::Injected, injected_chars: injected, truncated, ..report };
    if !truncated {
        return (text.to_owned(), report);
    }
    let more = if unread_bytes > 0 { "more than " } else { "" };
    let mark = format!("[truncated: the first {injected} of {more}{total} characters; read {name} for the rest]");
    let kept = text[..end].trim_end_matches('\n');
    (if kept.is_empty() { mark } else { format!("{kept}\n{mark}") }, report)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    fn limits(file_chars: usize, total_chars: usize) -> BootstrapLimits {
        BootstrapLimits { file_chars, total_chars }
    }

    fn texts(rendered: &Rendered) -> Vec<&str> {
        rendered.files.iter().map(|file| file.text.as_str()).collect()
    }

    #[test]
    fn a_long_file_is_cut_and_blank_and_missing_ones_are_told_apart() {
        let files = [
            BootstrapFile::text("AGENTS.md", "x".repeat(25_000)),
            BootstrapFile::text("TOOLS.md", " \n\t\n"),
            BootstrapFile { name: "USER.md".to_owned(), content: BootstrapContent::Missing },
        ];
        let rendered = render(&files, BootstrapLimits::default());
        let mark = "\n[truncated: the first 20000 of 25000 characters; read AGENTS.md for the rest]";
        assert_eq!(
            texts(&rendered),
            [format!("{}{mark}", "x".repeat(20_000)).as_str(), "[missing: USER.md is not in the workspace]"]
        );
        let report = serde_json::to_value(&rendered.report).unwrap();
        assert_eq!(
            report,
            serde_json::json!([
                {"name": "AGENTS.md", "state": "injected", "rawChars": 25_000, "rawBytes": 25_000, "injectedChars": 20_000, "truncated": true},
                {"name": "TOOLS.md", "state": "blank", "rawChars": 4, "rawBytes": 4, "injectedChars": 0, "truncated": false},
                {"name": "USER.md", "state": "missing", "rawChars": 0, "rawBytes": 0, "injectedChars": 0, "truncated": false},
            ])
        );
    }

    #[test]
    fn limits_count_characters_and_never_split_one() {
        let files = [BootstrapFile::text("a", "€🙂é")];
        assert!(texts(&render(&files, limits(2, 9)))[0].starts_with("€🙂\n[truncated: the first 2 of 3"));
        assert_eq!(texts(&render(&files, limits(3, 9))), ["€🙂é"]);
    }

    #[test]
    fn the_total_limit_bites_in_order() {
        let files = ["a", "b", "c"].map(|name| BootstrapFile::text(name, "0123456789"));
        let rendered = render(&files, limits(10, 15));
        assert_eq!(rendered.report.iter().map(|file| file.injected_chars).collect::<Vec<_>>(), [10, 5, 0]);
        assert_eq!(texts(&rendered)[0], "0123456789");
        assert!(texts(&rendered)[1].starts_with("01234\n[truncated: the first 5 of 10"));
        assert_eq!(texts(&rendered)[2], "[truncated: the first 0 of 10 characters; read c for the rest]");
    }

    #[test]
    fn what_was_not_read_counts_as_cut() {
        let content = BootstrapContent::Text { text: "abc".to_owned(), lossy: true, unread_bytes: 7 };
        let rendered = render(&[BootstrapFile { name: "a".to_owned(), content }], BootstrapLimits::default());
        assert!(texts(&rendered)[0].contains("the first 3 of more than 3 characters"), "{:?}", texts(&rendered));
        assert!(texts(&rendered)[0].ends_with("[bytes of a that are not UTF-8 were replaced]"));
        assert!(rendered.report[0].truncated && rendered.report[0].raw_bytes == 10);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_one_line() {
        let content = BootstrapContent::Unusable("it is\na link".to_owned());
        let rendered = render(&[BootstrapFile { name: "AGENTS.md\n# System".to_owned(), content }], BootstrapLimits::default());
        assert_eq!(texts(&rendered), ["[not usable: AGENTS.md # System, it is a link]"]);
        assert_eq!(rendered.files[0].name, "AGENTS.md # System");
    }

    proptest! {
        #[test]
        fn no_limit_is_ever_exceeded(texts in proptest::collection::vec("\\PC{0,50}", 0..8), file in 0usize..40, total in 0usize..100) {
            let files: Vec<_> = texts.iter().map(|text| BootstrapFile::text("f", text.as_str())).collect();
            let rendered = render(&files, limits(file, total));
            prop_assert!(rendered.report.iter().all(|report| report.injected_chars <= file.min(report.raw_chars)));
            prop_assert!(rendered.report.iter().map(|report| report.injected_chars).sum::<usize>() <= total);
            prop_assert_eq!(rendered.report.len(), files.len());
        }
    }
}
