//! End-to-end tests of the real binary: what a person or a program sees of it. Each runs in directories of its own with an environment of
//! its own, without a network; what needs real plugins takes the example plugins as they are built. What only a library decides is tested
//! there.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod agent_input;
mod agent_result;
mod chat;
mod command_reach;
mod compilation;
mod config;
mod crash;
mod delivery;
mod demo;
mod documentation;
mod images;
mod interrupts;
mod pipes;
mod plugin_circuits;
mod plugin_faults;
mod plugin_files;
mod plugin_grants;
mod plugin_installing;
mod plugin_listing;
mod plugin_switches;
mod plugin_trial;
mod plugin_validation;
mod sessions;
mod support;
mod terminal;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[test]
fn every_file_here_is_part_of_the_suite() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let stems =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned());
    let files: BTreeSet<String> = stems.filter(|stem| stem != "main").collect();
    let modules = include_str!("main.rs").lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    assert_eq!(files, modules.map(str::to_owned).collect());
}
