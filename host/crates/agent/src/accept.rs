//! Takes a message (agent-loop 3): checks it, opens its session, tells the plugins, and gives back a run that has an id before any model is
//! called. What is refused here has changed nothing.

use std::sync::Arc;
use std::time::Duration;

use domain::cancel::Cancel;
use domain::message::ImageBlock;
use domain::model::ModelRef;
use domain::session::OpenSession;
use domain::{RunId, SessionId, SessionKey};
use hooks::catalogue::MessageReceived;
use hooks::context::{MessageContext, Trigger};
use hooks::events::observed;

use crate::border::{self, Ending};
use crate::error::AcceptError;
use crate::run::RunState;
use crate::{Agent, Shared, services};

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
        let ending = if request.fresh_session { Ending::of(&self.shared, &request.session_key).await? } else { None };
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
        tell(&self.shared, &request, &run_id, now);
        if opened.is_new {
            border::tell(&self.shared, &request.session_key, ending.as_ref(), &opened, now);
        }
        let state = Arc::new(RunState::new(Arc::clone(&self.shared), run_id, opened.session_id, &request));
        services::offer(&state);
        Ok(AcceptedRun { state, request })
    }
}

/// `message_received`; not waited for.
fn tell(shared: &Arc<Shared>, request: &RunRequest, run_id: &RunId, now: u64) {
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
    border::observe::<MessageReceived>(shared, key, context, event);
}
