//! `plugins.entries.<id>.limits` and `plugins.engine`: how much plugins may use. The numbers of the host that count where nothing is said
//! here are those of the plugin host, which this crate does not know; a test of the binary compares keys and bounds.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Bytes, Milliseconds, Quantity};

/// `plugins.entries.<id>.limits`. Absent: what the manifest asks for, up to the host's limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PluginLimits {
    /// Memory of one instance, all its linear memories together, in bytes or as text such as "64mb".
    #[schemars(extend("default" = 64 << 20))]
    pub memory_bytes: Option<Quantity<Bytes, { 64 << 10 }, { 4 << 30 }>>,
    /// Memory of all instances of the plugin together, in bytes or as text such as "512mb".
    #[schemars(extend("default" = 512 << 20))]
    pub total_memory_bytes: Option<Quantity<Bytes, { 64 << 10 }, { 64 << 30 }>>,
    /// Linear memories of one instance.
    #[schemars(range(min = 1, max = 4), extend("default" = 4))]
    pub memories: Option<u64>,
    /// Tables of one instance.
    #[schemars(range(min = 0, max = 16), extend("default" = 16))]
    pub tables: Option<u64>,
    /// Elements of all tables of one instance.
    #[schemars(range(min = 0, max = 65_536), extend("default" = 20_000))]
    pub table_elements: Option<u64>,
    /// Core modules that one instance may consist of.
    #[schemars(range(min = 1, max = 32), extend("default" = 32))]
    pub core_instances: Option<u64>,
    /// Instances that may exist at the same time, in all runs together. More calls wait, within their budget.
    #[schemars(range(min = 1, max = 1_000), extend("default" = 32))]
    pub max_instances: Option<u64>,
    /// Handles to streams, requests, files and the like that one instance may hold.
    #[schemars(range(min = 1, max = 4_096), extend("default" = 256))]
    pub handles: Option<u64>,
    /// Data that the plugin may hand over in one answer or one call of the host, in bytes or as text such as "1mb".
    #[schemars(extend("default" = 8 << 20))]
    pub output_bytes: Option<Quantity<Bytes, 1, { 64 << 20 }>>,
    /// Log text of one call, in bytes or as text such as "64kb". What is above is dropped and counted. 0: none.
    #[schemars(extend("default" = 64 << 10))]
    pub log_bytes_per_call: Option<Quantity<Bytes, 0, { 16 << 20 }>>,
    /// Log records of one call. 0: none.
    #[schemars(range(min = 0, max = 10_000), extend("default" = 64))]
    pub log_records_per_call: Option<u64>,
    /// Log text of all calls within a minute, in bytes or as text such as "1mb". 0: none.
    #[schemars(extend("default" = 1 << 20))]
    pub log_bytes_per_minute: Option<Quantity<Bytes, 0, { 1 << 30 }>>,
    /// End of what a call printed that is told when it fails, in bytes. 0: none.
    #[schemars(extend("default" = 400))]
    pub output_tail_bytes: Option<Quantity<Bytes, 0, 4_096>>,
    /// Longest call of one of its tools, in milliseconds or as text such as "30s".
    #[schemars(extend("default" = 600_000))]
    pub tool_ms: Option<Quantity<Milliseconds, 1, 3_600_000>>,
    /// Size of its component, in bytes or as text such as "12mb".
    #[schemars(extend("default" = 32 << 20))]
    pub component_bytes: Option<Quantity<Bytes, 1, { 64 << 20 }>>,
    /// Longest compilation of it, in milliseconds or as text such as "60s".
    #[schemars(extend("default" = 120_000))]
    pub compile_ms: Option<Quantity<Milliseconds, 1, 3_600_000>>,
    /// Memory of the process that compiles it, in bytes or as text such as "1gb".
    #[schemars(extend("default" = 2_u64 << 30))]
    pub compile_memory_bytes: Option<Quantity<Bytes, { 64 << 20 }, { 64 << 30 }>>,
}

/// `plugins.engine`: what is the same for all plugins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PluginEngine {
    /// Instances of all plugins in all runs that may live at the same time.
    #[schemars(range(min = 1, max = 10_000), extend("default" = 256))]
    pub live_instances: Option<u32>,
    /// Time after which a plugin that computes gives way to others, and the most by which it outlives its deadline, in milliseconds.
    #[schemars(extend("default" = 5))]
    pub tick_ms: Option<Quantity<Milliseconds, 1, 50>>,
    /// Stack of a plugin's code, in bytes or as text such as "1mb".
    #[schemars(extend("default" = 512 << 10))]
    pub stack_bytes: Option<Quantity<Bytes, { 64 << 10 }, { 8 << 20 }>>,
}
