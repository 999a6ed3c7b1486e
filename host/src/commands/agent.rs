//! `creel agent`: one turn in this process (agent-loop 2.2.3).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent::error::RunErrorKind;
use agent::{AcceptedRun, RunOutcome, RunRequest};
use domain::approval::{Approver, NobodyToAsk};
use domain::cancel::CancelReason;
use domain::model::ModelRef;
use domain::session::RunStatus;
use domain::{AgentId, SessionKey};
use hooks::HookId;
use serde_json::{Value, json};

use super::Context;
use crate::args::AgentArgs;
use crate::exit::{Code, Failure};
use crate::terminal::{Output, Printer, Spinner, TerminalApprover, TerminalView};
use crate::wiring::{self, HostOptions, Running};

/// Largest message file, in bytes. A message is a prompt, not a data set.
const MAX_MESSAGE_BYTES: u64 = 4 * 1024 * 1024;
/// How long a finished one-shot run waits for its observers (agent-loop 19.3).
const OBSERVER_GRACE: Duration = Duration::from_secs(30);

pub(super) async fn run(context: &Context, args: AgentArgs, output: &Output) -> Result<Code, Failure> {
    let message = read_message(&args).await?;
    refuse_command(&message)?;
    let agent_id = choose_agent(context, &args)?;
    let request = request(context, &args, &agent_id, message)?;
    let printer = Printer::start().map_err(|error| Failure::internal(format!("the printer cannot start: {error}")))?;
    let spinner = Spinner::start(output, "loading plugins");
    let options = HostOptions {
        plugin_dirs: args.plugin_dirs.clone(),
        progress: Some(Box::new(move |text: &str| spinner.say(text))),
        ..HostOptions::new(context.locations.clone(), context.loaded.clone(), agent_id)
    };
    let prepared = wiring::prepare(options).await?;
    // What a plugin may still change or cancel must not be shown before the plugin has seen it.
    let preview = !prepared.has_handlers(HookId::MessageSending) && !prepared.has_handlers(HookId::ReplyPayloadSending);
    let view = TerminalView::new(*output, printer, preview);
    let approver: Arc<dyn Approver> =
        if output.can_ask() { Arc::new(TerminalApprover::new(*output, Arc::clone(&view))) } else { Arc::new(NobodyToAsk) };
    let running = prepared.start(Arc::clone(&view) as _, approver, Arc::clone(&view) as _);
    let result = turn(&running, request).await;
    view.pause().await;
    running.close(OBSERVER_GRACE).await;
    let outcome = result?;
    if output.is_json() {
        output.value(&as_json(&outcome));
    }
    finish(&outcome, output)
}

async fn turn(running: &Running, request: RunRequest) -> Result<RunOutcome, Failure> {
    let accepted = running.agent.accept(request).await.map_err(|error| match error {
        agent::error::AcceptError::EmptyMessage => Failure::usage(error.to_string()),
        agent::error::AcceptError::Store(error) => error.into(),
    })?;
    Ok(until_interrupted(accepted).await)
}

/// The first interrupt asks the run to stop and waits for its orderly end; the second one ends the process at once.
async fn until_interrupted(accepted: AcceptedRun) -> RunOutcome {
    let cancel = accepted.cancel();
    let mut run = std::pin::pin!(accepted.run());
    let mut asked = false;
    loop {
        tokio::select! {
            outcome = &mut run => return outcome,
            _ = interrupt() => {
                if asked {
                    std::process::exit(i32::from(Code::Interrupted as u8));
                }
                asked = true;
                cancel.cancel(CancelReason::User);
            }
        }
    }
}

async fn interrupt() {
    use tokio::signal::unix::{SignalKind, signal};
    let terminate = async {
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                terminate.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminate => {}
    }
}

async fn read_message(args: &AgentArgs) -> Result<String, Failure> {
    match (&args.message, &args.message_file) {
        (Some(text), _) => Ok(text.clone()),
        (None, Some(path)) => read_file(path).await,
        (None, None) => Err(Failure::usage("give the message with --message or --message-file")),
    }
}

async fn read_file(path: &Path) -> Result<String, Failure> {
    use tokio::io::AsyncReadExt;
    let name = if path == Path::new("-") { "stdin".to_owned() } else { path.display().to_string() };
    let failed = |error: std::io::Error| Failure::usage(format!("the message file {name} cannot be read: {error}"));
    let mut bytes = Vec::new();
    let limit = MAX_MESSAGE_BYTES + 1;
    if path == Path::new("-") {
        tokio::io::stdin().take(limit).read_to_end(&mut bytes).await.map_err(failed)?;
    } else {
        let file = tokio::fs::File::open(path).await.map_err(failed)?;
        file.take(limit).read_to_end(&mut bytes).await.map_err(failed)?;
    }
    decode(&name, bytes)
}

