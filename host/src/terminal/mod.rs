//! How Creel speaks to a person: results on stdout, everything else on stderr, colours only where somebody looks. The only place that
//! prints; with `--json` stdout holds JSON and nothing else.

mod approver;
mod printer;
mod progress;
mod table;
mod view;

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use console::Style;
use serde::Serialize;

use crate::exit::{Code, Failure};

pub use approver::TerminalApprover;
pub use printer::Printer;
pub use progress::Spinner;
pub use table::Table;
pub use view::TerminalView;

/// The two streams and what they can show.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    json: bool,
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    colour: bool,
}

impl Output {
    /// Looks at the process: terminals, `NO_COLOR`, `TERM=dumb`.
    pub fn from_process(json: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            json,
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            colour: !plain,
        }
    }

    /// Whether stdout must hold JSON and nothing else.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Whether a person can answer here: stdin and stderr are terminals, and stdout is not meant for a program.
    pub fn can_ask(&self) -> bool {
        !self.json && self.stderr_is_terminal && io::stdin().is_terminal()
    }

    /// Whether moving progress may be drawn on stderr.
    pub fn can_animate(&self) -> bool {
        !self.json && self.stderr_is_terminal && self.colour
    }

    /// A style for stdout; plain where nobody looks.
    pub fn style(&self) -> Style {
        Style::new().force_styling(self.colour && self.stdout_is_terminal && !self.json)
    }

    /// A style for stderr.
    pub fn note_style(&self) -> Style {
        Style::new().force_styling(self.colour && self.stderr_is_terminal)
    }

    /// Writes one line to stdout. A reader that went away (`| head`) is no error.
    pub fn line(&self, text: impl AsRef<str>) {
        let _ = writeln!(io::stdout().lock(), "{}", text.as_ref());
    }

    /// Writes one line to stderr.
    pub fn note(&self, text: impl AsRef<str>) {
        let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
    }

    /// Writes one JSON value to stdout.
    pub fn value<T: Serialize>(&self, value: &T) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.line(text),
            Err(error) => self.note(format!("the result cannot be written as JSON: {error}")),
        }
    }

    /// Writes a failure to stderr (and, with `--json`, as an object to stdout) and gives its exit code.
    pub fn fail(&self, failure: &Failure) -> ExitCode {
        let error = self.note_style().red().bold().apply_to("error:");
        self.note(format!("{error} {}", failure.message));
        for hint in &failure.hints {
            let label = self.note_style().cyan().apply_to("hint:");
            self.note(format!("  {label} {hint}"));
        }
        if self.json && failure.code != Code::Interrupted {
            self.value(&serde_json::json!({
                "error": { "message": failure.message, "hints": failure.hints, "exitCode": failure.code as u8 },
            }));
        }
        failure.code.into()
    }
}
