//! The circuit of a plugin at one hook: after some faults in a row it opens, and the plugin is not called there until a cool-down is
//! over; then one call is let through, and what becomes of it decides. What an open circuit means is the hook's failure policy: a
//! fail-open handler is left out, a fail-closed one blocks, because an open circuit must not open a hole (plugin-hooks 1.8).
//!
//! A call of a healthy plugin costs two loads of one flag. Nothing is locked while a guest runs, and a store is written only when the
//! trouble of a plugin changes: never by a call of a healthy plugin, never by one that is left out.

mod set;
mod trouble;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::PluginId;
use domain::cancel::Cancel;
use domain::circuit::{CircuitRecord, CircuitStore};
use domain::ports::Clock;

use crate::catalogue::{FailurePolicy, HookId};
use crate::fault::{Fault, FaultKind, one_line};
use trouble::{Change, Trouble};

pub use set::Circuits;

/// Longest cool-down; it doubles up to this each time that a plugin is tried in vain. Ten minutes: short enough that a service that came
/// back is used again before anybody has to look for the reason.
pub const MAX_COOLDOWN: Duration = Duration::from_secs(600);

/// Longest cause that is kept and shown again, in bytes.
const MAX_CAUSE_BYTES: usize = 240;

/// When circuits open, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircuitSettings {
    /// Faults in a row that open a circuit.
    pub failures: u32,
    /// How long the first opening lasts.
    pub cooldown: Duration,
}

impl Default for CircuitSettings {
    /// Five faults: a burst of three, such as a service that is restarted under a plugin and its retries, does not switch the plugin off,
    /// and one that hangs costs a conversation five budgets and no more. A minute: about as long as such a restart takes.
    fn default() -> Self {
        Self { failures: 5, cooldown: Duration::from_secs(60) }
    }
}

/// What an operator says differently for one plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CircuitOverride {
    /// `failures`.
    pub failures: Option<u32>,
    /// `cooldownMs`.
    pub cooldown: Option<Duration>,
}

impl CircuitOverride {
    /// This, and where it says nothing, the other.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { failures: self.failures.or(other.failures), cooldown: self.cooldown.or(other.cooldown) }
    }

    /// The settings that count.
    #[must_use]
    pub fn over(self, all: CircuitSettings) -> CircuitSettings {
        CircuitSettings {
            failures: self.failures.unwrap_or(all.failures).max(1),
            cooldown: self.cooldown.unwrap_or(all.cooldown).clamp(Duration::from_millis(1), MAX_COOLDOWN),
        }
    }
}

/// Clock and store of all circuits.
pub(crate) struct Ports {
    clock: Arc<dyn Clock>,
    store: Option<Arc<dyn CircuitStore>>,
}

/// The circuit of a plugin at one hook.
pub(crate) struct Circuit {
    plugin: PluginId,
    hook: HookId,
    component: String,
    settings: CircuitSettings,
    /// Whether there is any trouble; read without the lock.
    is_troubled: AtomicBool,
    state: Mutex<State>,
    /// Held while the store is written, so that the last state is what stays there.
    saving: tokio::sync::Mutex<()>,
    ports: Arc<Ports>,
}

#[derive(Default)]
struct State {
    trouble: Option<Trouble>,
    /// Whether the one call that tries it is on its way.
    is_probing: bool,
}

/// Leave to make one call. Dropped without [`Pass::ended`] the call counts for nothing, and another may be the probe.
pub(crate) struct Pass<'c> {
    circuit: &'c Circuit,
    is_probe: bool,
}

impl Circuit {
    fn new(plugin: PluginId, hook: HookId, component: String, settings: CircuitSettings, ports: Arc<Ports>) -> Self {
        Self {
            plugin,
            hook,
            component,
            settings,
            is_troubled: AtomicBool::new(false),
            state: Mutex::default(),
            saving: tokio::sync::Mutex::default(),
            ports,
        }
    }

    /// Takes up what was kept.
    fn resume(self, trouble: Trouble) -> Self {
        self.is_troubled.store(true, Ordering::Relaxed);
        self.state().trouble = Some(trouble);
        self
    }

