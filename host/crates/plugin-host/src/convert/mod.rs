//! From the host's events to the records of the contract, and from answers back, one file per subject. Events are borrowed, never
//! cloned: a record points into the event and into an [`Arena`]. Answers are checked: what does not parse, or has the wrong shape, is
//! a fault that names the field. Nothing here calls a guest.

mod agent;
mod approval;
mod arena;
mod context;
mod gateway;
mod install;
mod json;
mod message;
mod model;
mod prompt;
pub(crate) mod result;
mod session;
mod tool;
pub(crate) mod tools;
mod transcript;

pub(crate) use arena::Arena;

use hooks::Fault;

/// Host value → record of the contract.
pub(crate) trait ToRecord<'a> {
    /// The record; it may point into the value and the arena.
    type Record;

    /// Makes the record. Lists and rendered JSON go into the arena.
    fn to_record(&'a self, arena: &'a Arena) -> Self::Record;
}

/// Answer of the contract → host value.
pub(crate) trait FromAnswer: Sized {
    /// The record of the contract.
    type Wit: 'static;

    /// Takes an answer.
    ///
    /// # Errors
    /// A fault of kind [`FaultKind::Malformed`](hooks::FaultKind::Malformed) that names the field.
    fn from_answer(answer: Self::Wit) -> Result<Self, Fault>;

    /// Whether the answer says nothing, although it is one: a field that must be there holds JSON `null` (plugin-hooks 1.6).
    fn is_silent(_answer: &Self::Wit) -> bool {
        false
    }
}
