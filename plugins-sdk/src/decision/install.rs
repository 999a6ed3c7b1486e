//! Answer of `before_install`.

use super::decision;
use crate::bindings::before_install::{self, Finding, Severity};

decision! {
    /// What was noticed about something that is to be installed, and whether it may be.
    ///
    /// ```
    /// use creel_plugin::{Finding, FindingSeverity, InstallDecision};
    ///
    /// let finding = Finding::new("unpinned", FindingSeverity::Critical, "the download has no sha256");
    /// let refused = InstallDecision::block("unpinned downloads are not allowed").finding(finding);
    /// # let _ = refused;
    /// ```
    InstallDecision, before_install, before_install::Answer {
        findings: Vec::new(),
        block: false,
        block_reason: None,
    }
}

impl InstallDecision {
    /// Refuse it; lower priorities are not asked any more.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::pass().and_block(reason)
    }

    /// The same findings, and refuse it.
    pub fn and_block(self, reason: impl Into<String>) -> Self {
        self.with(|answer| {
            answer.block = true;
            answer.block_reason = Some(reason.into());
        })
    }

    /// One more finding. Findings alone do not stop the installation.
    pub fn finding(self, finding: Finding) -> Self {
        self.with(|answer| answer.findings.push(finding))
    }
}

impl Finding {
    /// A finding about the whole material, not one file.
    pub fn new(rule_id: impl Into<String>, severity: Severity, message: impl Into<String>) -> Self {
        Self { rule_id: rule_id.into(), severity, file: String::new(), line: 0, message: message.into() }
    }

    /// The same finding in a file, relative to the source path, at a line from 1 (0: the whole file).
    #[must_use]
    pub fn at(mut self, file: impl Into<String>, line: u32) -> Self {
        self.file = file.into();
        self.line = line;
        self
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

    use super::{Finding, InstallDecision, Severity};

    #[test]
    fn findings_add_up_and_do_not_block() {
        let decision = InstallDecision::pass()
            .finding(Finding::new("a", Severity::Info, "one"))
            .finding(Finding::new("b", Severity::Warn, "two").at("SKILL.md", 3));
        let answer = decision.answer().unwrap();
        assert_eq!(answer.findings.len(), 2);
        assert_eq!((answer.findings[1].file.as_str(), answer.findings[1].line), ("SKILL.md", 3));
        assert!(!answer.block);
    }

    #[test]
    fn a_block_keeps_the_findings() {
        let decision = InstallDecision::pass().finding(Finding::new("a", Severity::Critical, "one")).and_block("no");
        let answer = decision.answer().unwrap();
        assert!(answer.block);
        assert_eq!(answer.block_reason.as_deref(), Some("no"));
        assert_eq!(answer.findings.len(), 1);
    }
}
