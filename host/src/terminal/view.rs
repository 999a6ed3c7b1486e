//! Shows a run while it works, and is its channel. Text is shown while the model speaks only if no plugin may still change or cancel it;
//! otherwise nothing appears before the delivery hooks have passed it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use domain::event::{EventData, EventSink, RunEvent, ToolEvent};
use domain::ports::{Channel, Outbound, SendFailure, SendResult};
use serde_json::Value;

use super::{Output, Printer, Spinner};

/// Longest argument text that is shown beside a tool's name, in characters.
const MAX_SHOWN_ARGUMENTS: usize = 120;

/// Longest tool name that is shown, in bytes. The model makes names up.
const MAX_SHOWN_NAME: usize = 80;

/// The terminal as a channel.
pub struct TerminalView {
    output: Output,
    printer: Printer,
    /// Whether text may be shown before it is delivered.
    preview: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    spinner: Option<Spinner>,
    /// Text of the message that is being shown.
    shown: String,
    /// Whether the last thing on stdout was no line end.
    open_line: bool,
    /// What was sent.
    sent: Vec<Outbound>,
}

impl TerminalView {
    /// A view. `preview`: show text while the model speaks.
    pub fn new(output: Output, printer: Printer, preview: bool) -> Arc<Self> {
        Arc::new(Self { output, printer, preview: preview && !output.is_json(), state: Mutex::default() })
    }

    /// Shows that something is being waited for.
    pub fn wait_for(&self, what: &str) {
        let mut state = self.state();
        match &state.spinner {
            Some(spinner) => spinner.say(what),
            None => state.spinner = Some(Spinner::start(&self.output, what)),
        }
    }

    /// Takes the spinner away and waits until everything is on the terminal, so that something else may use it.
    pub async fn pause(&self) {
        {
            let mut state = self.state();
            state.spinner = None;
            self.close_line(&mut state);
        }
        let _ = self.printer.barrier().await;
    }

    /// Says something about the run on stderr.
    pub fn say(&self, text: &str) {
        let mut state = self.state();
        self.close_line(&mut state);
        self.printer.err(format!("{text}\n"));
    }

    /// What was sent so far, as it went out.
    pub fn take_sent(&self) -> Vec<Outbound> {
        std::mem::take(&mut self.state().sent)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close_line(&self, state: &mut State) {
        if state.open_line {
            self.printer.out("\n");
            state.open_line = false;
        }
    }

    fn show_delta(&self, text: &str, delta: &str) {
        if !self.preview {
            return;
        }
        let mut state = self.state();
        state.spinner = None;
        if text.len() == delta.len() {
            self.close_line(&mut state);
        }
        state.shown = text.to_owned();
        state.open_line = !delta.ends_with('\n');
        self.printer.out(self.output.shown(delta));
    }

    /// Prints what was not shown while the model spoke. Errors go to stderr: they are not what was asked for.
    fn print(&self, message: &Outbound) {
        let mut state = self.state();
        state.spinner = None;
        self.close_line(&mut state);
        if message.is_error {
            let text = super::text::harmless(&message.content);
            return self.printer.err(format!("{} {text}\n", self.output.error_label()));
        }
        let was_shown = self.preview && !message.content.trim().is_empty() && state.shown.trim() == message.content.trim();
        if !was_shown {
            let end = if message.content.ends_with('\n') { "" } else { "\n" };
            self.printer.out(format!("{}{end}", self.output.shown(&message.content)));
        }
        for address in &message.media {
            self.printer.out(format!("{}\n", self.output.shown(address)));
        }
        state.shown.clear();
    }

    fn show_tool(&self, event: &ToolEvent) {
        if self.output.is_json() {
            return;
        }
        let mut state = self.state();
        match event {
            ToolEvent::Start { name, args, .. } => {
                state.spinner = None;
                self.close_line(&mut state);
                let name = hooks::fault::one_line(name, MAX_SHOWN_NAME);
                let line = format!("· {name} {}", short(args));
                self.printer.err(format!("{}\n", self.output.note_style().dim().apply_to(line)));
                state.spinner = Some(Spinner::start(&self.output, format!("running {name}")));
            }
            ToolEvent::Update { .. } => {}
            ToolEvent::Result { name, is_error, result, .. } => {
                state.spinner = None;
                if *is_error {
                    let name = hooks::fault::one_line(name, MAX_SHOWN_NAME);
                    let line = format!("  {name}: {}", hooks::fault::one_line(&first_text(result), 200));
                    self.printer.err(format!("{}\n", self.output.note_style().yellow().apply_to(line)));
                }
                state.spinner = Some(Spinner::start(&self.output, "thinking"));
            }
        }
    }
}

impl EventSink for TerminalView {
    fn emit(&self, event: RunEvent) {
        match &event.data {
            EventData::Lifecycle(domain::event::Lifecycle::Start { .. }) => self.wait_for("thinking"),
            EventData::Lifecycle(_) => self.state().spinner = None,
            EventData::Assistant(chunk) => self.show_delta(&chunk.text, &chunk.delta),
            EventData::Thinking(_) => {}
            EventData::Tool(tool) => self.show_tool(tool),
        }
    }
}

#[async_trait]
impl Channel for TerminalView {
    fn id(&self) -> &str {
        "terminal"
    }

    async fn send(&self, message: &Outbound) -> SendResult {
        if !self.output.is_json() {
            self.print(message);
            let written = self.printer.barrier().await;
            written.map_err(|error| SendFailure(format!("stdout cannot be written: {error}")))?;
        }
        self.state().sent.push(message.clone());
        Ok(None)
    }
}

fn short(arguments: &Value) -> String {
    let text = hooks::fault::one_line(&arguments.to_string(), 4096);
    match text.char_indices().nth(MAX_SHOWN_ARGUMENTS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

fn first_text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or("failed").to_owned()
}