/// UTF-8 only; a leading byte-order mark is removed, line breaks are kept (agent-loop 2.2.1).
fn decode(name: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    if bytes.len() as u64 > MAX_MESSAGE_BYTES {
        return Err(Failure::usage(format!("the message file {name} is larger than {} MiB", MAX_MESSAGE_BYTES >> 20))
            .hint("put the material into a file of the workspace and name that file in the message"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!("the message file {name} is not UTF-8: the byte at offset {at} does not belong to any character"))
            .hint("convert it, for example with `iconv -t UTF-8`")
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Slash commands are not run from a message (agent-loop 2.1.5).
fn refuse_command(message: &str) -> Result<(), Failure> {
    let word = message.trim_start().split_whitespace().next().unwrap_or_default();
    let hint = match word {
        "/new" | "/reset" => "`creel agent --new-session --message …` begins a new transcript",
        "/stop" => "interrupt the running command instead",
        "/model" => "`creel agent --model provider/model …` chooses the model of a run",
        "/think" | "/thinking" => "`creel agent --thinking level …` chooses the level of a run",
        "/compact" | "/queue" | "/steer" | "/status" | "/help" | "/name" | "/verbose" | "/reasoning" => {
            "this command belongs to a chat; the command line has no such function in this version"
        }
        _ => return Ok(()),
    };
    Err(Failure::usage(format!("`{word}` is a chat command and is not run from --message")).hint(hint))
}

fn choose_agent(context: &Context, args: &AgentArgs) -> Result<AgentId, Failure> {
    let named = args.agent.as_deref().map(AgentId::parse).transpose().map_err(|error| Failure::usage(error.to_string()))?;
    let default = context.loaded.config.default_agent();
    let Some(key) = &args.session_key else { return Ok(named.unwrap_or(default)) };
    let key = SessionKey::parse(key, named.as_ref(), &default).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(key.agent().clone())
}

fn request(context: &Context, args: &AgentArgs, agent: &AgentId, message: String) -> Result<RunRequest, Failure> {
    let settings = context
        .loaded
        .config
        .agent(agent)
        .map_err(|error| Failure::usage(error.to_string()).hint("`agents.list` in the configuration holds the agents"))?;
    let session_key = match &args.session_key {
        Some(text) => SessionKey::parse(text, Some(agent), agent).map_err(|error| Failure::usage(error.to_string()))?,
        None => SessionKey::main(agent),
    };
    let model = args.model.as_deref().map(ModelRef::parse).transpose().map_err(|error| Failure::usage(error.to_string()))?;
    Ok(RunRequest {
        model,
        thinking: args.thinking.as_deref().map(thinking_level).transpose()?,
        timeout: Some(settings.run_budget(args.timeout).unwrap_or(Duration::ZERO)),
        fresh_session: args.new_session,
        sender_is_owner: Some(true),
        ..RunRequest::new(message, session_key)
    })
}

fn thinking_level(text: &str) -> Result<String, Failure> {
    let level: Result<config::keys::ThinkingLevel, _> = serde_json::from_value(Value::from(text));
    level.map(|level| level.as_str().to_owned()).map_err(|_| {
        Failure::usage(format!("`{text}` is not a thinking level")).hint("use off, minimal, low, medium, high or xhigh")
    })
}

/// The result of the command as JSON (agent-loop 2.2.5, 2.2.6).
fn as_json(outcome: &RunOutcome) -> Value {
    json!({
        "runId": outcome.run_id,
        "sessionKey": outcome.session_key.as_str(),
        "sessionId": outcome.session_id,
        "status": outcome.status,
        "payloads": delivered(outcome),
        "meta": {
            "durationMs": outcome.duration_ms,
            "transport": "embedded",
            "aborted": outcome.aborted,
            "error": outcome.error,
            "agentMeta": {
                "sessionId": outcome.session_id,
                "provider": outcome.model.as_ref().map(|model| &model.provider),
                "model": outcome.model.as_ref().map(|model| &model.model),
                "usage": outcome.usage,
                "lastCallUsage": outcome.last_call_usage,
                "modelCalls": outcome.model_calls,
                "toolCalls": outcome.tool_calls,
            },
        },
        "deliveryStatus": { "payloadOutcomes": outcome.deliveries },
    })
}

/// Payloads as they went out: a program must not see what a plugin cancelled or rewrote.
fn delivered(outcome: &RunOutcome) -> Vec<Value> {
    outcome
        .payloads
        .iter()
        .zip(&outcome.deliveries)
        .filter_map(|(payload, delivery)| {
            let content = delivery.content.clone()?;
            let mut payload = payload.clone();
            payload.text = Some(content);
            serde_json::to_value(payload).ok()
        })
        .collect()
}

fn finish(outcome: &RunOutcome, output: &Output) -> Result<Code, Failure> {
    for delivery in outcome.deliveries.iter().filter(|delivery| delivery.status != agent::DeliveryStatus::Sent) {
        output.note(format!("a reply was not sent: {}", delivery.reason.as_deref().unwrap_or("unknown reason")));
    }
    let code = match outcome.status {
        RunStatus::Done | RunStatus::Running => Code::Success,
        RunStatus::Failed => match outcome.error_kind {
            Some(RunErrorKind::Busy) => Code::Busy,
            Some(RunErrorKind::Internal) => Code::Internal,
            _ => Code::RunFailed,
        },
        RunStatus::Timeout => Code::Timeout,
        RunStatus::Killed => Code::Interrupted,
    };
    Ok(code)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_message_file_is_utf8_without_its_mark() {
        assert_eq!(decode("f", b"\xef\xbb\xbfa\r\nb".to_vec()).unwrap(), "a\r\nb");
        let failure = decode("f", b"ab\xffc".to_vec()).unwrap_err();
        assert_eq!(failure.code, Code::Usage);
        assert!(failure.message.contains("offset 2"), "{}", failure.message);
        assert!(decode("f", vec![b'a'; MAX_MESSAGE_BYTES as usize + 1]).is_err());
    }

    #[test]
    fn chat_commands_are_refused_with_the_proper_way() {
        assert!(refuse_command("/new").is_err());
        assert!(refuse_command("  /model x").is_err());
        assert!(refuse_command("/usr/bin is a directory").is_ok());
    }
}
