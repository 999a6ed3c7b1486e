//! Where log lines go: stderr, one line each. `--verbose` raises `logging.level`, `CREEL_LOG` wins over both.

use std::io::{self, IsTerminal, Write};

use config::keys::LogLevel;
use tracing_subscriber::EnvFilter;

use crate::terminal;

/// What is quiet unless `CREEL_LOG` asks for it. Libraries below are noisy at their lower levels and say nothing that an operator
/// needs; that a run failed is told by the command that ran it.
const QUIET: &str = "wasmtime=warn,cranelift=warn,hyper=warn,reqwest=warn,rustls=warn,agent::run::failed=error";

/// Starts logging. A second call in one process changes nothing, so that tests may call it too.
pub fn start(verbose: u8, configured: LogLevel) {
    let asked = std::env::var("CREEL_LOG").ok().filter(|text| !text.is_empty());
    let parsed = asked.as_deref().map(EnvFilter::try_new);
    let default = || EnvFilter::new(format!("{},{QUIET}", directive(verbose, configured)));
    let (filter, problem) = match parsed {
        Some(Ok(filter)) => (filter, None),
        Some(Err(error)) => (default(), Some(error)),
        None => (default(), None),
    };
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(|| Stderr)
        .with_ansi(io::stderr().is_terminal() && terminal::colour_is_wanted())
        .with_target(false)
        .without_time()
        .try_init();
    if let Some(error) = problem {
        tracing::warn!("CREEL_LOG is ignored: {error}; write for example `plugin=debug` or `warn`");
    }
}

/// The louder one of what the configuration and the command line ask for.
fn directive(verbose: u8, configured: LogLevel) -> &'static str {
    let configured = match configured {
        LogLevel::Silent => "off",
        LogLevel::Fatal | LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    };
    match (verbose, configured) {
        (0, configured) => configured,
        (1, "trace") => "trace",
        (1, _) => "debug",
        (_, _) => "trace",
    }
}

/// Stderr, shared with a spinner.
struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        terminal::undisturbed(|| io::stderr().lock().write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_makes_it_louder_and_never_quieter() {
        for (verbose, configured, expected) in [
            (0, LogLevel::Silent, "off"),
            (0, LogLevel::Fatal, "error"),
            (0, LogLevel::Info, "info"),
            (1, LogLevel::Info, "debug"),
            (1, LogLevel::Trace, "trace"),
            (2, LogLevel::Silent, "trace"),
        ] {
            assert_eq!(directive(verbose, configured), expected, "{verbose} {configured:?}");
        }
    }
}
