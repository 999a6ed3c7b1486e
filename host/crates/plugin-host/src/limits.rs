//! How much a guest may use. Every limit is a named constant with its reason, or a field that an operator can set; nothing here
//! counts, that is the work of `limiter` and of the capabilities.

use std::time::Duration;

use crate::manifest::RequestedLimits;

/// Linear memory of one instance, all its memories together, in bytes, if nobody names a size. A Rust plugin lives in 2 MiB, a
/// JavaScript runtime in 20 to 40.
pub const DEFAULT_MEMORY_BYTES: usize = 64 << 20;

/// Most linear memory that an operator can allow one instance, in bytes: what a 32-bit guest can address.
pub const MAX_MEMORY_BYTES: usize = 4 << 30;

/// Calls of one plugin that may run at the same time, if nobody names a number. More wait, within their budget.
pub const DEFAULT_INSTANCES: usize = 32;

/// Text that one call may write to the log, in bytes, if nobody names a size.
pub const DEFAULT_LOG_BYTES: usize = 64 << 10;

/// Data that a guest may hand over in one host call or one answer, in bytes, if nobody names a size: a transcript row with a few
/// pictures in it. It bounds what the host allocates because a guest says so.
pub const DEFAULT_OUTPUT_BYTES: usize = 8 << 20;

/// Log records of one call. A call that needs more should say less.
pub const LOG_RECORDS: usize = 64;

/// Core instances of one component: language runtimes and their adapters come to about ten.
pub const CORE_INSTANCES: usize = 32;

/// Memories of one instance: the guest's own, one of an adapter, and as many again.
pub const MEMORIES: usize = 4;

/// Tables of one instance: adapters bring one or two each.
pub const TABLES: usize = 16;

/// Elements of all tables of one instance, eight bytes each: debug builds of large runtimes have about ten thousand.
pub const TABLE_ELEMENTS: usize = 20_000;

/// Handles to resources (streams, pollables, …) that one instance may hold.
pub const HANDLES: usize = 256;

/// Random bytes that one host call may ask for.
pub const RANDOM_BYTES: u64 = 64 << 10;

/// Longest call of a plugin's tool: the safety ceiling of hooks without a budget (plugin-hooks 1.7).
pub const TOOL_BUDGET: Duration = Duration::from_secs(600);

/// Longest call of `list-tools` while a plugin is loaded.
pub const LIST_BUDGET: Duration = Duration::from_secs(5);

/// Limits of one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory of one instance, in bytes.
    pub memory_bytes: usize,
    /// Calls that may run at the same time.
    pub max_instances: usize,
    /// Text that one call may write to the log, in bytes; 0: none.
    pub log_bytes: usize,
    /// Data that a guest may hand over in one host call or one answer, in bytes.
    pub output_bytes: usize,
    /// Longest call of one of its tools.
    pub tool_budget: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: DEFAULT_MEMORY_BYTES,
            max_instances: DEFAULT_INSTANCES,
            log_bytes: DEFAULT_LOG_BYTES,
            output_bytes: DEFAULT_OUTPUT_BYTES,
            tool_budget: TOOL_BUDGET,
        }
    }
}

impl Limits {
    /// The limits of one plugin: the operator's count, else the manifest's up to the host's default (a plugin may ask for less, and
    /// cannot give itself more), else the default.
    pub fn resolve(manifest: &RequestedLimits, operator: &RequestedLimits) -> Self {
        let defaults = Self::default();
        let pick = |operator: Option<u64>, manifest: Option<u64>, default: usize| {
            let asked = manifest.map_or(default, |asked| clamp(asked).min(default));
            operator.map_or(asked, clamp)
        };
        Self {
            memory_bytes: pick(operator.memory_bytes, manifest.memory_bytes, defaults.memory_bytes).min(MAX_MEMORY_BYTES),
            max_instances: pick(
                operator.max_instances.map(u64::from),
                manifest.max_instances.map(u64::from),
                defaults.max_instances,
            )
            .max(1),
            log_bytes: pick(operator.log_bytes_per_call, manifest.log_bytes_per_call, defaults.log_bytes),
            output_bytes: pick(operator.output_bytes, manifest.output_bytes, defaults.output_bytes),
            tool_budget: defaults.tool_budget,
        }
    }
}

fn clamp(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(bytes: u64) -> RequestedLimits {
        RequestedLimits { memory_bytes: Some(bytes), ..RequestedLimits::default() }
    }

    #[test]
    fn the_operator_wins_and_a_manifest_only_lowers() {
        let none = RequestedLimits::default();
        for (manifest, operator, expected) in [
            (none, none, DEFAULT_MEMORY_BYTES),
            (memory(1 << 20), none, 1 << 20),
            (memory(1 << 40), none, DEFAULT_MEMORY_BYTES),
            (memory(1 << 20), memory(128 << 20), 128 << 20),
            (none, memory(u64::MAX), MAX_MEMORY_BYTES),
        ] {
            assert_eq!(Limits::resolve(&manifest, &operator).memory_bytes, expected);
        }
        let zero = RequestedLimits { max_instances: Some(0), log_bytes_per_call: Some(0), ..none };
        let limits = Limits::resolve(&none, &zero);
        assert_eq!((limits.max_instances, limits.log_bytes), (1, 0));
    }
}
