//! How long one handler may take (plugin-hooks 1.7). What a whole dispatch may take is in [`allowance`](crate::allowance).

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep_until};

use crate::catalogue::{HookId, Kind};

/// Longest budget that an operator may set, in milliseconds.
pub const MAX_OPERATOR_MS: u64 = 600_000;

/// Host protection for hooks that have no default budget. Configurable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceilings {
    /// For hooks without a default.
    pub asynchronous: Duration,
    /// For the two hooks that an append waits for.
    pub synchronous: Duration,
}

impl Default for Ceilings {
    fn default() -> Self {
        Self { asynchronous: Duration::from_secs(600), synchronous: Duration::from_secs(1) }
    }
}

/// What the operator set for one plugin: `plugins.entries.<id>.hooks.{timeouts, timeoutMs}`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OperatorBudgets {
    /// By hook name, in milliseconds.
    pub by_hook: BTreeMap<String, u64>,
    /// For all hooks of the plugin, in milliseconds.
    pub all: Option<u64>,
}

/// The budget of one handler: the first that is set of the operator's for the hook, the operator's for the plugin, the manifest's,
/// the hook's default, the ceiling.
pub fn resolve(hook: HookId, operator: &OperatorBudgets, manifest_ms: Option<u64>, ceilings: &Ceilings) -> Duration {
    let millis = |ms: u64| Duration::from_millis(ms.clamp(1, MAX_OPERATOR_MS));
    let row = hook.row();
    let ceiling = if row.kind == Kind::Sync { ceilings.synchronous } else { ceilings.asynchronous };
    operator
        .by_hook
        .get(hook.name())
        .copied()
        .or(operator.all)
        .map(millis)
        .or_else(|| manifest_ms.filter(|ms| *ms > 0).map(millis))
        .or(row.budget)
        .unwrap_or(ceiling)
}

/// What a call gives until `deadline`, if it gives anything. Only a call that waits gets a timer: most do not.
pub(crate) async fn within<T>(deadline: Instant, mut call: BoxFuture<'_, T>) -> Option<T> {
    let mut timer = None;
    poll_fn(|cx| {
        if let Poll::Ready(given) = call.as_mut().poll(cx) {
            return Poll::Ready(Some(given));
        }
        let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        timer.as_mut().poll(cx).map(|()| None)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_ends_at_its_deadline() {
        let start = Instant::now();
        let ms = |ms| start + Duration::from_millis(ms);
        assert_eq!(within(ms(50), Box::pin(std::future::ready(7))).await, Some(7));
        assert_eq!(within(ms(50), Box::pin(async { sleep_until(ms(20)).await })).await, Some(()));
        assert_eq!(Instant::now(), ms(20));
        assert_eq!(within(ms(50), Box::pin(std::future::pending::<()>())).await, None);
        assert_eq!(Instant::now(), ms(50));
    }

    #[test]
    fn the_five_sources_count_in_order() {
        let ceilings = Ceilings::default();
        let ms = Duration::from_millis;
        let mut operator = OperatorBudgets { by_hook: BTreeMap::from([("agent_end".to_owned(), 50)]), all: Some(2000) };
        assert_eq!(resolve(HookId::AgentEnd, &operator, Some(1000), &ceilings), ms(50));
        operator.by_hook.clear();
        assert_eq!(resolve(HookId::AgentEnd, &operator, Some(1000), &ceilings), ms(2000));
        operator.all = None;
        assert_eq!(resolve(HookId::AgentEnd, &operator, Some(1000), &ceilings), ms(1000));
        assert_eq!(resolve(HookId::AgentEnd, &operator, Some(0), &ceilings), ms(30_000));
        assert_eq!(resolve(HookId::MessageReceived, &operator, None, &ceilings), ms(600_000));
        assert_eq!(resolve(HookId::ToolResultPersist, &operator, None, &ceilings), ms(1000));
        assert_eq!(resolve(HookId::ToolResultPersist, &operator, Some(u64::MAX), &ceilings), ms(600_000));
    }
}
