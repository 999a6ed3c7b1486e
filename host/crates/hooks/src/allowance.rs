//! One budget for a whole dispatch, shared by its handlers: each gets its own budget or what is left, whichever is less, and the one that
//! used it up is named. Only an operator sets one; without it this costs nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::PluginId;
use tokio::time::Instant;

use crate::catalogue::HookId;
use crate::fault::{Fault, FaultKind};

/// What the operator set: `plugins.hooks.{dispatchBudgetMs, dispatchBudgets}`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DispatchBudgets {
    /// For the hooks that are named; it wins.
    pub by_hook: BTreeMap<HookId, Duration>,
    /// For each dispatch of any hook.
    pub all: Option<Duration>,
}

impl DispatchBudgets {
    /// The budget of one dispatch of a hook; none: only handlers have budgets.
    pub fn of(&self, hook: HookId) -> Option<Duration> {
        self.by_hook.get(&hook).copied().or(self.all)
    }
}

/// What is left of the budget of one dispatch.
pub(crate) struct Allowance<'r> {
    shared: Option<Shared<'r>>,
}

struct Shared<'r> {
    budget: Duration,
    ends: Instant,
    /// The call that took most so far.
    most: Option<(&'r PluginId, Duration)>,
}

/// How long one call may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) deadline: Instant,
    pub(crate) budget: Duration,
    /// Whether the dispatch ends sooner than the handler's own budget.
    is_shared: bool,
}

impl<'r> Allowance<'r> {
    /// The dispatch begins now.
    pub(crate) fn of(budget: Option<Duration>) -> Self {
        Self { shared: budget.map(|budget| Shared { budget, ends: Instant::now() + budget, most: None }) }
    }

    /// The time of a call that begins at `started`.
    ///
    /// # Errors
    /// When nothing is left: the call is not made, and counts as timed out.
    pub(crate) fn limit(&self, started: Instant, own: Duration) -> Result<Limit, Fault> {
        let Some(shared) = &self.shared else { return Ok(Limit { deadline: started + own, budget: own, is_shared: false }) };
        let left = shared.ends.saturating_duration_since(started);
        if left.is_zero() {
            return Err(shared.used_up(None).by_others());
        }
        let is_shared = left < own;
        let budget = left.min(own);
        Ok(Limit { deadline: started + budget, budget, is_shared })
    }

    /// Explains a call that was cut short because the dispatch had no more time. It counts against the plugin only if that is the one
    /// that took most.
    pub(crate) fn explain(&self, fault: Fault, limit: Limit, plugin: &PluginId, started: Instant) -> Fault {
        let Some(shared) = self.shared.as_ref().filter(|_| limit.is_shared && fault.kind() == FaultKind::Timeout) else {
            return fault;
        };
        let took = started.elapsed();
        match shared.most {
            Some((most, longest)) if most != plugin && longest > took => shared.used_up(None).by_others(),
            _ => shared.used_up(Some((plugin, took))),
        }
    }

    /// A call has ended.
    pub(crate) fn took(&mut self, plugin: &'r PluginId, started: Instant) {
        let Some(shared) = &mut self.shared else { return };
        let took = started.elapsed();
        if shared.most.is_none_or(|(_, longest)| took > longest) {
            shared.most = Some((plugin, took));
        }
    }
}

impl Shared<'_> {
    fn used_up(&self, by: Option<(&PluginId, Duration)>) -> Fault {
        let budget = self.budget.as_millis();
        let most = match by.or(self.most) {
            Some((plugin, took)) => format!("; plugin `{plugin}` took most of it, {} ms", took.as_millis()),
            None => String::new(),
        };
        Fault::new(FaultKind::Timeout, format!("the {budget} ms of the whole dispatch are used up{most}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[tokio::test(start_paused = true)]
    async fn a_call_gets_the_lesser_of_its_own_budget_and_what_is_left() {
        let (a, b) = (PluginId::new("a"), PluginId::new("b"));
        let mut allowance = Allowance::of(Some(MS(100)));
        let started = Instant::now();
        assert_eq!(allowance.limit(started, MS(30)).unwrap().budget, MS(30));
        tokio::time::advance(MS(20)).await;
        allowance.took(&a, started);
        let started = Instant::now();
        let limit = allowance.limit(started, MS(200)).unwrap();
        assert_eq!((limit.budget, limit.deadline), (MS(80), started + MS(80)));
        tokio::time::advance(MS(80)).await;
        let cut = || Fault::new(FaultKind::Timeout, "no answer within 80 ms");
        let fault = allowance.explain(cut(), limit, &b, started);
        assert_eq!(fault.text(), "the 100 ms of the whole dispatch are used up; plugin `b` took most of it, 80 ms");
        assert!(fault.counts());
        allowance.took(&b, started);
        let left = allowance.limit(Instant::now(), MS(200)).unwrap_err();
        assert!(left.text().contains("plugin `b` took most of it, 80 ms") && !left.counts(), "{left}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_came_too_late_is_not_blamed() {
        let (a, b) = (PluginId::new("a"), PluginId::new("b"));
        let mut allowance = Allowance::of(Some(MS(100)));
        let started = Instant::now();
        tokio::time::advance(MS(90)).await;
        allowance.took(&a, started);
        let started = Instant::now();
        let limit = allowance.limit(started, MS(200)).unwrap();
        tokio::time::advance(MS(10)).await;
        let fault = allowance.explain(Fault::new(FaultKind::Timeout, "x"), limit, &b, started);
        assert!(fault.text().contains("plugin `a` took most of it, 90 ms") && !fault.counts(), "{fault}");
        let other = allowance.explain(Fault::new(FaultKind::Trap, "unreachable"), limit, &b, started);
        assert_eq!(other.text(), "unreachable");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_shared_budget_nothing_is_counted() {
        let (a, mut allowance) = (PluginId::new("a"), Allowance::of(None));
        let started = Instant::now();
        allowance.took(&a, started);
        assert_eq!(allowance.limit(started, MS(7)).unwrap().budget, MS(7));
        let of = |budgets: &DispatchBudgets| (budgets.of(HookId::AgentEnd), budgets.of(HookId::BeforeToolCall));
        let mut budgets = DispatchBudgets { all: Some(MS(5)), ..DispatchBudgets::default() };
        budgets.by_hook.insert(HookId::AgentEnd, MS(9));
        assert_eq!(of(&budgets), (Some(MS(9)), Some(MS(5))));
    }
}
