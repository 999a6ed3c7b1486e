//! Dispatches to instances that are there already, as in the middle of a run: one handler, and ten, of which each is a plugin of its
//! own. Beside them, as many instances called one after another.

use std::hint::black_box;

use crate::bare::{Bare, Instance};
use crate::host::Host;
use crate::measure::{Bar, Compared, Turns, timed};
use crate::{Bench, call};

/// Turns of each side.
const TURNS: u32 = 2000;

/// Handler calls of one turn.
const CALLS: u32 = 100;

/// Ratio that is allowed.
const BAR: f64 = 1.5;

pub(crate) fn run(bench: &Bench) {
    for (what, handlers) in [("dispatch, 1 handler", 1), ("dispatch, 10 handlers", 10)] {
        compare(bench, handlers).report(bench.effort, what, Bar::Ratio(BAR));
    }
}

/// Times are of one dispatch.
fn compare(bench: &Bench, handlers: usize) -> Compared {
    let runtime = &bench.runtime;
    let (event, context) = call::of("exec");
    let host = Host::new(bench, handlers, None).in_a_run();
    let bare = Bare::new(&bench.component);
    let mut instances: Vec<Instance> = (0..handlers).map(|_| runtime.block_on(bare.instance())).collect();
    let turns = Turns { turns: bench.effort.times(TURNS), calls: bench.effort.times(CALLS / u32::try_from(handlers).unwrap()) };
    let dispatch = async |times| {
        for _ in 0..times {
            black_box(host.decide(&event, &context).await.unwrap());
        }
    };
    let mut call = async |times| {
        for _ in 0..times {
            for instance in &mut instances {
                instance.call(&event, &context).await;
            }
        }
    };
    Compared::in_turns(
        turns,
        |times| timed(|| runtime.block_on(dispatch(times))),
        |times| timed(|| runtime.block_on(call(times))),
    )
}
