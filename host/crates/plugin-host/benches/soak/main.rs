//! What is left after a very large number of failed calls: a million traps, a hundred thousand missed deadlines. Each of them throws a
//! store away; none may leave a store, a file descriptor or memory behind.
//!
//! `cargo xtask soak`, or `cargo bench -p plugin-host --bench soak -- [--traps N] [--timeouts N]`. It ends with an error if the bar is
//! broken. As a test (`cargo test -p plugin-host --benches`) it makes a few of each and looks at stores and descriptors only.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a bench")]

mod footprint;
mod host;
mod numbers;

#[path = "../../tests/suite/guest.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod guest;
#[path = "../../tests/suite/ports.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod ports;

use std::process::ExitCode;
use std::time::Instant;

use tokio::runtime::Builder;

use crate::footprint::{Bar, Footprint};
use crate::host::{Failure, Host};
use crate::numbers::Numbers;

/// Failures after which the first look is taken: by then every pool is as warm as it gets.
const FIRST: u64 = 1_000;

/// Looks at the rest, evenly spread.
const LOOKS: u64 = 20;

fn main() -> ExitCode {
    let numbers = match Numbers::parse(std::env::args().skip(1)) {
        Ok(numbers) => numbers,
        Err(problem) => {
            println!("{problem}");
            return ExitCode::from(2);
        }
    };
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    let held = runtime.block_on(async {
        let host = Host::start().await;
        let traps = soak(&host, Failure::Trap, numbers.traps, numbers.bar).await;
        soak(&host, Failure::Timeout, numbers.timeouts, numbers.bar).await && traps
    });
    if held { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes so many failures, tells what they left, and says whether the bar held.
async fn soak(host: &Host, failure: Failure, number: u64, bar: Bar) -> bool {
    let first = FIRST.min(number / 2);
    host.fail(failure, first).await;
    let (before, mut most) = (host.footprint(), host.footprint());
    let begun = Instant::now();
    let mut left = number - first;
    let step = left.div_ceil(LOOKS).max(1);
    while left > 0 {
        let now = step.min(left);
        host.fail(failure, now).await;
        most = most.max(host.footprint());
        left -= now;
    }
    let elapsed = begun.elapsed();
    let verdict = bar.verdict(&before, &most);
    let each = elapsed.as_secs_f64() / (number - first).max(1) as f64 * 1e6;
    println!("{number:>9} {failure:<9} {:>7.1} s  {each:>7.1} µs each   {}", elapsed.as_secs_f64(), told(&before, &most));
    if let Err(broken) = &verdict {
        println!("          BROKEN: {broken}");
    }
    verdict.is_ok()
}

fn told(before: &Footprint, most: &Footprint) -> String {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    format!(
        "instances {} -> {}   guest memory {} -> {} B   descriptors {} -> {}   resident {:.1} -> {:.1} MiB",
        before.instances,
        most.instances,
        before.guest_bytes,
        most.guest_bytes,
        before.descriptors,
        most.descriptors,
        mib(before.resident_bytes),
        mib(most.resident_bytes),
    )
}
