//! Where one transcript ends and the next begins: `before_reset`, `session_end` and `session_start` (plugin-hooks 4.15, 4.16, 5.8). All three
//! only watch and none is waited for; what they are told is read before the border is crossed.

use std::sync::Arc;

use domain::message::AgentMessage;
use domain::session::{OpenedSession, StoreError, TranscriptEvent, TranscriptRow};
use domain::{SessionId, SessionKey};
use hooks::catalogue::{BeforeReset, SessionEnd, SessionStart};
use hooks::context::{AgentContext, SessionContext};
use hooks::events::{Messages, observed};
use hooks::point::Observe;
use hooks::{HookId, Scope};

use crate::Shared;

/// The transcript that a request for a fresh one is about to end.
pub(crate) struct Ending {
    session_id: SessionId,
    started_at: u64,
    rows: Vec<TranscriptRow>,
}

impl Ending {
    /// Looks at the current transcript of a conversation, if there is one and anybody watches its end.
    pub(crate) async fn of(shared: &Shared, key: &SessionKey) -> Result<Option<Self>, StoreError> {
        let watched = [HookId::BeforeReset, HookId::SessionEnd].into_iter().any(|hook| shared.ports.hooks.has(hook));
        if !watched {
            return Ok(None);
        }
        let Some(entry) = shared.ports.store.entry(key).await? else { return Ok(None) };
        let session_id = SessionId::new(entry.session_id);
        let rows = shared.ports.store.rows(key.agent(), &session_id).await?;
        Ok(Some(Self { session_id, started_at: entry.session_started_at, rows }))
    }

    fn tell_reset(&self, shared: &Arc<Shared>, key: &SessionKey) {
        let context = AgentContext::new(key.agent().clone(), key.clone(), self.session_id.clone());
        let messages: Messages = self.messages().map(AgentMessage::to_json).collect();
        let event = observed::BeforeReset { session_file: None, messages: Some(messages), reason: Some("new".to_owned()) };
        observe::<BeforeReset>(shared, key, context, event);
    }

    fn messages(&self) -> impl Iterator<Item = &AgentMessage> {
        self.rows.iter().filter_map(|row| match &row.event {
            TranscriptEvent::Message { message } => Some(message),
            _ => None,
        })
    }
}

/// Tells the reset, the end of the transcript before this one, and the start of this one. All of it once the border is crossed: a reset
/// that was refused, because a run works in the session, did not happen.
pub(crate) fn tell(shared: &Arc<Shared>, key: &SessionKey, ending: Option<&Ending>, opened: &OpenedSession, now: u64) {
    let session = |session_id: SessionId| SessionContext {
        agent_id: key.agent().clone(),
        session_key: key.clone(),
        session_id,
        extra: Vec::new(),
    };
    if let (Some(previous), Some(ending)) = (&opened.previous, ending) {
        ending.tell_reset(shared, key);
        let event = observed::SessionEnd {
            message_count: u32::try_from(ending.messages().count()).unwrap_or(u32::MAX),
            duration_ms: Some(now.saturating_sub(ending.started_at)),
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

/// Tells watchers of something outside a run.
pub(crate) fn observe<H: Observe>(shared: &Arc<Shared>, key: &SessionKey, context: H::Context, event: H::Event) {
    if !shared.ports.hooks.has(H::ID) {
        return;
    }
    let hooks = shared.ports.hooks.clone();
    let scope = Scope { session_key: Some(key.clone()), ..Scope::default() };
    shared.background.observe(H::ID.name(), async move { hooks.observe::<H>(&event, &context, &scope).await });
}
