//! Refused uses, told to the operator with the line that would allow them: once per kind and run, because a plugin that is refused
//! mostly tries again.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::PluginId;
use domain::ports::RunScope;
use hooks::fault::one_line;
use parking_lot::Mutex;

use crate::grant::Capability;

/// Longest sentence, in bytes. Parts of it may come from the guest (a host name).
const MAX_BYTES: usize = 600;

/// What one run, or one instance outside a run, was told of a plugin.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<BTreeSet<Capability>>>);

impl Told {
    /// The one of a run, kept in the run under `slot`.
    pub(crate) fn of(run: Option<&RunScope>, slot: u64) -> Self {
        let Some(run) = run else { return Self::default() };
        let told = run.take(slot).and_then(|kept| kept.downcast::<Self>().ok()).map_or_else(Self::default, |kept| *kept);
        run.keep(slot, Box::new(told.clone()));
        told
    }

    /// Tells that a use was refused; `sentence` says which line would allow it.
    pub(crate) fn refused(&self, plugin: &PluginId, surface: &str, capability: Capability, sentence: &str) {
        if self.0.lock().insert(capability) {
            let kind = capability.key();
            tracing::warn!(%plugin, hook = surface, kind, "a use was refused: {}", one_line(sentence, MAX_BYTES));
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::RunId;

    use super::*;
    use crate::test_support::Captured;

    #[test]
    fn a_kind_is_told_once_per_run() {
        let run = |id| RunScope::new(RunId::new(id));
        let (first, second) = (run("1"), run("2"));
        let plugin = PluginId::new("p");
        let captured = Captured::during(|| {
            for scope in [&first, &first, &second] {
                Told::of(Some(scope), 1).refused(&plugin, "agent_end", Capability::Http, "no\nrule");
            }
            Told::of(Some(&first), 1).refused(&plugin, "agent_end", Capability::Secrets, "no secret");
            Told::of(None, 1).refused(&plugin, "agent_end", Capability::Secrets, "no secret");
        });
        assert_eq!(captured.matches("a use was refused: no rule").count(), 2, "{captured}");
        assert_eq!(captured.matches("a use was refused: no secret").count(), 2, "{captured}");
    }
}
