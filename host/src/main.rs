//! The `creel` binary: parses the command line, runs one command, and turns its end into an exit code.

use std::process::ExitCode;

use clap::Parser;
use creel::args::{Cli, Command};
use creel::terminal::Output;
use creel::{commands, process};

fn main() -> ExitCode {
    process::close_to_others();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(parsed) => return process::answer(&Output::from_process(false), &parsed).into(),
    };
    if let Command::CompileComponent = cli.command {
        return compile_component();
    }
    let output = Output::from_process(cli.command.wants_json());
    process::run(&output, commands::run(cli, &output)).into()
}

/// Compiles one component for a host that started this process. Before anything else is set up: it reads no configuration, has no
/// threads yet, and limits itself.
#[allow(clippy::print_stderr, reason = "its standard error goes to the host that started it")]
fn compile_component() -> ExitCode {
    match plugin_host::compile::serve(std::io::stdin().lock(), std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(error.exit_code())
        }
    }
}
