//! Shows a run while it works, and is its channel. Text is shown while the model speaks only if no plugin may still change or cancel it;
//! otherwise nothing appears before the delivery hooks have passed it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use domain::event::{EventData, EventSink, RunEvent, TextChunk, ToolEvent};
use domain::ports::{Channel, Outbound, SendFailure, SendResult};
use serde_json::Value;

use super::preview::Preview;
use super::printer::{Printer, Stream};
use super::{Output, text};

/// Longest argument text that is shown beside a tool's name, in characters.
const MAX_SHOWN_ARGUMENTS: usize = 120;

/// Longest tool name that is shown, in bytes. The model makes names up.
const MAX_SHOWN_NAME: usize = 80;

/// Said where the terminal was so slow that something of the run was not shown.
const LEFT_OUT: &str = "(the terminal did not keep up, so a part was left out here; `creel sessions show` has it)";

/// The terminal as a channel.
pub struct TerminalView {
    output: Output,
    printer: Printer,
    /// Whether text may be shown before it is delivered.
    preview: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The message that is being shown.
    preview: Preview,
    /// Whether the last thing on stdout was no line end.
    open_line: bool,
    /// Whether something was left out that will not come later.
    has_left_out: bool,
    /// What was sent.
    sent: Vec<Outbound>,
}

impl TerminalView {
    /// A view that shows nothing before it is delivered.
    pub fn new(output: Output, printer: Printer) -> Arc<Self> {
        Arc::new(Self { output, printer, preview: AtomicBool::new(false), state: Mutex::default() })
    }

    /// Says whether text is shown while the model speaks, from the next run on.
    pub fn preview(&self, may_show: bool) {
        self.preview.store(may_show && !self.output.is_json(), Ordering::Relaxed);
    }

    /// Shows that something is being waited for.
    pub fn wait_for(&self, what: &str) {
        self.printer.spin(Some(what.to_owned()));
    }

    /// Takes the spinner away and waits until everything is on the terminal, so that something else may use it.
    pub async fn pause(&self) {
        {
            let mut state = self.state();
            state.has_left_out |= state.preview.forget();
            self.rest(&mut state);
        }
        let _ = self.printer.barrier().await;
    }

    /// Says something about the run on stderr.
    pub fn say(&self, text: &str) {
        self.close_line(&mut self.state());
        self.printer.write(Stream::Err, &format!("{text}\n"));
    }

