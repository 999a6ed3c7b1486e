//! What each command does. A command gathers, calls the library, and prints; it decides nothing that belongs to a run.

mod agent;
mod chat;
mod config;
mod context;
mod demo;
mod plugins;
mod sessions;

use std::sync::Arc;

use clap::CommandFactory;

use crate::args::{Cli, Command, PluginsCommand};
use crate::exit::{Code, Failure};
use crate::terminal::{Output, Spinner};
use crate::wiring::Progress;

pub use agent::OBSERVER_GRACE;
pub use context::Context;

/// Runs one command.
///
/// # Errors
/// A failure with its exit code, sentence and hints.
pub async fn run(cli: Cli, output: &Output) -> Result<Code, Failure> {
    if let Command::Completions { shell } = cli.command {
        return completions(shell, output);
    }
    if let Command::Config(command) = cli.command {
        return config::run(&Context::places(cli.config, cli.state_dir)?, &command, output).await;
    }
    if let Command::Demo(args) = cli.command {
        return demo::run(&args, cli.verbose, output).await;
    }
    if let Command::CompileComponent = cli.command {
        return Err(Failure::usage("compile-component stands alone"));
    }
    let writes = matches!(
        cli.command,
        Command::Plugins(PluginsCommand::Enable { .. } | PluginsCommand::Disable { .. } | PluginsCommand::Grant(_))
    );
    let context = Context::load(cli.config, cli.state_dir, cli.verbose, writes, output)?;
    match cli.command {
        Command::Agent(args) => agent::run(&context, args, output).await,
        Command::Chat(args) => chat::run(&context, args, output).await,
        Command::Plugins(command) => plugins::run(&context, command, output).await,
        Command::Sessions(command) => sessions::run(&context, command, output).await,
        Command::Config(_) | Command::Demo(_) | Command::CompileComponent | Command::Completions { .. } => Ok(Code::Success),
    }
}

/// A spinner while plugins are loaded, and what tells it. A host keeps the latter; after the spinner is dropped, it says nothing.
fn loading(output: &Output) -> (Arc<Spinner>, Progress) {
    let spinner = Arc::new(Spinner::loading(output, "loading plugins"));
    let shown = Arc::downgrade(&spinner);
    let say = move |text: &str| {
        if let Some(spinner) = shown.upgrade() {
            spinner.say(text);
        }
    };
    (spinner, Box::new(say))
}

fn completions(shell: clap_complete::Shell, output: &Output) -> Result<Code, Failure> {
    // Into memory first: writing to a closed pipe makes the generator panic.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "creel", &mut script);
    let script =
        String::from_utf8(script).map_err(|error| Failure::internal(format!("the completions are not UTF-8: {error}")))?;
    output.text(script);
    Ok(Code::Success)
}
