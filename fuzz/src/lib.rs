//! What the fuzzer does with hostile bytes: one module per place where bytes of strangers come in, each with a function `run` that takes
//! any bytes and panics if a rule of the host does not hold. The engine is not in here: `targets/` ties these functions to libFuzzer, and
//! `tests/corpus.rs` runs them over the committed inputs.
#![allow(clippy::panic, clippy::expect_used, reason = "a panic is how a finding is told")]

pub mod answers;
pub mod component;
pub mod configuration;
pub mod embedded;
pub mod manifest;
pub mod message;
pub mod wasm;

/// A target, by its name.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name: that of its module, of its file in `targets/` and of its folder in `corpus/`.
    pub name: &'static str,
    /// What it does with one input.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "answers", run: answers::run },
    Target { name: "component", run: component::run },
    Target { name: "configuration", run: configuration::run },
    Target { name: "embedded", run: embedded::run },
    Target { name: "manifest", run: manifest::run },
];
