//! The host's log as a test sees it. Tests run on one thread each, so what is logged on that thread is theirs.

use std::fmt::{self, Write as _};
use std::sync::Arc;

use parking_lot::Mutex;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

/// One record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// How important it is.
    pub level: Level,
    /// Message and fields, as one text.
    pub text: String,
}

/// What was logged on this thread since [`Log::capture`].
#[derive(Clone)]
pub struct Log {
    lines: Arc<Mutex<Vec<LogLine>>>,
    _guard: Arc<tracing::subscriber::DefaultGuard>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.lines.lock().iter()).finish()
    }
}

impl Log {
    /// Begins. Ends when the last clone is dropped.
    pub fn capture() -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let subscriber = tracing_subscriber::registry().with(Lines(Arc::clone(&lines)));
        Self { lines, _guard: Arc::new(tracing::subscriber::set_default(subscriber)) }
    }

    /// Records at least as important as `level` that hold all of `parts`.
    pub fn lines(&self, level: Level, parts: &[&str]) -> Vec<String> {
        let lines = self.lines.lock();
        let fits = |line: &&LogLine| line.level <= level && parts.iter().all(|part| line.text.contains(part));
        lines.iter().filter(fits).map(|line| line.text.clone()).collect()
    }

    /// Warnings and errors that hold all of `parts`.
    pub fn warnings(&self, parts: &[&str]) -> Vec<String> {
        self.lines(Level::WARN, parts)
    }
}

struct Lines(Arc<Mutex<Vec<LogLine>>>);

impl<S: Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().push(LogLine { level: *event.metadata().level(), text: text.0 });
    }
}

/// Renders `message key=value …`.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let space = if self.0.is_empty() { "" } else { " " };
        let _ = match field.name() {
            "message" => write!(self.0, "{space}{value:?}"),
            name => write!(self.0, "{space}{name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}
