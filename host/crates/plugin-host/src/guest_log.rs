//! What a guest writes to the log: records of the `log` import and lines of its standard output and error. All of it is untrusted:
//! one line each, bounded, control characters escaped, a budget for each call and one for the plugin; what is above is dropped, counted,
//! and told in one line.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::{PluginId, SessionKey};
use hooks::fault::one_line;
use parking_lot::Mutex;
use tracing::Level;

use crate::limits::{Limits, size};
use crate::log_rate::{Dropped, LogRate};

/// Longest record in bytes.
pub(crate) const MAX_MESSAGE_BYTES: usize = 1024;

/// Fields of one record; more are dropped.
const MAX_FIELDS: usize = 16;

/// Longest field name in bytes.
const MAX_FIELD_NAME_BYTES: usize = 64;

/// Longest field value in bytes.
const MAX_FIELD_VALUE_BYTES: usize = 256;

/// A stream that a guest prints to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// The log of one instance.
pub(crate) struct GuestLog {
    plugin: PluginId,
    limits: Limits,
    rate: Arc<LogRate>,
    /// Whether the call wrote anything; most calls do not, and end without a lock.
    used: AtomicBool,
    call: Mutex<CallLog>,
}

/// What one call has written so far.
struct CallLog {
    surface: &'static str,
    session: Option<SessionKey>,
    records_left: usize,
    bytes_left: usize,
    dropped: Dropped,
    out: Vec<u8>,
    err: Vec<u8>,
    /// The end of what it printed.
    tail: Vec<u8>,
}

impl GuestLog {
    pub(crate) fn new(plugin: PluginId, limits: Limits, rate: Arc<LogRate>) -> Self {
        let call = CallLog {
            surface: "",
            session: None,
            records_left: 0,
            bytes_left: 0,
            dropped: Dropped::default(),
            out: Vec::new(),
            err: Vec::new(),
            tail: Vec::new(),
        };
        Self { plugin, limits, rate, used: AtomicBool::new(false), call: Mutex::new(call) }
    }

    /// Starts the budget of a call; `surface` is the hook, or the tool function.
    pub(crate) fn begin(&self, surface: &'static str, session: Option<&SessionKey>) {
        let mut call = self.call.lock();
        call.surface = surface;
        // Calls of one run share their session; comparing is cheaper than counting references.
        if call.session.as_ref() != session {
            call.session = session.cloned();
        }
        call.records_left = size(self.limits.log_records_per_call);
        call.bytes_left = size(self.limits.log_bytes_per_call);
        call.tail.clear();
    }

    /// Ends a call: writes lines that have no end yet, and says what was dropped.
    pub(crate) fn finish(&self) {
        if !self.used.swap(false, Ordering::Relaxed) {
            return;
        }
        let mut call = self.call.lock();
        for stream in [Stream::Out, Stream::Err] {
            let line = std::mem::take(call.buffer(stream));
            if !line.is_empty() {
                self.line(&mut call, stream, &line);
            }
        }
        let dropped = std::mem::take(&mut call.dropped);
        if dropped == Dropped::default() {
            return;
        }
        if let Some(Dropped { records, bytes }) = self.rate.dropped(dropped) {
            tracing::warn!(
                target: "plugin",
                plugin = %self.plugin,
                hook = call.surface,
                "the plugin wrote more to the log than it may: {records} records, {bytes} bytes were dropped \
                 (limits.logRecordsPerCall, logBytesPerCall, logBytesPerMinute)"
            );
        }
    }

    /// The end of what the call printed, in one line; empty: nothing.
    pub(crate) fn tail(&self) -> String {
        let call = self.call.lock();
        one_line(String::from_utf8_lossy(&call.tail).trim(), size(self.limits.output_tail_bytes))
    }

    /// Takes one record of the `log` import.
    pub(crate) fn record(&self, level: Level, message: &str, fields: &[(String, String)]) {
        self.used.store(true, Ordering::Relaxed);
        let size = message.len() + fields.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
        let mut call = self.call.lock();
        if !self.spend(&mut call, size) {
            return;
        }
        let message = one_line(message, MAX_MESSAGE_BYTES);
        self.emit(&call, level, &message, &one_line_of_fields(fields));
    }

    /// Takes bytes that the guest printed.
    pub(crate) fn print(&self, stream: Stream, bytes: &[u8]) {
        self.used.store(true, Ordering::Relaxed);
        let mut call = self.call.lock();
        call.keep_tail(bytes, size(self.limits.output_tail_bytes));
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            call.append(stream, &rest[..end]);
            let line = std::mem::take(call.buffer(stream));
            self.line(&mut call, stream, &line);
            // The buffer keeps its room for the next line.
            *call.buffer(stream) = line;
            call.buffer(stream).clear();
            rest = &rest[end + 1..];
        }
        call.append(stream, rest);
    }

    fn line(&self, call: &mut CallLog, stream: Stream, line: &[u8]) {
        if !self.spend(call, line.len()) {
            return;
        }
        let text = one_line(&String::from_utf8_lossy(line), MAX_MESSAGE_BYTES);
        let level = if stream == Stream::Out { Level::INFO } else { Level::WARN };
        self.emit(call, level, &text, "");
    }

    /// Takes one record of `size` bytes from both budgets, or counts it as dropped.
    fn spend(&self, call: &mut CallLog, size: usize) -> bool {
        // A record above its own maximum is cut, so it costs no more than that.
        let cost = size.min(MAX_MESSAGE_BYTES + MAX_FIELDS * (MAX_FIELD_NAME_BYTES + MAX_FIELD_VALUE_BYTES));
        if call.records_left == 0 || call.bytes_left < cost || !self.rate.spend(cost) {
            call.dropped.records += 1;
            call.dropped.bytes += size as u64;
            return false;
        }
        call.records_left -= 1;
        call.bytes_left -= cost;
        true
    }

    fn emit(&self, call: &CallLog, level: Level, message: &str, fields: &str) {
        let session = call.session.as_ref().map(SessionKey::as_str);
        let fields = (!fields.is_empty()).then_some(fields);
        macro_rules! event {
            ($level:expr) => {
                tracing::event!(target: "plugin", $level, plugin = %self.plugin, hook = call.surface, session, fields, "{message}")
            };
        }
        match level {
            Level::TRACE => event!(Level::TRACE),
            Level::DEBUG => event!(Level::DEBUG),
            Level::INFO => event!(Level::INFO),
            Level::WARN => event!(Level::WARN),
            Level::ERROR => event!(Level::ERROR),
        }
    }
}

