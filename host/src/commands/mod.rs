//! What each command does. A command gathers, calls the library, and prints; it decides nothing that belongs to a run.

mod agent;
mod config;
mod context;
mod demo;
mod plugins;
mod sessions;

use clap::CommandFactory;

use crate::args::{Cli, Command};
use crate::exit::{Code, Failure};
use crate::terminal::Output;

pub use context::Context;

/// Runs one command.
///
/// # Errors
/// A failure with its exit code, sentence and hints.
pub async fn run(cli: Cli, output: &Output) -> Result<Code, Failure> {
    if let Command::Completions { shell } = cli.command {
        clap_complete::generate(shell, &mut Cli::command(), "creel", &mut std::io::stdout());
        return Ok(Code::Success);
    }
    if let Command::Config(command) = cli.command {
        return config::run(&Context::places(cli.config, cli.state_dir)?, &command, output);
    }
    if let Command::Demo(args) = cli.command {
        return demo::run(&args, cli.verbose, output).await;
    }
    let context = Context::load(cli.config, cli.state_dir, cli.verbose, output)?;
    match cli.command {
        Command::Agent(args) => agent::run(&context, args, output).await,
        Command::Plugins(command) => plugins::run(&context, command, output).await,
        Command::Sessions(command) => sessions::run(&context, command, output).await,
        Command::Config(_) | Command::Demo(_) | Command::Completions { .. } => Ok(Code::Success),
    }
}
