//! Loading a plugin whose compiled code is in the cache: the code is authenticated, mapped, its types are checked and it is linked.
//! Beside it, wasmtime mapping the same code without a look at it. And, for comparison, both compiling it.

use std::path::Path;
use std::time::Duration;

use wasmtime::component::Component;

use crate::Bench;
use crate::bare::Bare;
use crate::host;
use crate::measure::{Bar, Compared, Turns, timed};

/// Turns of each side.
const TURNS: u32 = 60;

/// Turns of each side when it compiles.
const COLD_TURNS: u32 = 5;

/// Time that loading may take.
const BAR: Duration = Duration::from_millis(1);

/// Time that compiling may take; nobody decided one, a person should not notice it.
const COLD_BAR: Duration = Duration::from_secs(1);

pub(crate) fn run(bench: &Bench) {
    let directory = tempfile::tempdir().unwrap();
    let cache = directory.path().join("code");
    let bare = Bare::new(&bench.component);
    let file = directory.path().join("bare");
    std::fs::write(&file, bare.code()).unwrap();
    load(bench, Some(&cache));

    let cached = Compared::in_turns(
        Turns { turns: bench.effort.times(TURNS), calls: 1 },
        |_| load(bench, Some(&cache)),
        // SAFETY: the file was written from a component of this engine a moment ago.
        |_| timed(|| unsafe { Component::deserialize_file(bare.engine(), &file) }.unwrap()),
    );
    cached.report(bench.effort, "load from cache", Bar::Time(BAR));

    let cold = Compared::in_turns(
        Turns { turns: bench.effort.times(COLD_TURNS), calls: 1 },
        |_| load(bench, None),
        |_| timed(|| Component::new(bare.engine(), &bench.component).unwrap()),
    );
    cold.report(bench.effort, "load by compiling", Bar::Time(COLD_BAR));
}

/// What a new host takes for its first plugin. The engine is older than that.
fn load(bench: &Bench, cache: Option<&Path>) -> Duration {
    host::load(bench, [host::plugin(bench, 0, None)], cache).reports[0].elapsed
}
