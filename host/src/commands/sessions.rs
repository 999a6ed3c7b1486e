//! `creel sessions list|show|export`.

use std::io::ErrorKind;
use std::path::Path;

use domain::AgentId;
use domain::message::{AgentMessage, ContentBlock, StopReason};
use domain::session::{SessionStore, SessionSummary, TranscriptEvent, TranscriptRow};
use jiff::Timestamp;
use serde_json::json;
use sessions::{ExportError, FoundSession, SqliteSessions, StateDir};
use tokio::fs::File;

use super::Context;
use crate::args::SessionsCommand;
use crate::exit::{Code, Failure};
use crate::terminal::{Output, Table};

/// Longest text of one row that `show` prints, in characters.
const MAX_SHOWN_CHARS: usize = 2000;

pub(super) async fn run(context: &Context, command: SessionsCommand, output: &Output) -> Result<Code, Failure> {
    let store = SqliteSessions::new(StateDir::new(context.locations.state_dir()));
    let result = match command {
        SessionsCommand::List { agent, json } => list(&store, agent.as_deref(), json, output).await,
        SessionsCommand::Show { session, agent, tail, json } => {
            let agent = agent_of(context, agent.as_deref(), session.as_deref())?;
            show(&store, &agent, session.as_deref(), tail, json, output).await
        }
        SessionsCommand::Export { session, agent, output: file } => {
            let agent = agent_of(context, agent.as_deref(), session.as_deref())?;
            export(&store, &agent, session.as_deref(), file.as_deref(), output).await
        }
    };
    store.close().await;
    result.map(|()| Code::Success)
}

/// The agent that is meant: the one named, the one in the key, or the default agent.
fn agent_of(context: &Context, named: Option<&str>, session: Option<&str>) -> Result<AgentId, Failure> {
    let in_key = session.and_then(|key| key.strip_prefix("agent:")).and_then(|rest| rest.split_once(':')).map(|(agent, _)| agent);
    match named.or(in_key) {
        Some(text) => AgentId::parse(text).map_err(|error| Failure::usage(error.to_string())),
        None => Ok(context.loaded.config.default_agent()),
    }
}

async fn find(store: &SqliteSessions, agent: &AgentId, session: Option<&str>) -> Result<FoundSession, Failure> {
    let name = session.map_or_else(|| format!("agent:{agent}:main"), str::to_owned);
    Ok(store.find(agent, &name).await?)
}

async fn list(store: &SqliteSessions, agent: Option<&str>, as_json: bool, output: &Output) -> Result<(), Failure> {
    let agents = match agent {
        Some(text) => vec![AgentId::parse(text).map_err(|error| Failure::usage(error.to_string()))?],
        None => store.agent_ids().await?,
    };
    let mut all = Vec::new();
    for agent in &agents {
        all.extend(store.list(agent).await?);
    }
    all.sort_by_key(|session| std::cmp::Reverse(session.entry.updated_at));
    if as_json {
        let rows: Vec<_> = all
            .iter()
            .map(|session| json!({ "sessionKey": session.key.as_str(), "rows": session.rows, "entry": session.entry }))
            .collect();
        output.value(&rows);
        return Ok(());
    }
    if all.is_empty() {
        let of = agent.map_or_else(String::new, |agent| format!(" of agent `{agent}`"));
        output.note(format!("There are no sessions{of} yet; `creel agent --message \"…\"` begins one."));
        return Ok(());
    }
    output.line(table(&all).to_string());
    Ok(())
}

fn table(sessions: &[SessionSummary]) -> Table {
    let mut table = Table::new(&["session", "status", "rows", "tokens in/out", "changed"]);
    for session in sessions {
        let entry = &session.entry;
        let status = entry.status.map_or_else(|| "-".to_owned(), |status| format!("{status:?}").to_lowercase());
        table.row([
            session.key.to_string(),
            status,
            session.rows.to_string(),
            format!("{}/{}", entry.input_tokens, entry.output_tokens),
            when(entry.updated_at),
        ]);
    }
    table
}

async fn show(
    store: &SqliteSessions,
    agent: &AgentId,
    session: Option<&str>,
    rows: u32,
    as_json: bool,
    output: &Output,
) -> Result<(), Failure> {
    let found = find(store, agent, session).await?;
    let tail = store.tail(agent, &found.session_id, rows as usize).await?;
    if as_json {
        output.value(&json!({
            "sessionKey": found.key.as_str(), "sessionId": found.session_id, "hasEarlier": tail.has_earlier, "rows": tail.rows,
        }));
        return Ok(());
    }
    output.line(format!("{}  {}  since {}", found.key, found.session_id, when(found.created_at)));
    if tail.has_earlier {
        output.line(format!("… earlier rows are left out; --tail N shows more than {rows}"));
    }
    for row in &tail.rows {
        output.line(describe(row, output));
    }
    Ok(())
}

