//! Where log lines go: stderr, one line each. `--verbose` raises `logging.level`, `CREEL_LOG` wins over both.

use std::io::{self, IsTerminal, Write};

use config::keys::LogLevel;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;

use crate::terminal;

/// What is quiet unless `CREEL_LOG` asks for it. Libraries below are noisy at their lower levels and say nothing that an operator
/// needs; that a run failed is told by the command that ran it.
const QUIET: &str = "wasmtime=warn,cranelift=warn,hyper=warn,reqwest=warn,rustls=warn,agent::run::failed=error";

/// Parts of Creel that say something. A word that is none of them and no level is a slip of the pen; taken as the name of a part, as the
/// filter would, it would silence everything.
const PARTS: [&str; 12] = [
    "agent",
    "config",
    "creel",
    "domain",
    "egress",
    "hooks",
    "models",
    "plugin",
    "plugin_host",
    "sessions",
    "tools",
    "workspace",
];

/// Starts logging. A second call in one process changes nothing, so that tests may call it too.
pub fn start(verbose: u8, configured: LogLevel) {
    let asked = std::env::var("CREEL_LOG").ok().filter(|text| !text.is_empty());
    let (filter, problem) = match asked.as_deref().map(parse) {
        Some(Ok(filter)) => (Some(filter), None),
        Some(Err(problem)) => (None, Some(problem)),
        None => (None, None),
    };
    let default = || EnvFilter::new(format!("{},{QUIET}", directive(verbose, configured)));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(default))
        .with_writer(|| Stderr)
        .with_ansi(io::stderr().is_terminal() && terminal::colour_is_wanted())
        .with_target(false)
        .without_time()
        .try_init();
    if let Some(problem) = problem {
        tracing::warn!("CREEL_LOG is ignored: {problem}; write for example `plugin=debug` or `warn`");
    }
}

/// The filter that a text means.
fn parse(text: &str) -> Result<EnvFilter, String> {
    for word in text.split(',').map(str::trim).filter(|word| !word.contains(['=', '[', ']', '{', '}', ':'])) {
        let is_level = word.is_empty() || word.parse::<LevelFilter>().is_ok();
        if !is_level && !PARTS.contains(&word) {
            return Err(format!("`{word}` is neither a level nor a part of creel"));
        }
    }
    EnvFilter::try_new(text).map_err(|error| {
        let wrong = text.split(',').find(|part| EnvFilter::try_new(part).is_err()).unwrap_or(text);
        format!("`{}` cannot be read ({error})", wrong.trim())
    })
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
    fn a_slip_of_the_pen_is_quoted() {
        for (text, wrong) in [
            ("wran", "`wran` is neither a level nor a part of creel"),
            ("warn,plugn", "`plugn` is neither"),
            ("plugin=debu", "`plugin=debu` cannot be read"),
            ("warn,hooks=x,plugin=debug", "`hooks=x` cannot be read"),
            ("a=b=c", "`a=b=c` cannot be read"),
        ] {
            let problem = parse(text).err().unwrap_or_default();
            assert!(problem.contains(wrong), "{text}: {problem}");
        }
        for text in ["warn", "DEBUG", "plugin", "off,plugin=trace", "hyper=info", "plugin[run{id=1}]=debug", "sessions::kv"] {
            assert!(parse(text).is_ok(), "{text}");
        }
    }

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
