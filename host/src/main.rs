//! The `creel` binary: parses the command line, runs one command, and turns its end into an exit code.

use std::process::ExitCode;

use clap::Parser;
use creel::args::Cli;
use creel::{commands, terminal};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = terminal::Output::from_process(cli.command.wants_json());
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return output.fail(&creel::exit::Failure::internal(format!("the runtime cannot start: {error}"))),
    };
    let result = runtime.block_on(commands::run(cli, &output));
    // Blocking work of a command that was given up (a read from the terminal) must not keep the process alive.
    runtime.shutdown_background();
    match result {
        Ok(code) => code.into(),
        Err(failure) => output.fail(&failure),
    }
}
