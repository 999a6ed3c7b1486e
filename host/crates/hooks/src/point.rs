//! What makes a hook point: its event, context and answer as types, and the merge rule of those that decide. The list of points is
//! in [`catalogue`](crate::catalogue); a point that is missing somewhere does not compile.

use domain::PluginId;

use crate::catalogue::HookId;
use crate::fault::Fault;
use crate::fields::Fields;
use crate::registry::HandlerOptions;

pub use crate::catalogue::{HookCall, HookReply};

/// A named place where handlers are called.
pub trait HookPoint: Send + Sync + 'static {
    /// Its row in the catalogue.
    const ID: HookId;
    /// What it tells.
    type Event: Fields + Send + Sync + 'static;
    /// For whom.
    type Context: Fields + Send + Sync + 'static;
    /// What a handler may say; `()` for observers, so that they cannot change an outcome.
    type Answer: Send + 'static;

    /// Wraps event and context for a handler.
    fn call<'a>(event: &'a Self::Event, context: &'a Self::Context) -> HookCall<'a>;

    /// Unwraps a handler's answer.
    ///
    /// # Errors
    /// When the reply belongs to another hook, which is a fault of the host.
    fn answer(reply: HookReply) -> Result<Option<Box<Self::Answer>>, Fault>;
}

/// Who gave an answer.
#[derive(Debug, Clone, Copy)]
pub struct Who<'a> {
    /// The plugin; stamped by the host.
    pub plugin: &'a PluginId,
    /// Name of the handler in the manifest.
    pub handler: &'a str,
    /// Its options.
    pub options: &'a HandlerOptions,
}

/// The merge rule of a hook that decides. All functions are pure.
pub trait Fold: HookPoint {
    /// The merged answer.
    type Decision: Default + Send;

    /// Whether a registration takes part in this dispatch (plugin-hooks 1.2, step 2).
    fn selects(_event: &Self::Event, _context: &Self::Context, _options: &HandlerOptions) -> bool {
        true
    }

    /// Refuses an answer that breaks a rule of this hook; the refusal counts as a fault of the handler.
    ///
    /// # Errors
    /// A fault of kind [`FaultKind::Malformed`](crate::FaultKind::Malformed).
    fn check(_event: &Self::Event, _answer: &Self::Answer) -> Result<(), Fault> {
        Ok(())
    }

    /// Adds one answer to the decision so far.
    fn fold(so_far: Self::Decision, answer: Self::Answer, who: Who<'_>) -> Self::Decision;

    /// Whether later handlers are not asked any more.
    fn is_terminal(_decision: &Self::Decision) -> bool {
        false
    }

    /// The event for the next handler, for the few hooks where it sees what the one before it returned.
    fn refresh(_event: &Self::Event, _decision: &Self::Decision) -> Option<Self::Event> {
        None
    }

    /// The answer in a few words, for traces; none: no opinion.
    fn describe(answer: &Self::Answer) -> Option<String>;
}

/// A hook where the first handler that claims decides alone.
pub trait Claim: HookPoint {
    /// Whether a registration takes part in this dispatch.
    fn selects(_event: &Self::Event, _context: &Self::Context, _options: &HandlerOptions) -> bool {
        true
    }

    /// Whether the answer is a claim.
    fn claims(answer: &Self::Answer) -> bool;

    /// The claim in a few words, for traces.
    fn describe(answer: &Self::Answer) -> String;
}

/// A hook whose handlers only watch.
pub trait Observe: HookPoint<Answer = ()> {
    /// Whether a registration takes part in this dispatch.
    fn selects(_event: &Self::Event, _context: &Self::Context, _options: &HandlerOptions) -> bool {
        true
    }
}