impl CallLog {
    /// Keeps the last `most` bytes of what is printed.
    fn keep_tail(&mut self, bytes: &[u8], most: usize) {
        let bytes = &bytes[bytes.len().saturating_sub(most)..];
        let excess = (self.tail.len() + bytes.len()).saturating_sub(most);
        self.tail.drain(..excess);
        self.tail.extend_from_slice(bytes);
    }

    fn buffer(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }

    /// Adds to the line that is being printed, up to the longest line.
    fn append(&mut self, stream: Stream, bytes: &[u8]) {
        let buffer = self.buffer(stream);
        let room = MAX_MESSAGE_BYTES.saturating_sub(buffer.len());
        let kept = bytes.len().min(room);
        buffer.extend_from_slice(&bytes[..kept]);
        self.dropped.bytes += (bytes.len() - kept) as u64;
    }
}

/// Fields of a guest have names of its own, so they go into one text.
fn one_line_of_fields(fields: &[(String, String)]) -> String {
    let mut out = String::new();
    for (name, value) in fields.iter().take(MAX_FIELDS) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&one_line(name, MAX_FIELD_NAME_BYTES));
        out.push('=');
        out.push_str(&format!("{:?}", one_line(value, MAX_FIELD_VALUE_BYTES)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::Captured;

    fn log(bytes: u64) -> GuestLog {
        let limits = Limits { log_bytes_per_call: bytes, ..Limits::default() };
        let log = GuestLog::new(PluginId::new("p"), limits, Arc::new(LogRate::new(1 << 20)));
        log.begin("agent_end", None);
        log
    }

    #[test]
    fn a_record_is_one_line_with_its_plugin_and_hook() {
        let captured = Captured::during(|| {
            log(1000).record(Level::INFO, "done\nWARN forged\u{1b}[2J", &[("tool".into(), "ex\nec".into())]);
        });
        assert_eq!(captured.lines().count(), 1);
        assert!(captured.contains(" INFO plugin: done WARN forged\\u{1b}[2J plugin=p hook=\"agent_end\""), "{captured}");
        assert!(captured.contains("tool="), "{captured}");
    }

    #[test]
    fn a_flood_is_counted_and_told_in_one_line() {
        let captured = Captured::during(|| {
            let log = log(u64::MAX);
            for _ in 0..10_000 {
                log.print(Stream::Out, b"spam\n");
            }
            log.finish();
        });
        assert_eq!(captured.lines().count(), 64 + 1);
        assert!(captured.contains("9936 records, 39744 bytes were dropped"), "{captured}");
    }

    #[test]
    fn bytes_are_a_budget_too_and_zero_is_silence() {
        let captured = Captured::during(|| {
            let log = log(0);
            log.record(Level::ERROR, "anything", &[]);
            log.finish();
        });
        assert!(captured.contains("1 records, 8 bytes were dropped") && !captured.contains("anything"), "{captured}");
    }

    #[test]
    fn a_line_without_end_is_cut_and_written_at_the_end_of_the_call() {
        let captured = Captured::during(|| {
            let log = log(u64::MAX);
            for _ in 0..100 {
                log.print(Stream::Err, &[b'a'; 4096]);
            }
            log.finish();
            log.begin("agent_end", None);
            log.print(Stream::Err, b"half");
            log.finish();
        });
        assert!(captured.contains("WARN plugin: half"), "{captured}");
        assert!(captured.lines().all(|line| line.len() < 1300), "{captured}");
        assert!(captured.contains(&format!("{} bytes were dropped", 100 * 4096 - MAX_MESSAGE_BYTES)), "{captured}");
    }

    #[test]
    fn calls_of_one_plugin_share_a_budget() {
        let captured = Captured::during(|| {
            let rate = Arc::new(LogRate::new(200));
            for _ in 0..3 {
                let log = GuestLog::new(PluginId::new("p"), Limits::default(), Arc::clone(&rate));
                log.begin("agent_end", None);
                log.record(Level::INFO, "some text", &[]);
                log.finish();
            }
        });
        assert_eq!(captured.matches("some text").count(), 2, "{captured}");
        assert!(captured.contains("1 records, 9 bytes were dropped"), "{captured}");
    }

    #[test]
    fn the_end_of_what_was_printed_is_kept() {
        let limits = Limits { output_tail_bytes: 12, ..Limits::default() };
        let log = GuestLog::new(PluginId::new("p"), limits, Arc::new(LogRate::new(1 << 20)));
        log.begin("agent_end", None);
        log.print(Stream::Out, b"a long line of text\n");
        log.print(Stream::Err, b"panic: no");
        assert_eq!(log.tail(), "xt panic: no");
        log.begin("agent_end", None);
        assert_eq!(log.tail(), "");
    }
}
