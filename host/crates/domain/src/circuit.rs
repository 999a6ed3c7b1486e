//! What is kept of the circuit of a plugin at one hook between processes, and the port behind which it is kept. When a circuit opens and
//! closes is the business of the hooks; hooks are plain names here.

use async_trait::async_trait;

use crate::PluginId;
use crate::ports::StateError;

/// The trouble of a plugin at one hook. A plugin without trouble has no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircuitRecord {
    /// The plugin.
    pub plugin: PluginId,
    /// Name of the hook.
    pub hook: String,
    /// SHA-256 of its component in hex digits: a record of another component says nothing about this one.
    pub component: String,
    /// Name of the handler that failed last; empty: it has none.
    pub handler: String,
    /// Faults in a row.
    pub failures: u32,
    /// The last fault, one line.
    pub cause: String,
    /// How long the last opening lasts, in milliseconds; 0: it has not opened since it was healthy.
    pub cooldown_ms: u64,
    /// When it opened and when it is tried again; none: it is closed.
    pub open: Option<OpenCircuit>,
}

/// The times of an open circuit, milliseconds since 1970-01-01 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenCircuit {
    /// When it opened.
    pub since: u64,
    /// When one call is let through to see whether the plugin works again.
    pub probe_at: u64,
}

impl OpenCircuit {
    /// Whether a call may be let through: the cool-down is over, or the clock was set back so far that its end says nothing.
    pub fn is_due(&self, now: u64) -> bool {
        now >= self.probe_at || now < self.since
    }
}

/// Keeps circuits, so that a host that lives for one turn remembers them.
#[async_trait]
pub trait CircuitStore: Send + Sync {
    /// All records, by plugin and hook.
    async fn load(&self) -> Result<Vec<CircuitRecord>, StateError>;

    /// Keeps a record in place of the one before.
    async fn save(&self, record: CircuitRecord) -> Result<(), StateError>;

    /// Forgets the records of a plugin, or the one of a hook of it; how many there were.
    async fn forget(&self, plugin: &PluginId, hook: Option<&str>) -> Result<u64, StateError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_set_back_does_not_keep_a_circuit_open() {
        let open = OpenCircuit { since: 1000, probe_at: 1060 };
        assert_eq!([1000, 1059, 1060, 999, 0].map(|now| open.is_due(now)), [false, false, true, true, true]);
    }
}