    /// Asks for leave to make a call.
    ///
    /// # Errors
    /// A fault of kind [`FaultKind::Circuit`] while it is open.
    pub(crate) fn admit(&self) -> Result<Pass<'_>, Fault> {
        if !self.is_troubled.load(Ordering::Relaxed) {
            return Ok(Pass { circuit: self, is_probe: false });
        }
        let now = self.ports.clock.now_ms();
        let mut state = self.state();
        match &state.trouble {
            Some(trouble) if trouble.is_open() => {
                if state.is_probing || !trouble.is_due(now) {
                    return Err(self.refusal(trouble, now));
                }
                state.is_probing = true;
                Ok(Pass { circuit: self, is_probe: true })
            }
            _ => Ok(Pass { circuit: self, is_probe: false }),
        }
    }

    /// What opened it, when it is tried again, and how to close it now.
    fn refusal(&self, trouble: &Trouble, now: u64) -> Fault {
        let (plugin, hook) = (&self.plugin, self.hook);
        let text = format!(
            "after {}; {}, or after `creel plugins reset {plugin} --hook {hook}`",
            trouble.history(),
            trouble.next_try(now)
        );
        Fault::new(FaultKind::Circuit, text)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a call into account; what changed, if anything did.
    fn note(&self, handler: &str, fault: Option<&Fault>, is_probe: bool) -> Option<Change> {
        let mut state = self.state();
        if is_probe {
            state.is_probing = false;
        }
        let trouble = state.trouble.take();
        let (trouble, change) = match fault {
            None => Trouble::after_success(trouble, handler, is_probe, self.settings),
            Some(fault) => {
                let cause = one_line(&fault.to_string(), MAX_CAUSE_BYTES);
                Trouble::after_fault(trouble, handler, cause, is_probe, self.settings, self.ports.clock.now_ms())
            }
        };
        state.trouble = trouble;
        self.is_troubled.store(state.trouble.is_some(), Ordering::Relaxed);
        change
    }

    /// One line for each opening and each closing; none for what lies between.
    fn tell(&self, change: &Change) {
        let (plugin, hook) = (&self.plugin, self.hook);
        match change {
            Change::Counted => {}
            Change::Opened { history, cooldown } => {
                let meanwhile = match hook.row().policy {
                    FailurePolicy::Closed => "what it guards is blocked",
                    FailurePolicy::Open | FailurePolicy::OpenOrPlaceholder => "it is left out",
                };
                tracing::warn!(
                    %hook, %plugin,
                    "circuit opened after {history}: {meanwhile} until it is tried again in {} (creel plugins reset {plugin} --hook {hook})",
                    trouble::time(*cooldown)
                );
            }
            Change::Closed => tracing::info!(%hook, %plugin, "circuit closed: the plugin works again"),
        }
    }

    /// Keeps the present state. A store that fails costs the memory across restarts and nothing else.
    pub(crate) async fn save(&self) {
        let Some(store) = &self.ports.store else { return };
        let _turn = self.saving.lock().await;
        let record = self.state().trouble.as_ref().map(|trouble| self.record(trouble));
        let saved = match record {
            Some(record) => store.save(record).await,
            None => store.forget(&self.plugin, Some(self.hook.name())).await.map(drop),
        };
        if let Err(error) = saved {
            tracing::warn!(hook = %self.hook, plugin = %self.plugin, "the state of a circuit is not kept across restarts: {error}");
        }
    }

    fn record(&self, trouble: &Trouble) -> CircuitRecord {
        trouble.to_record(self.plugin.clone(), self.hook.name().to_owned(), self.component.clone())
    }
}

impl<'c> Pass<'c> {
    /// Says how the call ended; gives the circuit if that changed it and it has to be saved. A fault of a run that was asked to stop says
    /// nothing about the plugin.
    pub(crate) fn ended(mut self, handler: &str, fault: Option<&Fault>, cancel: &Cancel) -> Option<&'c Circuit> {
        match fault {
            None if !self.circuit.is_troubled.load(Ordering::Relaxed) => return None,
            Some(fault) if !fault.counts() || cancel.is_cancelled() => return None,
            _ => {}
        }
        let was_probe = std::mem::take(&mut self.is_probe);
        let change = self.circuit.note(handler, fault, was_probe)?;
        self.circuit.tell(&change);
        Some(self.circuit)
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if self.is_probe {
            self.circuit.state().is_probing = false;
        }
    }
}

#[cfg(test)]
mod tests;
