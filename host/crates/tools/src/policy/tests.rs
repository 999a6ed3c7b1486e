//! Rows of the policy rules over one list of tools.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use domain::PluginId;

use super::*;
use crate::test_root::spec;

fn plugin_tool(name: &str, plugin: &str, optional: bool) -> ToolSpec {
    ToolSpec { optional, owner: ToolOwner::Plugin(PluginId::new(plugin)), ..spec(name) }
}

fn tools() -> Vec<ToolSpec> {
    let mut tools: Vec<ToolSpec> =
        ["read", "write", "edit", "exec", "apply_patch", "session_status", "message", "browser"].map(spec).into();
    tools.push(plugin_tool("unit_convert", "convert", false));
    tools.push(plugin_tool("weather", "sky", true));
    tools
}

fn list(entries: &[&str]) -> Vec<String> {
    entries.iter().map(|entry| (*entry).to_owned()).collect()
}

fn allow(entries: &[&str]) -> Step {
    Step { allow: Some(list(entries)), ..Step::default() }
}

fn also(entries: &[&str]) -> Step {
    Step { also_allow: list(entries), ..Step::default() }
}

fn deny(entries: &[&str]) -> Step {
    Step { deny: list(entries), ..Step::default() }
}

fn left(steps: &[Step]) -> String {
    let tools = tools();
    select(&tools, steps).iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ")
}

const CORE: &str = "read write edit exec apply_patch session_status message browser";

#[test]
fn without_rules_everything_but_optional_tools_is_there() {
    assert_eq!(left(&[]), format!("{CORE} unit_convert"));
    assert_eq!(left(&[Step::profile(Profile::Full, Vec::new())]), format!("{CORE} unit_convert"));
}

#[test]
fn profiles_hold_what_the_table_says() {
    assert_eq!(left(&[Step::profile(Profile::Minimal, Vec::new())]), "session_status");
    assert_eq!(left(&[Step::profile(Profile::Coding, Vec::new())]), "read write edit exec apply_patch session_status");
    assert_eq!(left(&[Step::profile(Profile::Messaging, Vec::new())]), "session_status message");
    assert_eq!(left(&[Step::profile(Profile::Minimal, list(&["browser", "sky"]))]), "session_status browser weather");
}

#[test]
fn names_groups_patterns_and_plugin_ids_are_understood_without_case() {
    for (entries, expected) in [
        (vec!["READ"], "read"),
        (vec!["bash"], "exec"),
        (vec!["Group:FS"], "read write edit apply_patch"),
        (vec!["group:runtime"], "exec"),
        (vec!["*e*"], "read write edit exec session_status message browser unit_convert"),
        (vec!["session_*", "Convert"], "session_status unit_convert"),
        (vec!["group:openclaw"], "session_status message browser"),
        (vec!["group:nothing"], ""),
        (vec![], ""),
    ] {
        assert_eq!(left(&[allow(&entries)]), expected, "{entries:?}");
    }
}

#[test]
fn deny_wins_over_every_allow() {
    assert_eq!(
        left(&[Step { allow: Some(list(&["read", "exec"])), also_allow: list(&["exec"]), deny: list(&["EXEC"]) }]),
        "read"
    );
    assert_eq!(left(&[deny(&["exec"]), allow(&["exec", "read"])]), "read");
    assert_eq!(left(&[allow(&["exec", "read"]), deny(&["group:runtime"])]), "read");
    assert_eq!(left(&[also(&["weather"]), deny(&["sky"])]), format!("{CORE} unit_convert"));
    assert_eq!(left(&[deny(&["*"])]), "");
}

#[test]
fn a_step_brings_back_nothing_that_an_earlier_one_removed() {
    assert_eq!(left(&[allow(&["read"]), also(&["exec"])]), "read");
    assert_eq!(left(&[Step::profile(Profile::Minimal, Vec::new()), allow(&["read", "session_status"])]), "session_status");
}

#[test]
fn write_brings_apply_patch_but_denying_it_does_not_take_it() {
    assert_eq!(left(&[allow(&["write"])]), "write apply_patch");
    assert_eq!(left(&[allow(&["group:fs"]), deny(&["write"])]), "read edit apply_patch");
}

#[test]
fn an_allowlist_of_plugin_tools_only_adds_to_the_core_tools() {
    assert_eq!(left(&[allow(&["weather"])]), format!("{CORE} weather"));
    assert_eq!(left(&[allow(&["sky", "convert"])]), format!("{CORE} unit_convert weather"));
    assert_eq!(left(&[allow(&["group:plugins"])]), format!("{CORE} unit_convert weather"));
    assert_eq!(left(&[allow(&["weather", "read"])]), "read weather");
    assert_eq!(left(&[allow(&["weather"]), deny(&["exec"])]), format!("{} weather", CORE.replace(" exec", "")));
}

#[test]
fn a_misspelt_name_does_not_open_everything() {
    assert_eq!(left(&[allow(&["raed"])]), "");
    assert_eq!(left(&[allow(&["weather", "raed"])]), "weather");
}

#[test]
fn optional_tools_need_more_than_a_pattern() {
    for pattern in ["*", "**", "w*", "weath*"] {
        assert!(!left(&[also(&[pattern])]).contains("weather"), "{pattern}");
    }
    for way in ["weather", "SKY", "group:plugins"] {
        assert!(left(&[also(&[way])]).ends_with("weather"), "{way}");
    }
}

#[test]
fn tools_allow_lists_are_intersected() {
    let tools = tools();
    let fold =
        |lists: &[&[&str]]| intersect_allow(&tools, &lists.iter().map(|entries| list(entries)).collect::<Vec<_>>()).join(" ");
    assert_eq!(fold(&[&["read", "exec"], &["exec", "write"]]), "exec");
    assert_eq!(fold(&[&["read", "exec"], &["exec", "write"], &[]]), "");
    assert_eq!(fold(&[&["*"], &["BASH", "nothing"]]), "exec");
    assert_eq!(fold(&[&["group:fs"], &["edit", "exec", "sky"]]), "edit");
    assert_eq!(fold(&[]).split(' ').count(), tools.len());
}

#[test]
fn entries_that_mean_nothing_are_named() {
    let steps =
        [allow(&["raed", "read", "web_search", "group:web", "group:nothing", "*"]), deny(&["gone-plugin", "sky", "raed"])];
    assert_eq!(entries_without_tools(&tools(), &steps), ["gone-plugin", "group:nothing", "raed"]);
}
