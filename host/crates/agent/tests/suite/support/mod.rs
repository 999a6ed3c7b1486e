//! What the tests share: an agent over fakes that a test talks with, a model that plays turns, tools, plugins, a person who is asked, and
//! renderings that read like a chat log.

mod chat;
mod model;
mod people;
mod plugins;
mod render;
mod store;
mod tools;

pub(crate) use chat::{Chat, Setup, key};
pub(crate) use model::{Turn, calls, fails, panics, says, says_in, says_nothing};
pub(crate) use people::{Answer, NotesTheEnd, Nothing, PanickingChannel, PanickingEvents, Sources};
pub(crate) use plugins::{Point, Seen, Verdict, seen};
pub(crate) use store::{Fault, Op};
pub(crate) use tools::FakeTool;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use domain::cancel::{Cancel, CancelReason};

/// What happened, in one order, whoever tells it.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<String>>>);

impl Journal {
    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Asks the run that is under way to stop.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<Mutex<Option<Cancel>>>);

impl Stop {
    pub(crate) fn is_for(&self, cancel: Cancel) {
        *self.0.lock().unwrap() = Some(cancel);
    }

    pub(crate) fn now(&self, reason: CancelReason) {
        self.0.lock().unwrap().as_ref().expect("a run is under way").cancel(reason);
    }
}

/// Things that are under way, counted: each holds a [`Ticket`].
#[derive(Clone, Default)]
pub(crate) struct InFlight(Arc<AtomicUsize>);

pub(crate) struct Ticket(Arc<AtomicUsize>);

impl InFlight {
    pub(crate) fn ticket(&self) -> Ticket {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ticket(Arc::clone(&self.0))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
