//! A spinner on stderr for work that takes long. Where nobody looks nothing moves: what may take minutes says one line, all else nothing.

use std::io::{self, Write};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle, WeakProgressBar};

use super::Output;

/// The spinner that is on the terminal. The terminal is one for the whole process, so what else writes to it must find the spinner.
static SHOWN: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

/// Said once where nothing moves. A run that compiles a dozen plugins is silent for a minute otherwise.
const COMPILING: &str = "compiling plugins; the first time this takes a while";

/// A spinner; gone when dropped.
#[derive(Debug)]
pub struct Spinner {
    bar: ProgressBar,
    /// What stands in for the first step where nothing moves.
    plain: Option<(Once, &'static str)>,
}

impl Spinner {
    /// Shows a spinner with a text, where stderr is a terminal.
    pub fn start(output: &Output, text: impl Into<String>) -> Self {
        if !output.can_animate() {
            return Self { bar: ProgressBar::hidden(), plain: None };
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}") {
            bar.set_style(style);
        }
        bar.set_message(text.into());
        bar.enable_steady_tick(Duration::from_millis(90));
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.downgrade());
        Self { bar, plain: None }
    }

    /// The same for plugins that are loaded; its steps are compilations.
    pub fn loading(output: &Output, text: &str) -> Self {
        let mut spinner = Self::start(output, text);
        spinner.plain = (!output.can_animate()).then(|| (Once::new(), COMPILING));
        spinner
    }

    /// Changes the text.
    pub fn say(&self, text: impl Into<String>) {
        self.bar.set_message(text.into());
        if let Some((once, line)) = &self.plain {
            once.call_once(|| drop(writeln!(io::stderr().lock(), "{line}")));
        }
    }

    /// Takes the spinner away; more calls do nothing.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Writes to the terminal while the spinner, if there is one, is out of the way.
pub(crate) fn undisturbed<T>(write: impl FnOnce() -> T) -> T {
    let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(WeakProgressBar::upgrade);
    match shown {
        Some(bar) if !bar.is_finished() => bar.suspend(write),
        _ => write(),
    }
}
