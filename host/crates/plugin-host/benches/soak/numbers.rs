//! How many failures are made.

use crate::footprint::Bar;

/// Numbers of one soak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub(crate) traps: u64,
    pub(crate) timeouts: u64,
    pub(crate) bar: Bar,
}

impl Numbers {
    /// Reads the arguments of the program. Cargo adds `--bench` to them when it is a bench that it wants.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let arguments: Vec<String> = arguments.collect();
        let mut numbers = if arguments.iter().any(|argument| argument == "--bench") {
            Self { traps: 1_000_000, timeouts: 100_000, bar: Bar::Full }
        } else {
            Self { traps: 3_000, timeouts: 300, bar: Bar::Counts }
        };
        let mut rest = arguments.iter().filter(|argument| *argument != "--bench");
        while let Some(argument) = rest.next() {
            let number = || -> Option<u64> { rest.clone().next()?.parse().ok() };
            match (argument.as_str(), number()) {
                ("--traps", Some(number)) => numbers.traps = number,
                ("--timeouts", Some(number)) => numbers.timeouts = number,
                _ => return Err(format!("`{argument}` is not known; use --traps N and --timeouts N")),
            }
            rest.next();
        }
        Ok(numbers)
    }
}