    /// What was sent so far, as it went out.
    pub fn take_sent(&self) -> Vec<Outbound> {
        std::mem::take(&mut self.state().sent)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At most one line end for each text that there was room for, so this need not be refused.
    fn close_line(&self, state: &mut State) {
        if state.open_line {
            self.printer.write(Stream::Out, "\n");
            state.open_line = false;
        }
    }

    /// Leaves the terminal to something else: no spinner, no open line, and nothing missing without a word.
    fn rest(&self, state: &mut State) {
        self.printer.spin(None);
        self.close_line(state);
        if std::mem::take(&mut state.has_left_out) {
            self.printer.write(Stream::Err, &format!("{}\n", self.output.note_style().dim().apply_to(LEFT_OUT)));
        }
    }

    fn show_chunk(&self, chunk: &TextChunk) {
        if !self.preview.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state();
        self.printer.spin(None);
        if chunk.text.len() == chunk.delta.len() {
            self.close_line(&mut state);
            state.has_left_out |= state.preview.forget();
        }
        let may_show = state.preview.take(chunk);
        if may_show && self.printer.offer(Stream::Out, &self.output.shown(&chunk.delta)) {
            state.preview.has_shown_all();
            state.open_line = !chunk.delta.ends_with('\n');
        }
    }

    /// Prints what was not shown while the model spoke. Errors go to stderr: they are not what was asked for.
    fn print(&self, message: &Outbound) {
        let mut state = self.state();
        if message.is_error {
            self.rest(&mut state);
            let text = text::harmless(&message.content);
            return self.printer.write(Stream::Err, &format!("{} {text}\n", self.output.error_label()));
        }
        match state.preview.unshown(&message.content) {
            Some(rest) => {
                self.write_text(&mut state, rest);
                self.rest(&mut state);
            }
            None => {
                self.rest(&mut state);
                self.write_text(&mut state, &message.content);
                self.close_line(&mut state);
            }
        }
        for address in &message.media {
            self.printer.write(Stream::Out, &format!("{}\n", self.output.shown(address)));
        }
    }

    fn write_text(&self, state: &mut State, text: &str) {
        if !text.is_empty() {
            self.printer.spin(None);
            self.printer.write(Stream::Out, &self.output.shown(text));
            state.open_line = !text.ends_with('\n');
        }
    }

    fn show_tool(&self, event: &ToolEvent) {
        if self.output.is_json() {
            return;
        }
        match event {
            ToolEvent::Start { name, args, .. } => {
                let name = hooks::fault::one_line(name, MAX_SHOWN_NAME);
                let line = format!("· {name} {}", short(args));
                self.note(&self.output.note_style().dim().apply_to(line).to_string());
                self.wait_for(&format!("running {name}"));
            }
            ToolEvent::Update { .. } => {}
            ToolEvent::Result { name, is_error, result, .. } => {
                if *is_error {
                    let name = hooks::fault::one_line(name, MAX_SHOWN_NAME);
                    let line = format!("  {name}: {}", hooks::fault::one_line(&first_text(result), 200));
                    self.note(&self.output.note_style().yellow().apply_to(line).to_string());
                }
                self.wait_for("thinking");
            }
        }
    }

    /// Says on stderr what may be left out.
    fn note(&self, line: &str) {
        let mut state = self.state();
        self.printer.spin(None);
        self.close_line(&mut state);
        state.has_left_out |= !self.printer.offer(Stream::Err, &format!("{line}\n"));
    }
}

impl EventSink for TerminalView {
    fn emit(&self, event: RunEvent) {
        match &event.data {
            EventData::Lifecycle(domain::event::Lifecycle::Start { .. }) => self.wait_for("thinking"),
            EventData::Lifecycle(_) => self.printer.spin(None),
            EventData::Assistant(chunk) => self.show_chunk(chunk),
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::mpsc::{self, Sender};

    use domain::growing_text::GrowingText;
    use domain::{AgentId, CallId, RunId, SessionId, SessionKey};

    use super::super::printer::Act;
    use super::*;

    /// A view on a terminal that stands still until it is let go, and everything that was written.
    fn on_still_terminal() -> (Arc<TerminalView>, Sender<()>, Arc<Mutex<String>>) {
        let (go, may_go) = mpsc::channel::<()>();
        let written = Arc::new(Mutex::new(String::new()));
        let screen = Arc::clone(&written);
        let printer = Printer::acting(move |act| {
            // Once the other end is gone nothing is waited for.
            let _ = may_go.recv();
            if let Act::Write(_, text) = act {
                screen.lock().unwrap().push_str(text);
            }
            Ok(())
        });
        let view = TerminalView::new(Output::from_process(false), printer.unwrap());
        view.preview(true);
        (view, go, written)
    }

    fn event(data: EventData) -> RunEvent {
        RunEvent {
            run_id: RunId::new("r"),
            seq: 1,
            ts: 0,
            session_key: SessionKey::main(&AgentId::main()),
            session_id: SessionId::new("s"),
            agent_id: AgentId::main(),
            data,
        }
    }

    /// Streams a message in pieces.
    fn speak(view: &TerminalView, pieces: &[String]) -> String {
        let mut text = GrowingText::default();
        for delta in pieces {
            text.push_str(delta);
            view.emit(event(EventData::Assistant(TextChunk { text: text.so_far(), delta: delta.clone() })));
        }
        text.so_far().to_string()
    }

    fn reply(content: &str) -> Outbound {
        Outbound {
            channel: "terminal".to_owned(),
            to: String::new(),
            content: content.to_owned(),
            media: Vec::new(),
            is_error: false,
        }
    }

    fn words(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("word {number} ")).collect()
    }

    #[tokio::test]
    async fn a_terminal_that_stands_still_holds_up_nothing_and_has_the_whole_reply_in_the_end() {
        let (view, go, written) = on_still_terminal();
        let text = speak(&view, &words(50_000));
        assert!(text.len() > 500_000 && view.state().preview.shown() < 70_000);
        drop(go);
        view.send(&reply(text.trim())).await.unwrap();
        assert_eq!(written.lock().unwrap().trim_end(), text.trim_end());
    }

    #[tokio::test]
    async fn what_is_left_out_for_good_is_told_once() {
        let (view, go, written) = on_still_terminal();
        speak(&view, &words(50_000));
        for number in 0..10_000 {
            let tool_call_id = CallId::new(number.to_string());
            view.emit(event(EventData::Tool(ToolEvent::Start { name: "exec".into(), tool_call_id, args: Value::Null })));
        }
        speak(&view, &["The end.".to_owned()]);
        drop(go);
        view.send(&reply("The end.")).await.unwrap();
        view.pause().await;
        let written = written.lock().unwrap().clone();
        assert!(written.len() < 100_000, "{}", written.len());
        assert_eq!((written.matches(LEFT_OUT).count(), written.matches("The end.").count()), (1, 1));
    }
}
