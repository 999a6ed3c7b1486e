//! How Creel speaks to a person: results on stdout, everything else on stderr, colours only where somebody looks. The only place that
//! prints; with `--json` stdout holds JSON and nothing else.

mod approver;
mod printer;
mod progress;
mod table;
mod text;
mod view;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use console::Style;
use serde::Serialize;

use crate::exit::{Code, Failure};

pub use approver::TerminalApprover;
pub use printer::Printer;
pub use progress::Spinner;
pub(crate) use progress::undisturbed;
pub use table::Table;
pub use text::bytes;
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
        Self {
            json,
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            colour: colour_is_wanted(),
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

    /// Whether a person looks at stdout while it is written. A file or a program gets results only, nothing on the way to them.
    pub fn is_watched(&self) -> bool {
        self.stdout_is_terminal && !self.json
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

    /// Words of a model as stdout can show them: as they are, or, on a terminal, without what would control it.
    pub fn shown<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.stdout_is_terminal { text::harmless(text) } else { Cow::Borrowed(text) }
    }

    /// Writes one line to stdout. A reader that went away (`| head`) is no error. Words of plugins, models and files may stand in it:
    /// nothing but the host's own styles gets through.
    pub fn line(&self, text: impl AsRef<str>) {
        let text = text.as_ref();
        let shown = if self.colour && self.stdout_is_terminal {
            text::harmless_but_styled(text)
        } else {
            text::harmless(text).into_owned()
        };
        self.text(format!("{shown}\n"));
    }

    /// Writes text to stdout, as it is.
    pub fn text(&self, text: impl AsRef<str>) {
        undisturbed(|| {
            let mut out = io::stdout().lock();
            let _ = out.write_all(text.as_ref().as_bytes()).and_then(|()| out.flush());
        });
    }

    /// Writes one line to stderr, without anything in it that could control the terminal.
    pub fn note(&self, text: impl AsRef<str>) {
        self.labelled("", text.as_ref());
    }

    fn labelled(&self, label: &str, text: &str) {
        undisturbed(|| {
            let _ = writeln!(io::stderr().lock(), "{label}{}", text::harmless(text));
        });
    }

    /// Tells an error on stderr.
    pub fn error(&self, text: impl AsRef<str>) {
        self.labelled(&format!("{} ", self.error_label()), text.as_ref());
    }

    /// Tells on stderr what does not stop anything.
    pub fn warning(&self, text: impl AsRef<str>) {
        self.labelled(&format!("{} ", self.note_style().yellow().bold().apply_to("warning:")), text.as_ref());
    }

    /// Tells on stderr what would help.
    pub fn hint(&self, text: impl AsRef<str>) {
        self.labelled(&format!("  {} ", self.note_style().cyan().apply_to("hint:")), text.as_ref());
    }

    fn error_label(&self) -> String {
        self.note_style().red().bold().apply_to("error:").to_string()
    }

    /// Writes one JSON value to stdout.
    pub fn value<T: Serialize>(&self, value: &T) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.text(format!("{text}\n")),
            Err(error) => self.note(format!("the result cannot be written as JSON: {error}")),
        }
    }

    /// Writes a failure to stderr (and, with `--json`, as an object to stdout) and gives its exit code.
    pub fn fail(&self, failure: &Failure) -> ExitCode {
        self.error(&failure.message);
        failure.hints.iter().for_each(|hint| self.hint(hint));
        if self.json && failure.code != Code::Interrupted {
            self.value(&serde_json::json!({
                "error": { "message": failure.message, "hints": failure.hints, "exitCode": failure.code as u8 },
            }));
        }
        failure.code.into()
    }
}

/// Whether the person wants colours and movement at all: neither `NO_COLOR` nor `TERM=dumb` is set.
pub(crate) fn colour_is_wanted() -> bool {
    let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !is_refused && !is_dumb
}
