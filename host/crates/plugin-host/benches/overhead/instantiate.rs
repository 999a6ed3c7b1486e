//! A call outside a run: a store, an instance, one call, and their end. Beside it, the same by hand.

use std::hint::black_box;

use crate::bare::Bare;
use crate::host::Host;
use crate::measure::{Bar, Compared, Turns, timed};
use crate::{Bench, call};

/// Turns of each side.
const TURNS: u32 = 1000;

/// Calls of one turn.
const CALLS: u32 = 10;

/// Ratio that is allowed.
const BAR: f64 = 1.3;

pub(crate) fn run(bench: &Bench) {
    let runtime = &bench.runtime;
    let (event, context) = call::of("exec");
    let host = Host::new(bench, 1, None);
    let bare = Bare::new(&bench.component);
    let dispatch = async |times| {
        for _ in 0..times {
            black_box(host.decide(&event, &context).await.unwrap());
        }
    };
    let call = async |times| {
        for _ in 0..times {
            bare.instance().await.call(&event, &context).await;
        }
    };
    let compared = Compared::in_turns(
        Turns { turns: bench.effort.times(TURNS), calls: bench.effort.times(CALLS) },
        |times| timed(|| runtime.block_on(dispatch(times))),
        |times| timed(|| runtime.block_on(call(times))),
    );
    compared.report(bench.effort, "instantiate and call", Bar::Ratio(BAR));
}
