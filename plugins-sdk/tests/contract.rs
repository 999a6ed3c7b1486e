//! The SDK and the contract name the same exports: a hook that is added to one and forgotten in the other fails here.

use std::collections::BTreeSet;

const CONTRACT: &str = include_str!("../../wit/worlds.wit");
const SDK_WORLDS: &str = include_str!("../wit/worlds.wit");
const TRAIT: &str = include_str!("../src/plugin.rs");

/// The two methods behind the one export `tools`.
const TOOL_METHODS: [&str; 2] = ["list_tools", "execute_tool"];

/// Names of the interfaces that the contract's `all-hooks` exports.
fn contract() -> BTreeSet<String> {
    let all_hooks = CONTRACT.split("world all-hooks").nth(1).unwrap_or_default();
    all_hooks.lines().filter_map(|line| line.trim().strip_prefix("export ")?.strip_suffix(';')).map(str::to_owned).collect()
}

#[test]
fn the_contract_was_read() {
    assert!(contract().contains("before-tool-call"));
    assert!(contract().contains("tools"));
}

#[test]
fn every_export_has_a_world_of_its_own() {
    let worlds: BTreeSet<_> = SDK_WORLDS
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.strip_prefix("world ")?.split_once(" { ")?;
            (rest == format!("export creel:plugin/{name}@0.1.0; }}")).then(|| name.to_owned())
        })
        .collect();
    assert_eq!(worlds, contract());
}

#[test]
fn every_hook_is_a_method_of_the_trait_and_no_other_method_is() {
    let methods: BTreeSet<_> = TRAIT
        .lines()
        .filter_map(|line| line.strip_prefix("    fn ")?.split('(').next())
        .filter(|name| !TOOL_METHODS.contains(name))
        .map(|name| name.replace('_', "-"))
        .collect();
    let mut hooks = contract();
    hooks.remove("tools");
    assert_eq!(methods, hooks);
}
