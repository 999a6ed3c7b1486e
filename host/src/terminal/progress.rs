//! A spinner on stderr for work that takes long. Draws nothing where nobody looks.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::Output;

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
