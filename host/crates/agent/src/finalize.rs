//! `before_agent_finalize`: whether a natural final answer is accepted or one more pass is made (plugin-hooks 5.4). Passes are bounded per
//! run and per key, so that a plugin cannot keep a run alive.

use std::collections::HashMap;

use hooks::HookId;
use hooks::catalogue::BeforeAgentFinalize;
use hooks::events::before_agent_finalize::{Decision, Event, Retry};
use hooks::join::join;

use crate::run::RunState;

/// Passes that all plugins together may ask for in one run.
pub const MAX_REVISIONS: u32 = 3;

/// Passes made so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Revisions {
    made: u32,
    by_key: HashMap<Key, u32>,
}

/// What passes are counted under. Three spaces: a key that a plugin chose is no instruction and no reason, though the words be the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// `idempotencyKey`.
    Chosen(String),
    /// A retry without one.
    Instruction(String),
    /// A wish without a retry.
    Reason(String),
}

impl Key {
    fn of(retry: &Retry) -> Self {
        match &retry.idempotency_key {
            Some(key) => Self::Chosen(key.clone()),
            None => Self::Instruction(retry.instruction.clone()),
        }
    }
}

impl Revisions {
    /// Whether the pass that is being judged was itself asked for by this hook.
    pub(crate) fn is_active(&self) -> bool {
        self.made > 0
    }

    /// The text for the pass that the decision asks for, if its budget allows one.
    pub(crate) fn next(&mut self, decision: Decision) -> Option<String> {
        if !decision.wants_revision() || self.made >= MAX_REVISIONS {
            return None;
        }
        let reason = decision.reason.unwrap_or_default();
        // The reason is counted too, so that the same wish without a retry is no new one.
        let by_reason = Key::Reason(reason.clone());
        let instruction = if decision.retries.is_empty() {
            // Reasons alone are worth one pass.
            (!reason.is_empty() && self.has_budget(&by_reason, 1)).then(String::new)?
        } else {
            // Wishes whose budget is spent are worth none, whatever reason they give.
            let budget = |retry: &Retry| retry.max_attempts.unwrap_or(1);
            let retry = decision.retries.into_iter().find(|retry| self.has_budget(&Key::of(retry), budget(retry)))?;
            *self.by_key.entry(Key::of(&retry)).or_default() += 1;
            retry.instruction
        };
        self.made += 1;
        self.by_key.entry(by_reason).or_insert(1);
        join([reason.as_str(), instruction.as_str()])
    }

    fn has_budget(&self, key: &Key, attempts: u32) -> bool {
        self.by_key.get(key).copied().unwrap_or(0) < attempts
    }
}

/// Asks the plugins; none: the run was asked to stop, and a stop is not a natural end.
pub(crate) async fn ask(run: &RunState, event: impl FnOnce() -> Event) -> Option<Decision> {
    if run.cancel().is_cancelled() {
        return None;
    }
    if !run.hooks().has(HookId::BeforeAgentFinalize) {
        return Some(Decision::default());
    }
    let (event, context) = (event(), run.agent_context());
    let decided = run.unless_stopped(run.hooks().decide::<BeforeAgentFinalize>(&event, &context, run.scope())).await?;
    Some(decided.map(|dispatched| dispatched.decision).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn revise(reason: &str, retries: &[(&str, Option<u32>)]) -> Decision {
        let retries = retries.iter().map(|(instruction, max_attempts)| Retry {
            instruction: (*instruction).to_owned(),
            idempotency_key: Some("k".to_owned()),
            max_attempts: *max_attempts,
        });
        Decision { finalized: false, revise: true, reason: Some(reason.to_owned()), retries: retries.collect() }
    }

    #[test]
    fn a_key_is_worth_one_pass_unless_it_says_more() {
        let mut revisions = Revisions::default();
        assert_eq!(revisions.next(revise("r", &[("do", None)])).as_deref(), Some("r\n\ndo"));
        assert_eq!(revisions.next(revise("r", &[("do", None)])), None);
        assert_eq!(revisions.next(revise("r", &[("do", Some(2))])).as_deref(), Some("r\n\ndo"));
    }

    #[test]
    fn a_new_reason_does_not_revive_a_spent_key() {
        let mut revisions = Revisions::default();
        assert!(revisions.next(revise("first", &[("do", None)])).is_some());
        assert_eq!(revisions.next(revise("second", &[("do", None)])), None);
    }

    /// One plugin's key may be the words of another one's instruction or reason.
    #[test]
    fn keys_instructions_and_reasons_are_counted_apart() {
        let mut revisions = Revisions::default();
        let retry = |key: Option<&str>| {
            let retry = Retry { instruction: "same".to_owned(), idempotency_key: key.map(str::to_owned), max_attempts: None };
            Decision { revise: true, retries: vec![retry], ..Decision::default() }
        };
        assert!(revisions.next(retry(Some("same"))).is_some());
        assert!(revisions.next(retry(None)).is_some());
        assert!(revisions.next(revise("same", &[])).is_some());
        for spent in [retry(Some("same")), retry(None), revise("same", &[])] {
            assert_eq!(Revisions { made: 0, ..revisions.clone() }.next(spent), None);
        }
    }

    #[test]
    fn a_spent_wish_is_passed_over_for_the_next_one() {
        let mut revisions = Revisions::default();
        let with_keys = |keys: [&str; 2]| {
            let retry = |key: &str| Retry { instruction: key.to_owned(), idempotency_key: None, max_attempts: None };
            Decision { revise: true, retries: keys.map(retry).into(), ..Decision::default() }
        };
        assert_eq!(revisions.next(with_keys(["a", "b"])).as_deref(), Some("a"));
        assert_eq!(revisions.next(with_keys(["a", "b"])).as_deref(), Some("b"));
        assert_eq!(revisions.next(with_keys(["a", "b"])), None);
    }

    #[test]
    fn a_run_has_three_passes_in_all() {
        let mut revisions = Revisions::default();
        for n in 0..MAX_REVISIONS {
            assert!(revisions.next(revise(&format!("reason {n}"), &[])).is_some());
        }
        assert_eq!(revisions.next(revise("another", &[])), None);
    }

    #[test]
    fn finalize_beats_revise() {
        let mut revisions = Revisions::default();
        assert_eq!(revisions.next(Decision { finalized: true, ..revise("r", &[]) }), None);
    }
}
