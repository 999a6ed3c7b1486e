//! Where log lines go: stderr, one line each. `--verbose` wins over `logging.level`, `CREEL_LOG` wins over both.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// Starts logging. A second call in one process changes nothing, so that tests may call it too.
pub fn start(verbose: u8, configured: &str) {
    let level = match verbose {
        0 => configured,
        1 => "info",
        _ => "trace",
    };
    // Libraries below are noisy at their lower levels and say nothing that an operator needs.
    let default = format!("{level},wasmtime=warn,cranelift=warn,hyper=warn,reqwest=warn,rustls=warn");
    let filter = std::env::var("CREEL_LOG").ok().and_then(|text| EnvFilter::try_new(text).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new(default));
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colour)
        .with_target(false)
        .without_time()
        .try_init();
}
