//! The circuits of plugins as an operator sees them: which plugin failed where so often that it is not called there, why, and until when.

use std::sync::Arc;
use std::time::Duration;

use domain::circuit::{CircuitRecord, CircuitStore as _};
use domain::ports::Clock as _;
use hooks::fault::one_line as clean;
use hooks::{FailurePolicy, HookId};
use plugin_host::plan::PluginReport;
use serde_json::{Value, json};
use sessions::{SqlitePluginKv, StateDir};

use super::describe::MAX_WORDS;
use crate::commands::Context;
use crate::system::SystemClock;
use crate::terminal::Output;

/// What was kept of all circuits, and the time that it is compared with.
pub(super) struct Circuits {
    records: Vec<CircuitRecord>,
    now: u64,
}

/// The store that keeps them. Nothing is made where there is none yet.
pub(super) fn store(context: &Context) -> SqlitePluginKv {
    SqlitePluginKv::new(&StateDir::new(context.locations.state_dir()), Arc::new(SystemClock))
}

impl Circuits {
    /// Reads them. A store that cannot be read is told; everything else about plugins can be shown without it.
    pub(super) async fn load(context: &Context, output: &Output) -> Self {
        let store = store(context);
        let records = store.load().await.unwrap_or_else(|error| {
            output.warning(format!("circuits of plugins cannot be shown: {error}"));
            Vec::new()
        });
        store.close().await;
        Self { records, now: SystemClock.now_ms() }
    }

    /// Those of one plugin. What was kept of another component does not count any more.
    pub(super) fn of(&self, report: &PluginReport) -> Vec<Circuit> {
        let digest = report.component.as_ref().map(|component| component.digest());
        let is_own =
            |record: &&CircuitRecord| report.id.as_ref() == Some(&record.plugin) && digest.as_ref() == Some(&record.component);
        let known = |record: &CircuitRecord| {
            let hook = HookId::from_name(&record.hook)?;
            Some(Circuit { hook, record: record.clone(), now: self.now })
        };
        self.records.iter().filter(is_own).filter_map(known).collect()
    }
}

/// The circuit of one plugin at one hook, which has counted faults.
pub(super) struct Circuit {
    hook: HookId,
    record: CircuitRecord,
    now: u64,
}

impl Circuit {
    pub(super) fn is_open(&self) -> bool {
        self.record.open.is_some()
    }

    /// Whether an operation is blocked because of it.
    pub(super) fn blocks(&self) -> bool {
        self.is_open() && self.hook.row().policy == FailurePolicy::Closed
    }

    fn state(&self) -> &'static str {
        match self.record.open {
            None => "closed",
            Some(open) if open.is_due(self.now) => "halfOpen",
            Some(_) => "open",
        }
    }

    pub(super) fn as_json(&self) -> Value {
        json!({
            "hook": self.hook.name(),
            "state": self.state(),
            "failures": self.record.failures,
            "handler": self.record.handler,
            "cause": clean(&self.record.cause, MAX_WORDS),
            "openSince": self.record.open.map(|open| open.since),
            "probeAt": self.record.open.map(|open| open.probe_at),
        })
    }

    /// What an open one means, and how to close it; none: it is closed.
    pub(super) fn remark(&self) -> Option<String> {
        let open = self.record.open?;
        let (plugin, hook) = (&self.record.plugin, self.hook);
        let consequence = if self.blocks() { "blocks everything" } else { "is left out" };
        let next = match open.is_due(self.now) {
            true => "the next call tries it again".to_owned(),
            false => format!("it is tried again in {}", time(open.probe_at - self.now)),
        };
        Some(format!(
            "plugin `{plugin}` {consequence} at {hook}: its circuit is open after {} faults in a row, the last one: {}; {next}, \
             or after `creel plugins reset {plugin} --hook {hook}`",
            self.record.failures,
            clean(&self.record.cause, MAX_WORDS)
        ))
    }
}

/// A time in whole seconds, or minutes where it is long.
fn time(ms: u64) -> String {
    let seconds = Duration::from_millis(ms).as_millis().div_ceil(1000);
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}
