//! Asks the person at the terminal. The question goes to stderr, the answer comes from stdin; an answer that is none of those offered is no
//! decision, and no decision is a refusal.

use std::io::{self, Write};
use std::sync::Arc;

use async_trait::async_trait;
use domain::approval::{ApprovalDecision, ApprovalScope, Approver, PendingApproval, Review, Severity};
use tokio::sync::Mutex;

use super::{Output, TerminalView, answer};

/// Most lines of a description that are shown, so that the question stays in sight.
const MAX_LINES: usize = 20;

/// A person at a terminal.
pub struct TerminalApprover {
    output: Output,
    view: Arc<TerminalView>,
    /// One question at a time, also when a batch asks several.
    turn: Mutex<()>,
}

impl TerminalApprover {
    /// Asks on the terminal that the view writes to.
    pub fn new(output: Output, view: Arc<TerminalView>) -> Self {
        Self { output, view, turn: Mutex::default() }
    }

    fn question(&self, pending: &PendingApproval) -> String {
        let request = &pending.request;
        let (word, style) = match request.severity {
            Severity::Info => ("info", self.output.note_style().cyan()),
            Severity::Warning => ("warning", self.output.note_style().yellow().bold()),
            Severity::Critical => ("critical", self.output.note_style().red().bold()),
        };
        let mut text = format!(
            "\n{} {}\n{}  plugin {} · tool {} · call {}\n",
            style.apply_to(format!("[{word}]")),
            safe(&request.title),
            paragraph(&request.description),
            pending.plugin_id,
            safe(&pending.tool_name),
            safe(pending.call_id.as_str()),
        );
        if let Some(scope) = &request.scope {
            text.push_str(&format!("  {}\n", safe(&describe(scope))));
        }
        let choices: Vec<&str> = request.offered.iter().map(|decision| choice(*decision)).collect();
        text.push_str(&format!("  {} (within {} s): ", choices.join(", "), request.wait.as_secs()));
        text
    }
}

#[async_trait]
impl Approver for TerminalApprover {
    async fn review(&self, pending: &PendingApproval) -> Review {
        let _turn = self.turn.lock().await;
        self.view.pause().await;
        let Ok(line) = answer::to(|| show(&self.question(pending))).await else { return Review::NoRoute };
        match parse(&line) {
            Some(decision) => Review::Decided { id: pending.id.clone(), decision },
            None => Review::Unknown,
        }
    }
}

fn show(question: &str) -> io::Result<()> {
    let mut err = io::stderr().lock();
    err.write_all(question.as_bytes())?;
    err.flush()
}

fn choice(decision: ApprovalDecision) -> &'static str {
    match decision {
        ApprovalDecision::AllowOnce => "[o]nce",
        ApprovalDecision::AllowAlways => "[a]lways",
        ApprovalDecision::Deny => "[d]eny",
    }
}

fn parse(line: &str) -> Option<ApprovalDecision> {
    match line.trim().to_ascii_lowercase().as_str() {
        "o" | "once" | "y" | "yes" => Some(ApprovalDecision::AllowOnce),
        "a" | "always" => Some(ApprovalDecision::AllowAlways),
        "d" | "deny" | "n" | "no" => Some(ApprovalDecision::Deny),
        _ => None,
    }
}

fn describe(scope: &ApprovalScope) -> String {
    match scope {
        ApprovalScope::MessageSend { target, recipient_count, recipients, external } => {
            let circle = if *external { "outside" } else { "inside" };
            format!("message to {target}, {recipient_count} recipients {circle} your circle: {}", recipients.join(", "))
        }
        ApprovalScope::Payment { amount, currency, target } => format!("payment of {amount} {currency} to {target}"),
        ApprovalScope::ExternalPost { target, public } => {
            format!("post to {target}, {}", if *public { "public" } else { "restricted" })
        }
    }
}

/// A plugin's words, line by line: a command that is to be run must be readable as it is. Too many lines are counted.
fn paragraph(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(safe).filter(|line| !line.is_empty()).collect();
    let mut shown: String = lines.iter().take(MAX_LINES).map(|line| format!("  {line}\n")).collect();
    if lines.len() > MAX_LINES {
        shown.push_str(&format!("  … {} more lines\n", lines.len() - MAX_LINES));
    }
    shown
}

/// A plugin's words on one line, without anything that could move the cursor.
fn safe(text: &str) -> String {
    hooks::fault::one_line(text, 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_words_decide() {
        assert_eq!(parse(" Once\n"), Some(ApprovalDecision::AllowOnce));
        assert_eq!(parse("d"), Some(ApprovalDecision::Deny));
        assert_eq!(parse(""), None);
        assert_eq!(parse("sure"), None);
    }

    #[test]
    fn a_description_keeps_its_lines_up_to_a_limit() {
        assert_eq!(paragraph("why\n\ngit push --force\u{1b}[1A\n"), "  why\n  git push --force\\u{1b}[1A\n");
        let long = paragraph(&"x\n".repeat(MAX_LINES + 2));
        assert_eq!(long.lines().count(), MAX_LINES + 1);
        assert!(long.ends_with("  … 2 more lines\n"));
    }
}
