//! How much a guest may use: one table with a row for each limit that differs from plugin to plugin (its key in `limits` of a manifest
//! and in `plugins.entries.<id>.limits`, its default with the reason, how far an operator can go), and named constants for what is the
//! same for all. Nothing here counts, that is the work of `limiter` and of the capabilities.

use std::time::Duration;

use serde::Deserialize;

/// Most linear memory that an operator can allow one instance, in bytes: what a 32-bit guest can address.
pub const MAX_MEMORY_BYTES: u64 = 4 << 30;

/// Most core instances of one component that an operator can allow; the pool has room for that many in each live instance.
pub const MAX_CORE_INSTANCES: u64 = 32;

/// Most memories of one instance that an operator can allow.
pub const MAX_MEMORIES: u64 = 4;

/// Most tables of one instance that an operator can allow.
pub const MAX_TABLES: u64 = 16;

/// Most table elements that an operator can allow.
pub const MAX_TABLE_ELEMENTS: u64 = 65_536;

/// Random bytes that one host call may ask for.
pub const RANDOM_BYTES: u64 = 64 << 10;

/// Longest call of `list-tools` while a plugin is loaded.
pub const LIST_BUDGET: Duration = Duration::from_secs(5);

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Things.
    Count,
    /// Milliseconds.
    Milliseconds,
}

/// One limit that can differ from plugin to plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitRow {
    /// Its key in `limits` of a manifest, and in `plugins.entries.<id>.limits`.
    pub key: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// What counts if nobody names a number; a manifest cannot ask for more.
    pub default: u64,
    /// Smallest number that counts.
    pub min: u64,
    /// Largest number that an operator can name.
    pub max: u64,
}

