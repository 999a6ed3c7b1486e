//! Limits as numbers that somebody asked for: `limits` of a manifest, and `plugins.entries.<id>.limits` of the operator. Which of them
//! count, and up to where, is decided in [`Limits`](crate::limits::Limits).

use serde::Deserialize;

/// Limits that a manifest or an operator names. Absent: not named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestedLimits {
    /// Memory of one instance, all its linear memories together, in bytes.
    pub memory_bytes: Option<u64>,
    /// Calls that may run at the same time.
    pub max_instances: Option<u32>,
    /// Log text of one call, in bytes.
    pub log_bytes_per_call: Option<u64>,
    /// Data that a guest may hand over in one host call or one answer, in bytes.
    pub output_bytes: Option<u64>,
}