fn describe(row: &TranscriptRow, output: &Output) -> String {
    let (who, text) = match &row.event {
        TranscriptEvent::Session { cwd, .. } => ("session".to_owned(), format!("begun in {cwd}")),
        TranscriptEvent::Message { message } => (speaker(message), body(message)),
        TranscriptEvent::CustomMessage { custom_type, content, .. } => (format!("note:{custom_type}"), content.clone()),
        TranscriptEvent::Custom { custom_type, .. } => (format!("data:{custom_type}"), String::new()),
        TranscriptEvent::ModelChange { provider, model_id } => ("model".to_owned(), format!("{provider}/{model_id}")),
        TranscriptEvent::Unknown(value) => ("unknown".to_owned(), value["type"].as_str().unwrap_or_default().to_owned()),
    };
    let heading = output.style().bold().apply_to(format!("[{}] {who}", row.seq));
    if text.is_empty() { heading.to_string() } else { format!("{heading}\n{}", indent(&cut(&text))) }
}

fn speaker(message: &AgentMessage) -> String {
    match message {
        AgentMessage::ToolResult(result) => {
            format!("{} of {}", if result.is_error { "failed result" } else { "result" }, result.tool_name)
        }
        other => other.role().to_owned(),
    }
}

fn body(message: &AgentMessage) -> String {
    let mut lines: Vec<String> = message
        .content()
        .iter()
        .map(|block| match block {
            ContentBlock::Text(text) => text.text.clone(),
            ContentBlock::Thinking(_) => "(reasoning)".to_owned(),
            ContentBlock::Image(image) => format!("(picture, {})", image.mime_type),
            ContentBlock::ToolCall(call) => format!("→ {} {}", call.name, call.arguments),
            ContentBlock::Other(_) => "(unknown block)".to_owned(),
        })
        .collect();
    lines.extend(failure(message));
    lines.join("\n")
}

/// Why an answer of the model is none, or half of one.
fn failure(message: &AgentMessage) -> Option<String> {
    let AgentMessage::Assistant(answer) = message else { return None };
    let word = match answer.stop_reason {
        StopReason::Error => "failed",
        StopReason::Aborted => "aborted",
        _ => return None,
    };
    Some(answer.error_message.as_ref().map_or_else(|| format!("({word})"), |why| format!("({word}: {why})")))
}

/// Stored text may hold anything, and this goes to a terminal.
fn indent(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {}", hooks::fault::one_line(line, 8192))).collect();
    lines.join("\n")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}\n… {} more characters", &text[..end], text[end..].chars().count()),
        None => text.to_owned(),
    }
}

fn when(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    time.map_or_else(|| "-".to_owned(), |time| time.strftime("%Y-%m-%d %H:%M:%SZ").to_string())
}

async fn export(
    store: &SqliteSessions,
    agent: &AgentId,
    session: Option<&str>,
    file: Option<&Path>,
    output: &Output,
) -> Result<(), Failure> {
    let found = find(store, agent, session).await?;
    let Some(path) = file else {
        let mut stdout = tokio::io::stdout();
        return match store.export(agent, &found.session_id, &mut stdout).await {
            // A reader that went away (`| head`) is no error.
            Err(ExportError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            result => finish(result, "stdout").map(drop),
        };
    };
    let mut writer = create(path).await?;
    let exported = store.export(agent, &found.session_id, &mut writer).await;
    if let Err(ExportError::Write(_)) = &exported {
        // After a damaged row the file stays: the rows before it may be all that is left of a conversation.
        let _ = tokio::fs::remove_file(path).await;
    }
    let rows = finish(exported, &path.display().to_string())?;
    output.note(format!("{rows} rows of {} written to {}", found.session_id, path.display()));
    Ok(())
}

async fn create(path: &Path) -> Result<File, Failure> {
    let opened = tokio::fs::OpenOptions::new().write(true).create_new(true).open(path).await;
    opened.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::usage(format!("{} exists already, and an export never overwrites a file", path.display()))
                .hint("name another file with --output")
        }
        _ => Failure::usage(format!("{} cannot be created: {error}", path.display())),
    })
}

fn finish(result: Result<u64, ExportError>, target: &str) -> Result<u64, Failure> {
    result.map_err(|error| match error {
        ExportError::Store(error) => error.into(),
        ExportError::Write(error) => Failure::new(Code::RunFailed, format!("{target} cannot be written: {error}")),
    })
}