macro_rules! limits {
    ($($(#[$doc:meta])* $field:ident $key:literal $unit:ident $default:expr, $min:literal ..= $max:expr;)*) => {
        /// Limits of one plugin.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct Limits {
            $($(#[$doc])* pub $field: u64,)*
        }

        /// Limits that a manifest or an operator names. Absent: not named.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
        #[serde(default)]
        pub struct RequestedLimits {
            $($(#[$doc])* #[serde(rename = $key)] pub $field: Option<u64>,)*
        }

        /// Every limit, in the order in which they are shown.
        pub const ROWS: &[LimitRow] =
            &[$(LimitRow { key: $key, unit: Unit::$unit, default: $default, min: $min, max: $max },)*];

        impl Default for Limits {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl Limits {
            /// The limits of one plugin: the operator's number, else the manifest's up to the host's default (a plugin may ask for
            /// less, and cannot give itself more), else the default.
            pub fn resolve(manifest: &RequestedLimits, operator: &RequestedLimits) -> Self {
                Self { $($field: match (operator.$field, manifest.$field) {
                    (Some(number), _) => number.clamp($min, $max),
                    (None, Some(asked)) => asked.clamp($min, $default),
                    (None, None) => $default,
                },)* }
            }

            /// Each row with its number.
            pub fn rows(&self) -> impl Iterator<Item = (&'static LimitRow, u64)> {
                ROWS.iter().zip([$(self.$field,)*])
            }
        }
    };
}

limits! {
    /// Linear memory of one instance, all its memories together, in bytes. A Rust plugin lives in 2 MiB, a JavaScript runtime in 20 to
    /// 40.
    memory_bytes "memoryBytes" Bytes 64 << 20, 65_536 ..= MAX_MEMORY_BYTES;
    /// Linear memory of all instances of the plugin together, idle ones too, in bytes: what a plugin that grows in every session at
    /// once can take from the host.
    total_memory_bytes "totalMemoryBytes" Bytes 512 << 20, 65_536 ..= 64 << 30;
    /// Memories of one instance: the guest's own, one of an adapter, and as many again.
    memories "memories" Count MAX_MEMORIES, 1 ..= MAX_MEMORIES;
    /// Tables of one instance: adapters bring one or two each.
    tables "tables" Count MAX_TABLES, 0 ..= MAX_TABLES;
    /// Elements of all tables of one instance, eight bytes each: debug builds of large runtimes have about ten thousand.
    table_elements "tableElements" Count 20_000, 0 ..= MAX_TABLE_ELEMENTS;
    /// Core instances of one component: language runtimes and their adapters come to about ten.
    core_instances "coreInstances" Count MAX_CORE_INSTANCES, 1 ..= MAX_CORE_INSTANCES;
    /// Instances that may exist at the same time, in all runs together. More calls wait, within their budget.
    max_instances "maxInstances" Count 32, 1 ..= 1_000;
    /// Handles to resources (streams, pollables, …) that one instance may hold.
    handles "handles" Count 256, 1 ..= 4_096;
    /// Data that a guest may hand over in one host call or one answer, in bytes: a transcript row with a few pictures in it. It bounds
    /// what the host allocates because a guest says so.
    output_bytes "outputBytes" Bytes 8 << 20, 1 ..= 64 << 20;
    /// Text that one call may write to the log, in bytes; 0: none.
    log_bytes_per_call "logBytesPerCall" Bytes 64 << 10, 0 ..= 16 << 20;
    /// Log records of one call; 0: none. A call that needs more should say less.
    log_records_per_call "logRecordsPerCall" Count 64, 0 ..= 10_000;
    /// Text that all calls of the plugin together may write to the log within a minute, in bytes; 0: none.
    log_bytes_per_minute "logBytesPerMinute" Bytes 1 << 20, 0 ..= 1 << 30;
    /// End of what a call printed that is told when the call fails, in bytes; 0: none. A panic says there what happened.
    output_tail_bytes "outputTailBytes" Bytes 400, 0 ..= 4_096;
    /// Longest call of one of its tools, in milliseconds: the safety ceiling of hooks without a budget (plugin-hooks 1.7).
    tool_ms "toolMs" Milliseconds 600_000, 1 ..= 3_600_000;
    /// Size of the component, in bytes. A JavaScript plugin has 12 MB.
    component_bytes "componentBytes" Bytes 32 << 20, 1 ..= 64 << 20;
    /// Longest compilation, in milliseconds. A JavaScript plugin takes some 20 s on a small machine.
    compile_ms "compileMs" Milliseconds 120_000, 1 ..= 3_600_000;
    /// Memory of the process that compiles it, in bytes.
    compile_memory_bytes "compileMemoryBytes" Bytes 2 << 30, 67_108_864 ..= 64 << 30;
}

impl Limits {
    /// Longest call of one of its tools.
    pub fn tool_budget(&self) -> Duration {
        Duration::from_millis(self.tool_ms)
    }

    /// Longest compilation.
    pub fn compile_budget(&self) -> Duration {
        Duration::from_millis(self.compile_ms)
    }
}

/// A limit as a size in memory.
pub(crate) fn size(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
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
        let default = Limits::default().memory_bytes;
        for (manifest, operator, expected) in [
            (none, none, default),
            (memory(1 << 20), none, 1 << 20),
            (memory(1 << 40), none, default),
            (memory(1 << 20), memory(128 << 20), 128 << 20),
            (none, memory(u64::MAX), MAX_MEMORY_BYTES),
        ] {
            assert_eq!(Limits::resolve(&manifest, &operator).memory_bytes, expected);
        }
        let zero = RequestedLimits { max_instances: Some(0), log_bytes_per_call: Some(0), ..none };
        let limits = Limits::resolve(&none, &zero);
        assert_eq!((limits.max_instances, limits.log_bytes_per_call), (1, 0));
    }

    #[test]
    fn defaults_lie_within_their_bounds_and_rows_stand_with_their_numbers() {
        for (row, number) in Limits::default().rows() {
            assert_eq!(number, row.default, "{}", row.key);
            assert!((row.min..=row.max).contains(&row.default), "{}", row.key);
        }
    }
}
