//! How Creel speaks to a person: results on stdout, everything else on stderr, colours only where somebody looks. The only place that
//! prints; with `--json` stdout holds JSON and nothing else.

mod answer;
mod approver;
mod preview;
mod printer;
mod progress;
mod table;
mod text;
mod view;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, OnceLock};

use console::Style;
use serde::Serialize;

use crate::exit::{Code, Failure};

pub use approver::TerminalApprover;
pub use printer::{Printer, Stream};
pub use progress::Spinner;
pub(crate) use progress::undisturbed;
pub use table::Table;
pub use text::bytes;
pub use view::TerminalView;

/// The two streams and what they can show. Clones share what became of stdout.
#[derive(Debug, Clone)]
pub struct Output {
    json: bool,
    stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    colour: bool,
    /// Why stdout took no more. Nothing is written to it from there on, so that no result has a hole.
    lost: Arc<OnceLock<io::Error>>,
}

impl Output {
    /// Looks at the process: terminals, `NO_COLOR`, `TERM=dumb`.
    pub fn from_process(json: bool) -> Self {
        Self {
            json,
            stdout_is_terminal: io::stdout().is_terminal(),
            stderr_is_terminal: io::stderr().is_terminal(),
            colour: colour_is_wanted(),
            lost: Arc::default(),
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

    /// Writes one line to stdout. Words of plugins, models and files may stand in it: nothing but the host's own styles gets through.
    pub fn line(&self, text: impl AsRef<str>) {
        let text = text.as_ref();
        let shown = if self.colour && self.stdout_is_terminal {
            text::harmless_but_styled(text)
        } else {
            text::harmless(text).into_owned()
        };
        self.text(format!("{shown}\n"));
    }

    /// Writes text to stdout, as it is. That stdout does not take it is told by [`Output::end`], and by [`Output::lost`] before.
    pub fn text(&self, text: impl AsRef<str>) {
        if self.lost.get().is_some() {
            return;
        }
        let written = undisturbed(|| {
            let mut out = io::stdout().lock();
            out.write_all(text.as_ref().as_bytes()).and_then(|()| out.flush())
        });
        self.remember(written);
    }

    fn remember(&self, written: io::Result<()>) {
        if let Err(error) = written {
            self.lost.get_or_init(|| error);
        }
    }

    /// That something was to be on stdout and is not. For results that a program must have whole, also if it was the reader that went
    /// away.
    pub fn lost(&self) -> Option<Failure> {
        let error = self.lost.get()?;
        Some(Failure::new(Code::RunFailed, format!("the result cannot be written to stdout: {error}")))
    }

    /// Writes one line to stderr, without anything in it that could control the terminal.
    pub fn note(&self, text: impl AsRef<str>) {
        self.labelled("", text.as_ref());
    }

    /// Shows on stderr that something may be typed.
    pub fn prompt(&self, text: &str) {
        let shown = self.note_style().bold().apply_to(text).to_string();
        undisturbed(|| {
            let mut err = io::stderr().lock();
            let _ = write!(err, "{shown}").and_then(|()| err.flush());
        });
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

    /// Tells on stderr what is behind the error before.
    pub fn cause(&self, text: impl AsRef<str>) {
        self.labelled("  cause: ", text.as_ref());
    }

    fn error_label(&self) -> String {
        self.note_style().red().bold().apply_to("error:").to_string()
    }

    /// Writes one JSON value to stdout.
    pub fn value<T: Serialize>(&self, value: &T) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.text(format!("{text}\n")),
            Err(error) => self.remember(Err(error.into())),
        }
    }

    /// Tells how a command ended, and gives the code for it. A result that could not be written fails the command; a reader that went
    /// away (`| head`) has seen what it wanted.
    pub fn end(&self, result: Result<Code, Failure>) -> Code {
        let code = match result {
            Ok(code) => code,
            Err(failure) => return self.fail(&failure),
        };
        let is_wanted = self.lost.get().is_some_and(|error| error.kind() != io::ErrorKind::BrokenPipe);
        match self.lost().filter(|_| is_wanted) {
            Some(failure) if code == Code::Success => self.fail(&failure),
            Some(failure) => {
                self.error(failure.message);
                code
            }
            None => code,
        }
    }

    /// Tells a failure on stderr, with what would help.
    pub fn failure(&self, failure: &Failure) {
        self.error(&failure.message);
        failure.hints.iter().for_each(|hint| self.hint(hint));
    }

    /// Writes a failure to stderr (and, with `--json`, as an object to stdout) and gives its exit code.
    fn fail(&self, failure: &Failure) -> Code {
        self.failure(failure);
        if self.json && failure.code != Code::Interrupted {
            self.value(&serde_json::json!({
                "error": { "message": failure.message, "hints": failure.hints, "exitCode": failure.code as u8 },
            }));
        }
        failure.code
    }
}

/// Whether the person wants colours and movement at all: neither `NO_COLOR` nor `TERM=dumb` is set.
pub(crate) fn colour_is_wanted() -> bool {
    let is_refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !is_refused && !is_dumb
}
