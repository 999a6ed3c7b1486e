//! The circuits of a host: one for each plugin and hook, the same one for every registry that is built of the same component, and what
//! an earlier process left of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use domain::PluginId;
use domain::circuit::{CircuitRecord, CircuitStore};
use domain::ports::Clock;
use tokio::time::Instant;

use super::trouble::{Trouble, time};
use super::{Circuit, CircuitSettings, Ports};
use crate::access::Access;
use crate::catalogue::HookId;

/// The circuits of a host; clones share them.
#[derive(Clone)]
pub struct Circuits(Arc<Inner>);

struct Inner {
    settings: CircuitSettings,
    ports: Arc<Ports>,
    known: Mutex<BTreeMap<(PluginId, HookId), Known>>,
}

/// A circuit that is used, or what was kept of one.
enum Known {
    Live(Arc<Circuit>),
    Kept(CircuitRecord),
}

impl Circuits {
    /// Circuits that are forgotten with the process.
    pub fn in_memory(settings: CircuitSettings) -> Self {
        Self::new(settings, Ports { clock: Arc::new(Uptime(Instant::now())), store: None }, Vec::new())
    }

    /// Circuits that go on from what an earlier process left. A store that cannot be read leaves them closed: a handler that fails blocks
    /// or is skipped then as it was at first, so nothing goes unguarded.
    pub async fn kept(settings: CircuitSettings, store: Arc<dyn CircuitStore>, clock: Arc<dyn Clock>) -> Self {
        let records = store.load().await.unwrap_or_else(|error| {
            tracing::warn!("circuits of plugins start closed, because what is kept of them cannot be read: {error}");
            Vec::new()
        });
        Self::new(settings, Ports { clock, store: Some(store) }, records)
    }

    fn new(settings: CircuitSettings, ports: Ports, records: Vec<CircuitRecord>) -> Self {
        // A hook that this version does not know has no handlers here.
        let kept = records.into_iter().filter_map(|record| {
            let hook = HookId::from_name(&record.hook)?;
            Some(((record.plugin.clone(), hook), Known::Kept(record)))
        });
        Self(Arc::new(Inner { settings, ports: Arc::new(ports), known: Mutex::new(kept.collect()) }))
    }

    /// The circuit of a plugin at a hook. Faults of another component than the present one are forgotten.
    pub(crate) fn circuit(&self, plugin: &PluginId, hook: HookId, access: &Access) -> Arc<Circuit> {
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (plugin.clone(), hook);
        let settings = access.circuit.over(self.0.settings);
        let kept = match known.remove(&key) {
            Some(Known::Live(live)) if live.component == access.component && live.settings == settings => {
                known.insert(key, Known::Live(Arc::clone(&live)));
                return live;
            }
            Some(Known::Live(live)) => live.state().trouble.as_ref().map(|trouble| live.record(trouble)),
            Some(Known::Kept(record)) => Some(record),
            None => None,
        };
        let circuit = Circuit::new(plugin.clone(), hook, access.component.clone(), settings, Arc::clone(&self.0.ports));
        let circuit = Arc::new(match kept.filter(|record| record.component == access.component) {
            Some(record) => self.resumed(circuit, record),
            None => circuit,
        });
        known.insert(key, Known::Live(Arc::clone(&circuit)));
        circuit
    }

    /// Who follows what happens step by step is told of an opening that an earlier process told as a warning.
    fn resumed(&self, circuit: Circuit, record: CircuitRecord) -> Circuit {
        if let Some(open) = record.open {
            let left = open.probe_at.saturating_sub(self.0.ports.clock.now_ms());
            tracing::debug!(
                hook = %circuit.hook, plugin = %circuit.plugin,
                "circuit still open: tried again in {}", time(std::time::Duration::from_millis(left))
            );
        }
        circuit.resume(Trouble::from_record(record))
    }
}

impl fmt::Debug for Circuits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Circuits").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}

/// Time since the circuits were made, where nothing is kept and so no calendar is needed.
struct Uptime(Instant);

impl Clock for Uptime {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
