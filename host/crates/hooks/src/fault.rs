//! What can go wrong in one handler. Causes stay apart, because their remedies differ; the hook's failure policy decides what a fault
//! means. The text is one bounded line: guest text is never trusted.

use std::fmt;

/// Longest fault text in bytes; longer ones are cut.
pub const MAX_FAULT_BYTES: usize = 1024;

/// Cause of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The guest trapped.
    Trap,
    /// The budget ran out.
    Timeout,
    /// A limit was hit: memory, tables, instances, sizes.
    Limit,
    /// The answer is not one that the hook allows.
    Malformed,
    /// The guest reported an error.
    Guest,
    /// The host could not make the call.
    Host,
    /// The run was asked to stop before the handler was done.
    Cancelled,
    /// The plugin failed too often here and is not called for a while.
    Circuit,
}

impl FaultKind {
    /// The cause in one word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Timeout => "timeout",
            Self::Limit => "limit",
            Self::Malformed => "malformed answer",
            Self::Guest => "plugin error",
            Self::Host => "host error",
            Self::Cancelled => "cancelled",
            Self::Circuit => "circuit open",
        }
    }
}

/// One fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    kind: FaultKind,
    text: String,
    is_others: bool,
}

impl Fault {
    /// Takes a cause and a text of any origin; the text becomes one bounded line without control characters.
    pub fn new(kind: FaultKind, text: impl AsRef<str>) -> Self {
        Self { kind, text: one_line(text.as_ref(), MAX_FAULT_BYTES), is_others: false }
    }

    /// The same fault, brought about by others: what they left was not enough.
    #[must_use]
    pub fn by_others(self) -> Self {
        Self { is_others: true, ..self }
    }

    /// Whether it says something about the plugin, so that its circuit counts it.
    pub fn counts(&self) -> bool {
        let is_of_plugin = match self.kind {
            FaultKind::Trap | FaultKind::Timeout | FaultKind::Limit | FaultKind::Malformed | FaultKind::Guest => true,
            FaultKind::Host | FaultKind::Cancelled | FaultKind::Circuit => false,
        };
        is_of_plugin && !self.is_others
    }

    /// The cause.
    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    /// One line.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.text)
    }
}

impl std::error::Error for Fault {}

/// Makes one line of a text: line breaks become spaces, other control characters are escaped, and it is cut at `max` bytes.
pub fn one_line(text: &str, max: usize) -> String {
    let mut out = String::with_capacity(text.len().min(max));
    for c in text.trim().chars() {
        if matches!(c, '\n' | '\r' | '\t') {
            if !out.ends_with(' ') {
                out.push(' ');
            }
        } else if c.is_control() || is_bidi_control(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        if out.len() > max {
            let mut end = max.saturating_sub('…'.len_utf8());
            while !out.is_char_boundary(end) {
                end -= 1;
            }
            out.truncate(end);
            out.push('…');
            break;
        }
    }
    out
}

/// Characters that reorder text on a terminal and could make a log line look like another one.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_becomes_one_bounded_line() {
        let fault = Fault::new(FaultKind::Guest, "a\r\nINFO forged\u{1b}[2J\u{202e}");
        assert_eq!(fault.text(), "a INFO forged\\u{1b}[2J\\u{202e}");
        let long = Fault::new(FaultKind::Guest, "ä".repeat(5000));
        assert!(long.text().len() <= MAX_FAULT_BYTES && long.text().ends_with('…'));
    }
}
