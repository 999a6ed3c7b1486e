//! The stages of a run from the claim to the last answer, in the order of agent-loop 4. Everything before the first row is cut short by
//! a request to stop; from then on each stage brings its rows to an end first.

use domain::message::{AgentMessage, AssistantMessage, ContentBlock, StopReason, UserMessage};
use domain::payload::{HOST_TRUST_KEYS, ReplyPayload};
use domain::silent::SILENT_TOKEN;
use hooks::HookId;
use hooks::catalogue::{BeforeAgentReply, BeforeAgentRun};
use hooks::context::Trigger;
use hooks::events::{Messages, before_agent_reply, before_agent_run};
use serde_json::{Map, json};

use super::RunState;
use super::ownership::Ownership;
use crate::accept::RunRequest;
use crate::append;
use crate::error::RunError;
use crate::prompt::build::{self, BuiltPrompt, PromptInput};
use crate::request_view::{self, TurnText};
use crate::selection;
use crate::turn::{self, Conversation, TurnInput};

/// What a run has reached so far; it is there for the exit whatever happens.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// The session, from the moment at which this run may own it.
    pub(super) owned: Option<Ownership>,
    /// The conversation with the model.
    pub(super) conversation: Conversation,
    /// Payload of a claimed or blocked run.
    pub(super) synthetic: Option<ReplyPayload>,
}

/// What comes of a run before its first row.
enum Opening {
    /// A plugin answers, or silences, the turn.
    Claimed(Option<ReplyPayload>),
    /// The last gate refused it.
    Blocked(BlockedRun),
    /// It goes to the model.
    Admitted(BuiltPrompt),
}

/// A refusal of the last gate.
struct BlockedRun {
    plugin: String,
    message: String,
    category: Option<String>,
}

/// All stages.
pub(super) async fn all(run: &RunState, request: &RunRequest, progress: &mut Progress) -> Result<(), RunError> {
    let opening = run.unless_stopped(open(run, request, progress)).await.ok_or(RunError::Aborted)??;
    match opening {
        Opening::Claimed(reply) => store_claim(run, request, reply, progress).await,
        Opening::Blocked(block) => store_block(run, block, progress).await,
        Opening::Admitted(built) => talk(run, request, &built, progress).await,
    }
}

/// From the claim to the last gate. Stores nothing. The session is owned before any plugin hears of the turn: a claim or a model that was
/// chosen for a message which a busy session then refuses would be an effect without a turn.
async fn open(run: &RunState, request: &RunRequest, progress: &mut Progress) -> Result<Opening, RunError> {
    own_session(run, progress).await?;
    if let Some(claim) = ask_for_claim(run, request).await {
        load_rows(run).await?;
        return Ok(Opening::Claimed(claim.reply.map(without_trust)));
    }
    let configured = request.model.clone().unwrap_or_else(|| run.settings().model.clone());
    let selection = selection::select(run, request, configured).await;
    run.set_model(run.ports().models.resolve(&selection.model)?);
    let project = run.ports().prompt_sources.project_context().await.map_err(RunError::Workspace)?;
    load_rows(run).await?;
    let prompt_id = run.ports().ids.next_id();
    let built = build::build(
        run,
        PromptInput {
            prompt: &request.message,
            prompt_id: &prompt_id,
            project: &project,
            model: &selection.model,
            thinking: thinking(run, request),
            legacy: selection.legacy,
        },
    )
    .await;
    run.set_callable(&built.tools);
    Ok(match ask_for_admission(run, request, &built).await {
        Some(block) => Opening::Blocked(block),
        None => Opening::Admitted(built),
    })
}

/// The session belongs to this run from here on.
async fn own_session(run: &RunState, progress: &mut Progress) -> Result<(), RunError> {
    // Noted before it is begun: when this future is dropped in between, the exit must give back what may have been taken.
    let owned = progress.owned.insert(Ownership::of(run));
    if let Err(error) = owned.begin(run.ports().clock.now_ms()).await {
        progress.owned = None;
        return Err(error.into());
    }
    Ok(())
}

/// Loads the transcript; after the model was chosen, which must not depend on it (plugin-hooks 4.1).
async fn load_rows(run: &RunState) -> Result<(), RunError> {
    let rows = run.ports().store.rows(run.session_key().agent(), run.session_id()).await?;
    run.set_rows(rows);
    Ok(())
}

fn thinking<'a>(run: &'a RunState, request: &'a RunRequest) -> Option<&'a str> {
    request.thinking.as_deref().or(run.settings().thinking.as_deref())
}

async fn talk(run: &RunState, request: &RunRequest, built: &BuiltPrompt, progress: &mut Progress) -> Result<(), RunError> {
    let resolved = run.model().ok_or_else(|| RunError::Panicked("the model was not resolved before the talk".to_owned()))?;
    if !request.images.is_empty() && !resolved.reads_images {
        tracing::warn!(model = %resolved.model, "the model does not read images, so it is told only that there were some");
    }
    let position = run.with_rows(<[_]>::len);
    let now = run.ports().clock.now_ms();
    let prompt_row = append::append(run, user_message(&request.message, request, now)).await?;
    let turn = turn_text(built, prompt_row, position);
    let input = TurnInput {
        resolved,
        system: &built.assembled.system,
        turn: &turn,
        tools: &built.tools,
        thinking: thinking(run, request),
        prompt: &request.message,
    };
    turn::converse(run, &input, &mut progress.conversation).await
}

