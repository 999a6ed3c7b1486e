//! Two ways of doing the same thing, measured in turns, so that a machine that gets slower hurts both.

use std::cmp::Ordering;
use std::fmt;
use std::time::{Duration, Instant};

/// How much is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Enough for steady medians.
    Full,
    /// Everything once, to see that it works.
    Once,
}

impl Effort {
    /// `full`, or one.
    pub(crate) fn times(self, full: u32) -> u32 {
        if self == Self::Full { full } else { 1 }
    }
}

/// What is counted as one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    /// Turns of each side. Many short ones: a turn in which the machine does something else is then one of many.
    pub(crate) turns: u32,
    /// Times that the thing is done in one turn.
    pub(crate) calls: u32,
}

/// Times of both sides, turn by turn.
pub(crate) struct Compared {
    pub(crate) host: Vec<Duration>,
    pub(crate) bare: Vec<Duration>,
}

impl Compared {
    /// Both sides in turns; each does its thing as often as it is told, and gives the time. The first turn of each is not counted.
    pub(crate) fn in_turns(turns: Turns, mut host: impl FnMut(u32) -> Duration, mut bare: impl FnMut(u32) -> Duration) -> Self {
        let mut compared = Self { host: Vec::new(), bare: Vec::new() };
        for turn in 0..=turns.turns {
            let (host, bare) = (host(turns.calls), bare(turns.calls));
            if turn > 0 {
                compared.host.push(host / turns.calls);
                compared.bare.push(bare / turns.calls);
            }
        }
        compared
    }

    /// Prints the medians beside each other, and the median of the ratios: the two times of one turn belong together.
    pub(crate) fn report(&self, effort: Effort, what: &str, bar: Bar) {
        if effort == Effort::Once {
            println!("{what}: ok");
            return;
        }
        let ratios = self.host.iter().zip(&self.bare).map(|(host, bare)| host.as_secs_f64() / bare.as_secs_f64());
        let (host, bare, ratio) = (median(&self.host), median(&self.bare), middle(ratios.collect(), f64::total_cmp));
        let verdict = if bar.holds(host, ratio) { "within" } else { "ABOVE" };
        println!("{what:<26} {host:>10.3?}   bare {bare:>10.3?}   ratio {ratio:>5.2}   {verdict} the bar: {bar}");
    }
}

/// What a result is held against.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bar {
    /// Times what bare wasmtime takes.
    Ratio(f64),
    /// A time.
    Time(Duration),
}

impl Bar {
    fn holds(self, time: Duration, ratio: f64) -> bool {
        match self {
            Self::Ratio(bar) => ratio <= bar,
            Self::Time(bar) => time <= bar,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ratio(bar) => write!(f, "{bar:.2} times"),
            Self::Time(bar) => write!(f, "{bar:?}"),
        }
    }
}

fn median(times: &[Duration]) -> Duration {
    middle(times.to_vec(), Duration::cmp)
}

fn middle<T: Copy>(mut values: Vec<T>, order: impl FnMut(&T, &T) -> Ordering) -> T {
    values.sort_unstable_by(order);
    values[values.len() / 2]
}

/// How long something takes.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let started = Instant::now();
    std::hint::black_box(work());
    started.elapsed()
}
