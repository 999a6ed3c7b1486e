//! Records in the host's log. They never block and never fail; the host bounds size and rate, counts what it drops, and adds
//! plugin, hook, session and trace.
//!
//! ```
//! use creel_plugin::log;
//! # creel_plugin::testing::Host::new().run(|| {
//! let (tool, rules) = ("exec", 3);
//! log::info!("checked {rules} rules");
//! log::warn!(tool = tool, rule = "rm-rf"; "blocked a call");
//! # });
//! ```
//!
//! Fields come before the text, parted by commas, and end with a semicolon. The text is one line, cut at 1024 bytes.

use super::backend;

#[doc(inline)]
pub use crate::{__log_debug as debug, __log_error as error, __log_info as info, __log_trace as trace, __log_warn as warn};

/// How important a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For following single steps.
    Trace,
    /// For finding faults.
    Debug,
    /// Worth knowing.
    Info,
    /// Something is odd.
    Warn,
    /// Something failed.
    Error,
}

/// Writes one record with its fields; what the macros call.
pub fn write(level: Level, message: &str, fields: &[(String, String)]) {
    backend::log(level, message, fields);
}

/// Writes one record of a level given as the first argument.
#[doc(hidden)]
#[macro_export]
macro_rules! __log {
    ($level:ident, $($key:ident = $value:expr),+ $(,)?; $($text:tt)+) => {
        $crate::log::write(
            $crate::log::Level::$level,
            &::std::format!($($text)+),
            &[$((::std::stringify!($key).into(), ::std::string::ToString::to_string(&$value))),+],
        )
    };
    ($level:ident, $($text:tt)+) => {
        $crate::log::write($crate::log::Level::$level, &::std::format!($($text)+), &[])
    };
}

/// Writes a record for following single steps.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_trace { ($($record:tt)+) => { $crate::__log!(Trace, $($record)+) }; }

/// Writes a record for finding faults.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_debug { ($($record:tt)+) => { $crate::__log!(Debug, $($record)+) }; }

/// Writes a record that is worth knowing.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_info { ($($record:tt)+) => { $crate::__log!(Info, $($record)+) }; }

/// Writes a record of something odd.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_warn { ($($record:tt)+) => { $crate::__log!(Warn, $($record)+) }; }

/// Writes a record of something that failed.
#[doc(hidden)]
#[macro_export]
macro_rules! __log_error { ($($record:tt)+) => { $crate::__log!(Error, $($record)+) }; }