/// A message of the user: a text, then the pictures that came with it.
fn user_message(text: &str, request: &RunRequest, timestamp: u64) -> AgentMessage {
    let pictures = request.images.iter().cloned().map(ContentBlock::Image);
    let content = std::iter::once(ContentBlock::text(text)).chain(pictures).collect();
    AgentMessage::User(UserMessage { content, timestamp, extra: Map::new() })
}

fn turn_text(built: &BuiltPrompt, prompt_row: Option<String>, position: usize) -> TurnText {
    TurnText { prompt_row, position, prepend: built.assembled.prepend.clone(), append: built.assembled.append.clone() }
}

/// `before_agent_reply`: only for turns that a person, a job or the heartbeat started (plugin-hooks 4.4).
async fn ask_for_claim(run: &RunState, request: &RunRequest) -> Option<before_agent_reply::Answer> {
    let may_be_claimed = matches!(request.trigger, Trigger::User | Trigger::Cron | Trigger::Heartbeat);
    if !may_be_claimed || !run.hooks().has(HookId::BeforeAgentReply) {
        return None;
    }
    let event = before_agent_reply::Event { cleaned_body: request.message.clone(), heartbeat_event_queue_session_key: None };
    let claimed = run.hooks().claim::<BeforeAgentReply>(&event, &run.agent_context(), run.scope()).await?;
    tracing::info!(plugin = %claimed.plugin, reason = claimed.answer.reason.as_deref().unwrap_or(""), "a plugin answered the turn");
    Some(claimed.answer)
}

/// The host's marks of trust are never taken from a guest.
fn without_trust(mut reply: ReplyPayload) -> ReplyPayload {
    reply.extra.retain(|key, _| !HOST_TRUST_KEYS.contains(&key.as_str()));
    reply
}

/// A claimed turn stores the user's text and the reply, so that the model knows of them later (sessions 5.4.8).
async fn store_claim(
    run: &RunState,
    request: &RunRequest,
    reply: Option<ReplyPayload>,
    progress: &mut Progress,
) -> Result<(), RunError> {
    let now = run.ports().clock.now_ms();
    append::append(run, user_message(&request.message, request, now)).await?;
    let mut extra = Map::new();
    extra.insert("origin".to_owned(), json!("before_agent_reply"));
    let row = AssistantMessage {
        content: vec![ContentBlock::text(reply.as_ref().map_or_else(|| SILENT_TOKEN.to_owned(), stored_text))],
        stop_reason: StopReason::Stop,
        timestamp: now,
        extra,
        ..AssistantMessage::default()
    };
    append::append(run, AgentMessage::Assistant(row)).await?;
    progress.synthetic = Some(reply.unwrap_or_else(|| ReplyPayload::text(SILENT_TOKEN)));
    Ok(())
}

/// The text of a reply; without one, what else it shows, so that the model does not take it for silence.
fn stored_text(reply: &ReplyPayload) -> String {
    match &reply.text {
        Some(text) if !text.trim().is_empty() => text.clone(),
        _ if reply.has_media() => reply.media().map(|address| format!("[media: {address}]")).collect::<Vec<_>>().join("\n"),
        _ if reply.is_renderable() => "[a reply without text]".to_owned(),
        _ => SILENT_TOKEN.to_owned(),
    }
}

async fn ask_for_admission(run: &RunState, request: &RunRequest, built: &BuiltPrompt) -> Option<BlockedRun> {
    if !run.hooks().has(HookId::BeforeAgentRun) {
        return None;
    }
    let prompt = turn_text(built, None, 0).around(&request.message);
    let mut messages = run.with_rows(request_view::history);
    messages.push(user_message(&prompt, request, run.ports().clock.now_ms()));
    let event = before_agent_run::Event {
        prompt,
        messages: messages.iter().map(AgentMessage::to_json).collect::<Messages>(),
        system_prompt: Some(built.assembled.system.clone()).filter(|system| !system.is_empty()),
        sender_is_owner: run.sender_is_owner(),
    };
    let default_text = |plugin: &str| format!("This message was blocked by the plugin `{plugin}`.");
    match run.hooks().decide::<BeforeAgentRun>(&event, &run.agent_context(), run.scope()).await {
        Ok(dispatched) => {
            let (plugin, block) = dispatched.decision.blocked?;
            let message = block.message.unwrap_or_else(|| default_text(plugin.as_str()));
            Some(BlockedRun { plugin: plugin.to_string(), message, category: block.category })
        }
        Err(failed) => {
            let plugin = failed.plugin.to_string();
            Some(BlockedRun { message: default_text(&plugin), plugin, category: Some("plugin_failure".to_owned()) })
        }
    }
}

/// A blocked run stores the replacement only: the user's text is not kept and the reason appears nowhere (plugin-hooks 5.3).
async fn store_block(run: &RunState, block: BlockedRun, progress: &mut Progress) -> Result<(), RunError> {
    let now = run.ports().clock.now_ms();
    let mut extra = Map::new();
    extra.insert("blocked".to_owned(), json!({ "by": block.plugin, "at": now, "category": block.category }));
    let replacement = UserMessage { content: vec![ContentBlock::text(block.message.clone())], timestamp: now, extra };
    append::append(run, AgentMessage::User(replacement)).await?;
    progress.synthetic = Some(ReplyPayload::text(block.message));
    Ok(())
}
