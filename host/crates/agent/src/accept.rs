//! Takes a message (agent-loop 3): checks it, opens its session, tells the plugins, and gives back a run that has an id before any model is
//! called. What is refused here has changed nothing.

use std::sync::Arc;
use std::time::Duration;

use domain::cancel::Cancel;
use domain::message::ImageBlock;
use domain::model::ModelRef;
use domain::session::{OpenSession, OpenedSession};
use domain::{RunId, SessionId, SessionKey};
use hooks::Scope;
use hooks::catalogue::{MessageReceived, SessionEnd, SessionStart};
use hooks::context::{MessageContext, SessionContext, Trigger};
use hooks::events::observed;

use crate::error::AcceptError;
use crate::run::RunState;
use crate::{Agent, Shared};

/// A message for the agent.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The text.
    pub message: String,
    /// Pictures that came with it.
    pub images: Vec<ImageBlock>,
    /// The conversation.
    pub session_key: SessionKey,
    /// Model for this run; none: the configured one.
    pub model: Option<ModelRef>,
    /// Thinking level for this run; none: the configured one.
    pub thinking: Option<String>,
    /// Budget of this run: none: the configured one; zero: unlimited.
    pub timeout: Option<Duration>,
    /// What started it.
    pub trigger: Trigger,
    /// Who sent it, as the channel addresses them.
    pub from: String,
    /// Whether the sender is known to own this host.
    pub sender_is_owner: Option<bool>,
    /// Start a new transcript.
    pub fresh_session: bool,
}

impl RunRequest {
    /// A person's message with the configured model, thinking and budget.
    pub fn new(message: impl Into<String>, session_key: SessionKey) -> Self {
        Self {
            message: message.into(),
            images: Vec::new(),
            session_key,
            model: None,
            thinking: None,
            timeout: None,
            trigger: Trigger::User,
            from: "operator".to_owned(),
            sender_is_owner: None,
            fresh_session: false,
        }
    }
}

/// A run that was accepted and has not started.
pub struct AcceptedRun {
    pub(crate) state: Arc<RunState>,
    pub(crate) request: RunRequest,
}

impl std::fmt::Debug for AcceptedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AcceptedRun").field("run_id", self.run_id()).field("request", &self.request).finish_non_exhaustive()
    }
}

impl AcceptedRun {
    /// The run.
    pub fn run_id(&self) -> &RunId {
        self.state.run_id()
    }

    /// The transcript.
    pub fn session_id(&self) -> &SessionId {
        self.state.session_id()
    }

    /// Asks the run to stop.
    pub fn cancel(&self) -> Cancel {
        self.state.cancel().clone()
    }
}

impl Agent {
    /// Accepts a message.
    ///
    /// # Errors
    /// When the message is blank, or its session cannot be opened.
    pub async fn accept(&self, request: RunRequest) -> Result<AcceptedRun, AcceptError> {
        if request.message.trim().is_empty() {
            return Err(AcceptError::EmptyMessage);
        }
        let ports = &self.shared.ports;
        let run_id = RunId::new(ports.ids.next_id());
        let now = ports.clock.now_ms();
        let opened = ports
            .store
            .open(OpenSession {
                key: request.session_key.clone(),
                now,
                new_id: SessionId::new(ports.ids.next_id()),
                fresh: request.fresh_session,
                interaction: request.trigger == Trigger::User,
                cwd: self.shared.settings.workspace_dir.clone(),
            })
            .await?;
        tell(&self.shared, &request, &run_id, &opened, now);
        let state = RunState::new(Arc::clone(&self.shared), run_id, opened.session_id, &request);
        Ok(AcceptedRun { state: Arc::new(state), request })
    }
}

/// `message_received` and, at a session border, `session_end` and `session_start`; none of them is waited for.
fn tell(shared: &Arc<Shared>, request: &RunRequest, run_id: &RunId, opened: &OpenedSession, now: u64) {
    let key = &request.session_key;
    let mut context = MessageContext::new(shared.ports.channel.id());
    context.session_key = Some(key.clone());
    context.run_id = Some(run_id.clone());
    context.sender_id = Some(request.from.clone());
    let event = observed::MessageReceived {
        from: request.from.clone(),
        content: request.message.clone(),
        timestamp: Some(now),
        ..observed::MessageReceived::default()
    };
    observe::<MessageReceived>(shared, key, context, event);
    if !opened.is_new {
        return;
    }
    let session = |session_id: SessionId| SessionContext {
        agent_id: key.agent().clone(),
        session_key: key.clone(),
        session_id,
        extra: Vec::new(),
    };
    if let Some(previous) = &opened.previous {
        let event = observed::SessionEnd {
            message_count: 0,
            duration_ms: None,
            reason: Some(observed::EndReason::New),
            session_file: None,
            transcript_archived: Some(false),
            next_session_id: Some(opened.session_id.to_string()),
            next_session_key: None,
            transcript: Err("this host version has no reader for ended transcripts".to_owned()),
        };
        observe::<SessionEnd>(shared, key, session(previous.clone()), event);
    }
    let event = observed::SessionStart { resumed_from: opened.previous.as_ref().map(ToString::to_string) };
    observe::<SessionStart>(shared, key, session(opened.session_id.clone()), event);
}

fn observe<H: hooks::point::Observe>(shared: &Arc<Shared>, key: &SessionKey, context: H::Context, event: H::Event) {
    if !shared.ports.hooks.has(H::ID) {
        return;
    }
    let hooks = shared.ports.hooks.clone();
    let scope = Scope { session_key: Some(key.clone()), ..Scope::default() };
    shared.background.observe(H::ID.name(), async move { hooks.observe::<H>(&event, &context, &scope).await });
}
