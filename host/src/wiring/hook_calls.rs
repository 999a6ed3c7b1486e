//! How hooks are called, from the configuration: circuits, budgets of whole dispatches, and the check of all names of hooks and fields,
//! which only the catalogue knows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use config::keys::{HookTimeout, PluginCircuit};
use config::{Config, KeyPath, Loaded};
use domain::circuit::CircuitStore;
use domain::ports::Clock;
use hooks::{CircuitOverride, CircuitSettings, Circuits, DispatchBudgets, FieldSet, HookId};

use crate::exit::{Code, Failure};

/// The circuits of a host, as an earlier process left them. What the configuration says of them is with each plugin, so that it counts
/// when plugins are loaded again.
pub(super) async fn circuits(store: Arc<dyn CircuitStore>, clock: Arc<dyn Clock>) -> Circuits {
    Circuits::kept(CircuitSettings::default(), store, clock).await
}

/// What is said about the circuits of one plugin, or of all.
pub(super) fn overrides(circuit: PluginCircuit) -> CircuitOverride {
    CircuitOverride { failures: circuit.failures, cooldown: circuit.cooldown_ms.map(|time| Duration::from_millis(time.get())) }
}

/// What whole dispatches may take.
pub(super) fn dispatch_budgets(config: &Config) -> DispatchBudgets {
    let hooks = &config.plugins.hooks;
    let time = |limit: HookTimeout| Duration::from_millis(limit.get());
    let of_hook = |(name, limit): (&String, &HookTimeout)| Some((HookId::from_name(name)?, time(*limit)));
    DispatchBudgets {
        by_hook: hooks.dispatch_budgets.iter().filter_map(of_hook).collect(),
        all: hooks.dispatch_budget_ms.map(time),
    }
}

/// Checks the names of hooks and fields below `plugins`.
///
/// # Errors
/// The first one that does not exist, with its place and the nearest that does.
pub(super) fn check_names(loaded: &Loaded) -> Result<(), Failure> {
    let plugins = &loaded.config.plugins;
    check_hooks(loaded, &KeyPath::of("plugins.hooks.dispatchBudgets"), &plugins.hooks.dispatch_budgets)?;
    for (id, entry) in &plugins.entries {
        let hooks = KeyPath::of("plugins.entries").key(id).key("hooks");
        check_hooks(loaded, &hooks.key("timeouts"), &entry.hooks.timeouts)?;
        let fields = hooks.key("fields");
        check_hooks(loaded, &fields, &entry.hooks.fields)?;
        for (name, list) in &entry.hooks.fields {
            let Some(hook) = HookId::from_name(name) else { continue };
            if let Err(unknown) = FieldSet::parse(hook, list) {
                let nearest = unknown.nearest;
                let what = format!("{hook} has no field {:?}; did you mean `{nearest}`?", unknown.name);
                return Err(wrong(loaded, &fields.key(name), &what));
            }
        }
    }
    Ok(())
}

fn check_hooks<T>(loaded: &Loaded, below: &KeyPath, by_hook: &BTreeMap<String, T>) -> Result<(), Failure> {
    let Some(hook) = by_hook.keys().find(|hook| HookId::from_name(hook).is_none()) else { return Ok(()) };
    let what = format!("there is no hook of this name; did you mean `{}`?", HookId::nearest(hook));
    Err(wrong(loaded, &below.key(hook), &what))
}

fn wrong(loaded: &Loaded, key: &KeyPath, what: &str) -> Failure {
    let position = loaded.position(key).map_or_else(String::new, |position| format!(":{position}"));
    Failure::new(Code::Config, format!("{}{position}: {key}: {what}", loaded.path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use hooks::circuit::MAX_COOLDOWN;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_configuration_tells_the_numbers_that_count() {
        let schema = Config::schema();
        let pointer = "/properties/plugins/properties/circuit/properties";
        let of = |key: &str, what: &str| schema.pointer(&format!("{pointer}/{key}/{what}")).and_then(Value::as_u64);
        let defaults = CircuitSettings::default();
        assert_eq!(of("failures", "default"), Some(u64::from(defaults.failures)));
        assert_eq!(of("cooldownMs", "default").map(Duration::from_millis), Some(defaults.cooldown));
        let widest: PluginCircuit = serde_json::from_value(json!({ "cooldownMs": 600_000 })).unwrap();
        assert_eq!(overrides(widest).cooldown, Some(MAX_COOLDOWN));
        assert!(serde_json::from_value::<PluginCircuit>(json!({ "cooldownMs": 600_001 })).is_err());
    }

    #[test]
    fn budgets_of_dispatches_reach_the_hooks() {
        let written = json!({ "plugins": { "hooks": { "dispatchBudgetMs": "2s", "dispatchBudgets": { "agent_end": 7 } } } });
        let config: Config = serde_json::from_value(written).unwrap();
        let budgets = dispatch_budgets(&config);
        assert_eq!(budgets.of(HookId::AgentEnd), Some(Duration::from_millis(7)));
        assert_eq!(budgets.of(HookId::BeforeToolCall), Some(Duration::from_secs(2)));
        assert_eq!(dispatch_budgets(&Config::default()), DispatchBudgets::default());
    }
}
