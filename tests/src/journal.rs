//! Everything that the edges of a host see, in one list and in the order in which they saw it. So a test can say what came first.

use std::sync::Arc;

use domain::approval::PendingApproval;
use domain::event::{EventSink, RunEvent};
use domain::model::{ModelRef, ModelRequest};
use domain::ports::Outbound;
use hooks::record::{HandlerRecord, RecordSink};
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::Notify;

/// One thing that an edge saw.
#[derive(Debug, Clone)]
pub enum Entry {
    /// The call of a hook handler ended.
    Handled(HandlerRecord),
    /// The host emitted an event of a run.
    Emitted(RunEvent),
    /// The host looked for the client of a model.
    Resolved(ModelRef),
    /// A request reached a model.
    Requested(ModelRequest),
    /// The probe tool ran with these parameters.
    Executed(Map<String, Value>),
    /// A person was asked.
    Asked(PendingApproval),
    /// The channel was given a message; false: it refused it.
    Sent(Outbound, bool),
}

/// The list. Cheap to clone; all clones are one list.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    entries: Mutex<Vec<Entry>>,
    grown: Notify,
}

impl Journal {
    pub(crate) fn add(&self, entry: Entry) {
        self.shared.entries.lock().push(entry);
        self.shared.grown.notify_waiters();
    }

    /// All entries so far.
    pub fn entries(&self) -> Vec<Entry> {
        self.shared.entries.lock().clone()
    }

    /// What `look` finds in each entry, in order.
    pub fn find<T>(&self, look: impl FnMut(&Entry) -> Option<T>) -> Vec<T> {
        self.shared.entries.lock().iter().filter_map(look).collect()
    }

    /// Places of the entries that fit.
    pub fn places(&self, mut fits: impl FnMut(&Entry) -> bool) -> Vec<usize> {
        let entries = self.shared.entries.lock();
        entries.iter().enumerate().filter(|(_, entry)| fits(entry)).map(|(place, _)| place).collect()
    }

    /// Waits until an entry fits.
    pub async fn wait_for(&self, mut fits: impl FnMut(&Entry) -> bool) {
        self.wait_until(|entries| entries.iter().any(&mut fits)).await;
    }

    /// Waits until the list is as wanted.
    pub async fn wait_until(&self, mut wanted: impl FnMut(&[Entry]) -> bool) {
        loop {
            let grown = self.shared.grown.notified();
            tokio::pin!(grown);
            // Registered before the look, so that nothing is missed between the two.
            grown.as_mut().enable();
            if wanted(&self.shared.entries.lock()) {
                return;
            }
            grown.await;
        }
    }
}

impl RecordSink for Journal {
    fn handled(&self, record: HandlerRecord) {
        self.add(Entry::Handled(record));
    }
}

impl EventSink for Journal {
    fn emit(&self, event: RunEvent) {
        self.add(Entry::Emitted(event));
    }
}
