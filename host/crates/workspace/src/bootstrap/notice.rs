//! The notice in the prompt that bootstrap files were cut (8.3.5). Pure; whoever shows it remembers what was shown.

use super::render::FileReport;

/// When the notice is given (`bootstrapPromptTruncationWarning`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NoticePolicy {
    /// Never.
    Off,
    /// Once for each distinct truncation.
    Once,
    /// In every prompt.
    #[default]
    Always,
}

/// A notice that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TruncationNotice {
    /// One line for the prompt.
    pub text: String,
    /// Tells one truncation from another: which files, and how much of them.
    pub key: String,
}

/// The notice that is due, if any. `was_shown` says whether a notice with this key was given before.
pub fn truncation_notice(
    report: &[FileReport],
    policy: NoticePolicy,
    was_shown: impl FnOnce(&str) -> bool,
) -> Option<TruncationNotice> {
    let cut: Vec<&FileReport> = report.iter().filter(|file| file.truncated).collect();
    if cut.is_empty() || policy == NoticePolicy::Off {
        return None;
    }
    let key = list(&cut, |file| format!("{}:{}/{}", file.name, file.injected_chars, file.raw_bytes));
    if policy == NoticePolicy::Once && was_shown(&key) {
        return None;
    }
    let names = list(&cut, |file| file.name.clone());
    Some(TruncationNotice { text: format!("[Some workspace files above were cut: {names}. Read them for the rest.]"), key })
}

fn list(files: &[&FileReport], show: impl Fn(&FileReport) -> String) -> String {
    files.iter().map(|file| show(file)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
    use std::collections::HashSet;

    use super::*;
    use crate::bootstrap::{BootstrapFile, BootstrapLimits, render};

    fn report(length: usize) -> Vec<FileReport> {
        let files = [BootstrapFile::text("AGENTS.md", "x".repeat(length)), BootstrapFile::text("USER.md", "short")];
        render(&files, BootstrapLimits { file_chars: 10, total_chars: 100 }).report
    }

    #[test]
    fn nothing_cut_or_switched_off_means_no_notice() {
        assert_eq!(truncation_notice(&report(10), NoticePolicy::Always, |_| false), None);
        assert_eq!(truncation_notice(&report(11), NoticePolicy::Off, |_| false), None);
    }

    #[test]
    fn always_means_every_time_and_once_means_each_truncation() {
        let mut shown = HashSet::new();
        let mut given = |length, policy| {
            let notice = truncation_notice(&report(length), policy, |key| shown.contains(key));
            notice.map(|notice| shown.insert(notice.key)).is_some()
        };
        assert!(given(11, NoticePolicy::Always) && given(11, NoticePolicy::Always));
        assert!(!given(11, NoticePolicy::Once));
        assert!(given(12, NoticePolicy::Once));
        assert!(!given(12, NoticePolicy::Once));
    }

    #[test]
    fn the_notice_names_the_files() {
        let notice = truncation_notice(&report(11), NoticePolicy::Always, |_| false).unwrap();
        assert_eq!(notice.text, "[Some workspace files above were cut: AGENTS.md. Read them for the rest.]");
    }
}
