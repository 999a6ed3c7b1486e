//! What the host adds to bare wasmtime: each line is one thing done by the host and by wasmtime alone, in turns in the same process, and
//! the ratio of the two medians. The guest does next to nothing, which is the hardest case for a ratio.
//!
//! `cargo bench -p plugin-host`, with `-- NAME…` for some of the subjects only. As a test (`cargo test -p plugin-host --benches`) each
//! subject runs once and says nothing about time.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a bench")]

mod bare;
mod call;
mod dispatch;
mod host;
mod instantiate;
mod kill_overrun;
mod load_cached;
mod measure;
#[path = "../../tests/suite/ports.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod ports;

use std::path::Path;
use std::sync::Arc;

use guest_builder::Options;
use tokio::runtime::{Builder, Runtime};

use crate::measure::Effort;

/// What every subject needs.
struct Bench {
    runtime: Runtime,
    component: Arc<[u8]>,
    effort: Effort,
}

/// One of the files beside this one.
type Subject = fn(&Bench);

/// The subjects by name.
const SUBJECTS: [(&str, Subject); 4] = [
    ("dispatch", dispatch::run),
    ("instantiate", instantiate::run),
    ("load_cached", load_cached::run),
    ("kill_overrun", kill_overrun::run),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // Cargo says so when it is a bench that it wants.
    let effort = if arguments.iter().any(|argument| argument == "--bench") { Effort::Full } else { Effort::Once };
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let bench = Bench { runtime: Builder::new_current_thread().enable_all().build().unwrap(), component: guest(), effort };
    for (name, run) in SUBJECTS {
        if wanted.is_empty() || wanted.iter().any(|wanted| *wanted == name) {
            run(&bench);
        }
    }
}

/// The guest of all subjects, a Rust plugin made with the SDK; built now if it is not yet.
fn guest() -> Arc<[u8]> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap();
    let guests = guest_builder::build(&Options::new(workspace)).expect("guests can be built (cargo xtask guests)");
    std::fs::read(&guests.tests["bench_quiet"]).unwrap().into()
}
