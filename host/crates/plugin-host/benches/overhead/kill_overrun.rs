//! By how much a handler that never answers outlives its budget. Beside it, a bare store whose clock ticks as often.

use std::thread::JoinHandle;
use std::time::Duration;

use hooks::FaultKind;
use plugin_host::DEFAULT_TICK;
use wasmtime::EngineWeak;

use crate::bare::Bare;
use crate::host::Host;
use crate::measure::{Bar, Compared, Effort, Turns, timed};
use crate::{Bench, call};

/// Turns of each side; each takes a budget and more.
const TURNS: u32 = 60;

/// Budget of the handler.
const BUDGET: Duration = Duration::from_millis(50);

/// Overrun that is allowed beyond one tick.
const SLACK: Duration = Duration::from_millis(5);

pub(crate) fn run(bench: &Bench) {
    let host = Host::new(bench, 1, Some(BUDGET));
    let bare = Bare::new(&bench.component);
    let (event, context) = call::of("spin");
    let by_host = async || {
        let fault = host.decide(&event, &context).await.unwrap_err().fault;
        assert_eq!(fault.kind(), FaultKind::Timeout);
    };
    let by_hand = async || {
        assert!(bare.instance().await.call_until(BUDGET, &event, &context).await);
    };
    let clock = tick(bare.engine().weak());
    let overrun = |taken: Duration| taken.saturating_sub(BUDGET);
    let compared = Compared::in_turns(
        Turns { turns: bench.effort.times(TURNS), calls: 1 },
        |_| overrun(timed(|| bench.runtime.block_on(by_host()))),
        |_| overrun(timed(|| bench.runtime.block_on(by_hand()))),
    );
    compared.report(bench.effort, "overrun of a kill", Bar::Time(DEFAULT_TICK + SLACK));
    if let (Effort::Full, Some(host), Some(bare)) = (bench.effort, compared.host.iter().max(), compared.bare.iter().max()) {
        println!("{:<26} {host:>10.3?}   bare {bare:>10.3?}", "   the longest of them");
    }
    drop(bare);
    clock.join().unwrap();
}

/// The clock of the bare store; it stops with the engine.
fn tick(engine: EngineWeak) -> JoinHandle<()> {
    std::thread::spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(DEFAULT_TICK);
        }
    })
}
