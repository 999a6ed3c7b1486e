//! The agent loop: a message comes in, a prompt is assembled, a model is called, tools run, replies are shaped and delivered, and every
//! row is persisted. It knows ports only: no database, no provider, no file and no plugin runtime.
//!
//! Three choke points hold the hooks of everything that passes them, and nothing goes round them: [`append`] is the only way into a
//! transcript, [`executor`] the only way to a tool, [`deliver`] the only way out.

pub mod accept;
pub mod append;
pub mod approval;
pub mod background;
mod border;
pub mod deliver;
pub mod emitter;
pub mod error;
pub mod executor;
pub mod finalize;
mod live_text;
pub mod model_call;
pub mod outcome;
pub mod ports;
pub mod prompt;
pub mod request_view;
pub mod run;
pub mod selection;
mod services;
pub mod shape;
pub mod tool_batch;
pub mod turn;
pub mod wind_down;
mod withhold;

pub use accept::{AcceptedRun, RunRequest};
pub use outcome::{Delivery, DeliveryStatus, RunOutcome};
pub use ports::{AgentPorts, AgentSettings, PromptSources, ToolSupport};

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use domain::PluginId;

/// The agent: ports, handlers and settings of one configuration snapshot. Cheap to clone; a run keeps its clone to its end.
#[derive(Clone)]
pub struct Agent {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) ports: AgentPorts,
    pub(crate) settings: AgentSettings,
    pub(crate) background: background::Background,
    warned: Mutex<HashSet<PluginId>>,
}

impl Shared {
    /// Whether this is the first time that a plugin is warned about.
    pub(crate) fn first_warning(&self, plugin: &PluginId) -> bool {
        self.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(plugin.clone())
    }
}

impl Agent {
    /// Joins ports and settings.
    pub fn new(ports: AgentPorts, settings: AgentSettings) -> Self {
        Self {
            shared: Arc::new(Shared { ports, settings, background: background::Background::default(), warned: Mutex::default() }),
        }
    }

    /// Waits until the observers that were started and not awaited have ended, at most `limit`; those that have not are dropped.
    pub async fn settle(&self, limit: std::time::Duration) {
        let late = || match self.watching().join(", ") {
            nobody if nobody.is_empty() => "work of the host".to_owned(),
            watching => watching,
        };
        self.shared.background.settle(limit, late).await;
    }

    /// The handlers of all plugins.
    pub fn hooks(&self) -> &hooks::Dispatcher {
        &self.shared.ports.hooks
    }

    /// Whether nothing of it goes on: no run, no observer, and no clone that could begin one.
    pub fn is_over(&self) -> bool {
        self.shared.background.is_idle() && Arc::strong_count(&self.shared) == 1
    }

    /// Observers that have not ended yet: `<plugin> (<hook>)`.
    pub fn watching(&self) -> Vec<String> {
        let watching = self.shared.ports.hooks.registry().watching();
        watching.map(|(hook, plugin)| format!("{plugin} ({hook})")).collect()
    }
}
