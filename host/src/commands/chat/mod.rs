//! `creel chat`: turn after turn in one process. Between turns and during them plugins are loaded again when their files change, or when
//! `creel plugins reload` says so; the turn that runs keeps what it began with.

mod input;
mod live;

use std::io::IsTerminal as _;
use std::sync::Arc;

use agent::RunRequest;
use config::Loaded;
use domain::AgentId;
use tokio::sync::Notify;

use super::agent::interrupt::Interrupts;
use super::agent::{close, may_preview, not_accepted, request, start, tell, view};
use super::{Context, loading, plugins};
use crate::args::{ChatArgs, ConversationArgs};
use crate::exit::{Code, Failure};
use crate::terminal::{Output, TerminalView};
use crate::wiring::plugins::own_compiler;
use crate::wiring::{self, HostOptions};
use input::{Input, Typed};
use live::Live;

/// What a line can be that is no message.
const COMMANDS: &str = "/new begins a new transcript, /reload loads plugins and configuration again, /quit ends; a line that ends in \\ \
goes on in the next one";

/// What the loop goes by.
struct Chat<'c> {
    args: &'c ConversationArgs,
    agent_id: AgentId,
    output: &'c Output,
    view: Arc<TerminalView>,
    /// Whether a person types.
    is_typed: bool,
    /// Whether the next message begins a new transcript.
    fresh: bool,
    /// How the last run ended that did not end well.
    code: Code,
}

pub(super) async fn run(context: &Context, args: ChatArgs, output: &Output) -> Result<Code, Failure> {
    let args = args.conversation;
    let agent_id = request::choose_agent(&context.loaded, &args)?;
    // A wrong model or conversation is told before anything is loaded.
    request::build(&context.loaded, &args, &agent_id, String::new())?;
    let mut interrupts = Interrupts::listen()?;
    let (spinner, progress) = loading(output);
    let options = HostOptions {
        plugin_dirs: plugins::existing(args.plugin_dirs.clone())?,
        progress: Some(progress),
        ..HostOptions::new(context.locations.clone(), context.loaded.clone(), agent_id.clone(), own_compiler())
    };
    let prepared = interrupts.unless(wiring::prepare(options)).await??;
    drop(spinner);
    let view = view(output)?;
    let running = start(prepared, &view, output);
    let mut live = Live::new(context, running);
    let mut chat = Chat {
        fresh: args.new_session,
        args: &args,
        agent_id,
        output,
        view,
        is_typed: output.can_ask() && std::io::stdin().is_terminal(),
        code: Code::Success,
    };
    let result = chat.turns(&mut live, &mut interrupts).await;
    let _ = interrupts.unless(chat.view.pause()).await;
    close(live.end(), &mut interrupts, output).await;
    match (result?, output.lost()) {
        (_, Some(lost)) => Err(lost),
        // A person has seen what went wrong; a script has not.
        (code, None) => Ok(if chat.is_typed { Code::Success } else { code }),
    }
}

impl Chat<'_> {
    async fn turns(&mut self, live: &mut Live<'_>, interrupts: &mut Interrupts) -> Result<Code, Failure> {
        let mut input = Input::start().map_err(|error| Failure::internal(format!("stdin cannot be read: {error}")))?;
        if self.is_typed {
            self.output.note(COMMANDS);
        }
        loop {
            let typed = loop {
                self.prompt(&input);
                tokio::select! {
                    typed = input.next() => break typed?,
                    wanted = live.wanted() => {
                        self.line_end();
                        live.reload(wanted, self.output, &self.view).await;
                    }
                    // As at the end of the input: whatever was said is done.
                    stopped = interrupts.unless(std::future::pending::<()>()) => {
                        self.line_end();
                        return stopped.map(|()| self.code);
                    }
                }
            };
            match typed {
                Typed::End => {
                    self.line_end();
                    return Ok(self.code);
                }
                Typed::Line(line) => match line.trim() {
                    "" => {}
                    "/quit" | "/exit" => return Ok(self.code),
                    "/help" => self.output.note(COMMANDS),
                    "/new" => {
                        self.fresh = true;
                        self.output.note("the next message begins a new transcript");
                    }
                    "/reload" => live.reload_now(self.output, &self.view).await,
                    command if is_command(command) => {
                        self.output.warning(format!("there is no command {command:?} here: {COMMANDS}"));
                    }
                    _ => self.turn_or_why_not(line, live, interrupts).await?,
                },
            }
            if self.output.lost().is_some() {
                return Ok(self.code);
            }
        }
    }

    /// One message and its reply. What goes wrong in it ends the turn and not the chat.
    async fn turn_or_why_not(
        &mut self,
        message: String,
        live: &mut Live<'_>,
        interrupts: &mut Interrupts,
    ) -> Result<(), Failure> {
        match self.turn(message, live, interrupts).await {
            Err(failure) if failure.code != Code::Interrupted => {
                self.view.pause().await;
                self.output.failure(&failure);
                self.code = failure.code;
                Ok(())
            }
            result => result,
        }
    }

    async fn turn(&mut self, message: String, live: &mut Live<'_>, interrupts: &mut Interrupts) -> Result<(), Failure> {
        let request = self.request(live.loaded(), message)?;
        self.view.preview(may_preview(live.loaded(), live.running(), self.output));
        let accepted = interrupts.unless(live.running().agent.accept(request)).await?.map_err(not_accepted)?;
        self.fresh = false;
        let is_over = Notify::new();
        let asked = || self.view.say("stopping; interrupt again to stop at once");
        let run = async {
            let outcome = interrupts.run(accepted, asked).await;
            is_over.notify_one();
            outcome
        };
        let (outcome, ()) = tokio::join!(run, live.reload_until(&is_over, self.output, &self.view));
        self.view.pause().await;
        let code = tell(&outcome, &self.view.take_sent(), self.output);
        if code != Code::Success {
            self.code = code;
        }
        Ok(())
    }

    fn request(&self, loaded: &Loaded, message: String) -> Result<RunRequest, Failure> {
        let request = request::build(loaded, self.args, &self.agent_id, message)?;
        Ok(RunRequest { fresh_session: self.fresh, ..request })
    }

    fn prompt(&self, input: &Input) {
        if self.is_typed {
            self.output.prompt(if input.is_within() { ". " } else { "> " });
        }
    }

    /// Leaves the line of the prompt.
    fn line_end(&self) {
        if self.is_typed {
            self.output.note("");
        }
    }
}

/// A path that a message begins with is no command.
fn is_command(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    word.strip_prefix('/').is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_words_and_no_paths() {
        assert!(is_command("/stop") && is_command("/model offline/echo"));
        assert!(
            !is_command("/etc/passwd is what?") && !is_command("/") && !is_command("what is /new") && !is_command("/2 of it")
        );
    }
}
