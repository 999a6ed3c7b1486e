//! `log`: records for the host's log. Never blocks, never fails.

use tracing::Level;

use super::capability;
use crate::bindings::creel::plugin::log;
use crate::guest_log::GuestLog;
use crate::state::State;

/// The log of the instance.
pub(crate) struct LogView<'a> {
    log: &'a GuestLog,
}

capability! {
    /// `creel:plugin/log`.
    Log => LogView
}

impl State {
    pub(crate) fn log(&mut self) -> LogView<'_> {
        LogView { log: &self.log }
    }
}

impl log::Host for LogView<'_> {
    fn write(&mut self, level: log::Level, message: String, fields: Vec<(String, String)>) {
        let level = match level {
            log::Level::Trace => Level::TRACE,
            log::Level::Debug => Level::DEBUG,
            log::Level::Info => Level::INFO,
            log::Level::Warn => Level::WARN,
            log::Level::Error => Level::ERROR,
        };
        self.log.record(level, &message, &fields);
    }
}
