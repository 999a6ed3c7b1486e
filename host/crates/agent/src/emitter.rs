//! Numbers the events of one run and hands them to the sink. The first event is `lifecycle/start`, the last one its end; nothing is
//! emitted after it (agent-loop 12.4.1).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::event::{EventData, EventSink, Lifecycle, RunEvent};
use domain::ports::Clock;
use domain::{AgentId, RunId, SessionId, SessionKey};

/// The events of one run.
pub struct Emitter {
    sink: Arc<dyn EventSink>,
    clock: Arc<dyn Clock>,
    run_id: RunId,
    session_key: SessionKey,
    session_id: SessionId,
    agent_id: AgentId,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seq: u64,
    ended: bool,
}

impl Emitter {
    /// No event yet.
    pub fn new(
        sink: Arc<dyn EventSink>,
        clock: Arc<dyn Clock>,
        run_id: RunId,
        session_key: SessionKey,
        session_id: SessionId,
        agent_id: AgentId,
    ) -> Self {
        Self { sink, clock, run_id, session_key, session_id, agent_id, state: Mutex::new(State::default()) }
    }

    /// Emits one event; after the end of the run it is dropped.
    pub fn emit(&self, data: EventData) {
        // Numbering and handing over are one step, so that parallel tools cannot swap two events.
        let mut state = self.state();
        if state.ended {
            return;
        }
        state.ended = matches!(data, EventData::Lifecycle(Lifecycle::End { .. } | Lifecycle::Error { .. }));
        state.seq += 1;
        let event = RunEvent {
            run_id: self.run_id.clone(),
            seq: state.seq,
            ts: self.clock.now_ms(),
            session_key: self.session_key.clone(),
            session_id: self.session_id.clone(),
            agent_id: self.agent_id.clone(),
            data,
        };
        // A listener never changes what it listens to (19.4), not even by a fault.
        if catch_unwind(AssertUnwindSafe(|| self.sink.emit(event))).is_err() {
            tracing::error!(run = %self.run_id, "BUG: the event sink panicked; the event is lost");
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use domain::test_support::{FakeClock, RecordedEvents};

    use super::*;

    #[test]
    fn nothing_is_emitted_after_the_end() {
        let events = Arc::new(RecordedEvents::default());
        let emitter = Emitter::new(
            Arc::clone(&events) as _,
            Arc::new(FakeClock::at(1)),
            RunId::new("r"),
            SessionKey::main(&AgentId::main()),
            SessionId::new("s"),
            AgentId::main(),
        );
        let end = || EventData::Lifecycle(Lifecycle::End { ended_at: 2, aborted: false, stop_reason: None });
        emitter.emit(EventData::Lifecycle(Lifecycle::Start { started_at: 1 }));
        for _ in 0..3 {
            emitter.emit(end());
        }
        emitter.emit(EventData::Lifecycle(Lifecycle::Start { started_at: 3 }));
        assert_eq!(events.all().iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2]);
    }
}
