//! How long a provider may be silent (agent-loop 21.3): the one place where its own timeout, the class of its endpoint and the limits of the
//! run meet. Knows no clock and ends nothing.

use std::time::Duration;

use domain::model::{CallBounds, RunLimit};

use crate::endpoint::EndpointClass;

/// Longest silence of a cloud model in a scheduled run that has a timeout, so that configured fallbacks can still run before its deadline
/// (agent-loop 21.3.3).
const CRON_CLOUD: Duration = Duration::from_secs(60);

/// The window. `provider`: `models.providers.<id>.timeoutSeconds`. None: any silence is allowed.
pub(crate) fn window(class: EndpointClass, provider: Option<Duration>, bounds: &CallBounds) -> Option<Duration> {
    let within = |limit: Duration| Some(class.idle_window().map_or(limit, |ceiling| limit.min(ceiling)));
    if let Some(provider) = provider {
        return Some(bounded(provider, bounds));
    }
    match (bounds.run, bounds.agent) {
        (RunLimit::After(limit), _) if bounds.is_cron => match class {
            EndpointClass::Cloud => Some(limit.min(CRON_CLOUD)),
            EndpointClass::Local | EndpointClass::SelfHosted => Some(limit),
        },
        (RunLimit::After(limit), _) | (RunLimit::Absent, Some(limit)) => within(limit),
        (RunLimit::Unlimited, _) | (RunLimit::Absent, None) => class.idle_window(),
    }
}

/// The provider's own window, which may be longer than that of its class, but not longer than the run (agent-loop 21.3.9).
fn bounded(provider: Duration, bounds: &CallBounds) -> Duration {
    match (bounds.run, bounds.agent) {
        (RunLimit::After(limit), _) | (RunLimit::Absent, Some(limit)) => provider.min(limit),
        (RunLimit::Unlimited, _) | (RunLimit::Absent, None) => provider,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EndpointClass::{Cloud, Local, SelfHosted};

    const fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    /// Rows: class, `P`, `R` (0: unlimited), `A`, cron, and the window in seconds.
    type Row = (EndpointClass, Option<u64>, Option<u64>, Option<u64>, bool, Option<u64>);

    fn check(rows: &[Row]) {
        for (class, provider, run, agent, is_cron, expected) in rows {
            let bounds = CallBounds { run: RunLimit::of(run.map(seconds)), agent: agent.map(seconds), is_cron: *is_cron };
            let found = window(*class, provider.map(seconds), &bounds);
            assert_eq!(found, expected.map(seconds), "{class:?} P {provider:?} R {run:?} A {agent:?} cron {is_cron}");
        }
    }

    #[test]
    fn loop_056_the_window_follows_provider_run_agent_and_class() {
        check(&[
            (Cloud, None, None, Some(60), false, Some(60)),
            (Cloud, None, None, Some(600), false, Some(120)),
            (Cloud, None, Some(0), Some(60), false, Some(120)),
            (Cloud, Some(300), None, Some(90), false, Some(90)),
            (Cloud, Some(300), Some(600), Some(90), false, Some(300)),
            (SelfHosted, None, None, None, false, Some(300)),
            (SelfHosted, None, None, None, true, Some(300)),
            (SelfHosted, None, Some(900), None, true, Some(900)),
            (Cloud, None, None, None, true, Some(120)),
            (Local, None, None, None, true, None),
            (Local, Some(40), None, None, false, Some(40)),
        ]);
    }

    #[test]
    fn what_is_not_in_that_case() {
        check(&[
            (Cloud, None, Some(600), None, true, Some(60)),
            (Cloud, None, Some(30), None, true, Some(30)),
            (Cloud, None, Some(600), None, false, Some(120)),
            (Local, None, Some(600), None, false, Some(600)),
            (SelfHosted, None, Some(900), None, false, Some(300)),
            (Local, None, Some(0), Some(60), false, None),
            (Cloud, Some(300), Some(0), Some(60), false, Some(300)),
            (Cloud, Some(300), Some(60), Some(600), false, Some(60)),
        ]);
    }
}
