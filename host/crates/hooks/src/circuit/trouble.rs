//! The rules of a circuit as pure functions: what a call that ended makes of the trouble of a plugin. Reads no clock, keeps nothing.
//!
//! Several handlers of a plugin share the circuit of a hook. Only a success of the handler that failed clears its faults: a healthy
//! sibling would otherwise hide a broken one for ever.

use std::time::Duration;

use domain::PluginId;
use domain::circuit::{CircuitRecord, OpenCircuit};

use super::{CircuitSettings, MAX_COOLDOWN};

/// Faults that stand against a plugin at one hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    /// The handler that failed last.
    handler: String,
    /// Faults in a row.
    failures: u32,
    /// The last one.
    cause: String,
    /// How long the last opening lasts; zero: it has not opened since the plugin was healthy.
    cooldown: Duration,
    open: Option<OpenCircuit>,
}

/// What a call changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// A fault was counted, or some were forgotten.
    Counted,
    /// It opened.
    Opened {
        /// What opened it.
        history: String,
        /// How long.
        cooldown: Duration,
    },
    /// It closed.
    Closed,
}

impl Trouble {
    /// A handler failed. A call that began before the circuit opened, and is not the probe, changes nothing any more.
    pub(super) fn after_fault(
        before: Option<Self>,
        handler: &str,
        cause: String,
        is_probe: bool,
        settings: CircuitSettings,
        now: u64,
    ) -> (Option<Self>, Option<Change>) {
        let mut trouble = match before {
            Some(before) if before.is_open() && !is_probe => return (Some(before), None),
            Some(before) => before,
            None => Self { handler: String::new(), failures: 0, cause: String::new(), cooldown: Duration::ZERO, open: None },
        };
        trouble.failures = trouble.failures.saturating_add(1);
        handler.clone_into(&mut trouble.handler);
        trouble.cause = cause;
        if !is_probe && trouble.failures < settings.failures {
            return (Some(trouble), Some(Change::Counted));
        }
        trouble.cooldown = (trouble.cooldown * 2).clamp(settings.cooldown, MAX_COOLDOWN);
        trouble.open = Some(OpenCircuit { since: now, probe_at: now.saturating_add(millis(trouble.cooldown)) });
        let change = Change::Opened { history: trouble.history(), cooldown: trouble.cooldown };
        (Some(trouble), Some(change))
    }

    /// A handler succeeded. A success of another handler than the one that failed lets the plugin be called again, and the next fault
    /// opens the circuit for longer.
    pub(super) fn after_success(
        before: Option<Self>,
        handler: &str,
        is_probe: bool,
        settings: CircuitSettings,
    ) -> (Option<Self>, Option<Change>) {
        let Some(mut trouble) = before else { return (None, None) };
        let is_recovered = trouble.handler == handler;
        match (trouble.is_open(), is_probe) {
            (true, false) => (Some(trouble), None),
            (true, true) if is_recovered => (None, Some(Change::Closed)),
            (true, true) => {
                trouble.open = None;
                trouble.failures = settings.failures.saturating_sub(1);
                (Some(trouble), Some(Change::Closed))
            }
            (false, _) if is_recovered => (None, Some(Change::Counted)),
            (false, _) => (Some(trouble), None),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a call may be let through.
    pub(super) fn is_due(&self, now: u64) -> bool {
        self.open.is_some_and(|open| open.is_due(now))
    }

    /// What opened it.
    pub(super) fn history(&self) -> String {
        let faults = if self.failures == 1 { "a fault".to_owned() } else { format!("{} faults in a row", self.failures) };
        format!("{faults}, the last one: {}", self.cause)
    }

    /// When it is tried again.
    pub(super) fn next_try(&self, now: u64) -> String {
        let left = self.open.map_or(0, |open| open.probe_at.saturating_sub(now));
        if left == 0 {
            "it is being tried again now".to_owned()
        } else {
            format!("it is tried again in {}", time(Duration::from_millis(left)))
        }
    }

    pub(super) fn to_record(&self, plugin: PluginId, hook: String, component: String) -> CircuitRecord {
        CircuitRecord {
            plugin,
            hook,
            component,
            handler: self.handler.clone(),
            failures: self.failures,
            cause: self.cause.clone(),
            cooldown_ms: millis(self.cooldown),
            open: self.open,
        }
    }

    pub(super) fn from_record(record: CircuitRecord) -> Self {
        Self {
            handler: record.handler,
            failures: record.failures,
            cause: record.cause,
            cooldown: Duration::from_millis(record.cooldown_ms),
            open: record.open,
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A time for people: whole seconds where there is at least one.
pub(super) fn time(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{} s", time.as_millis().div_ceil(1000))
    }
}
