//! A spinner on stderr for work that takes long. Draws nothing where nobody looks.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle, WeakProgressBar};

use super::Output;

/// The spinner that is on the terminal. The terminal is one for the whole process, so what else writes to it must find the spinner.
static SHOWN: Mutex<Option<WeakProgressBar>> = Mutex::new(None);

/// A spinner; gone when dropped.
#[derive(Debug)]
pub struct Spinner(ProgressBar);

impl Spinner {
    /// Shows a spinner with a text, where stderr is a terminal.
    pub fn start(output: &Output, text: impl Into<String>) -> Self {
        if !output.can_animate() {
            return Self(ProgressBar::hidden());
        }
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}") {
            bar.set_style(style);
        }
        bar.set_message(text.into());
        bar.enable_steady_tick(Duration::from_millis(90));
        *SHOWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.downgrade());
        Self(bar)
    }

    /// Changes the text.
    pub fn say(&self, text: impl Into<String>) {
        self.0.set_message(text.into());
    }

    /// Takes the spinner away; more calls do nothing.
    pub fn clear(&self) {
        self.0.finish_and_clear();
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
