//! What all parts of one run share. Facts that become known on the way (model, tools, rows) are set once and only read afterwards. Work
//! that a plugin asks for has a state of its own, with the chain of plugins around it, over the same facts.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use domain::cancel::Cancel;
use domain::event::EventData;
use domain::message::AgentMessage;
use domain::model::{CallBounds, ResolvedModel, RunLimit};
use domain::ports::RunScope;
use domain::session::{TranscriptEvent, TranscriptRow};
use domain::tool::{Tool, ToolSpec};
use domain::{PluginId, RunId, SessionId, SessionKey};
use hooks::context::{AgentContext, Trigger};
use hooks::events::Messages;
use hooks::{Dispatcher, Scope};

use crate::accept::RunRequest;
use crate::emitter::Emitter;
use crate::ports::{AgentPorts, AgentSettings};
use crate::{Shared, wind_down};

/// State of one run, for its own work or for work that a plugin asked for.
pub(crate) struct RunState {
    facts: Arc<Facts>,
    scope: Scope,
    guard_scope: Scope,
}

/// What is the same for all work of a run.
struct Facts {
    shared: Arc<Shared>,
    run_id: RunId,
    session_key: SessionKey,
    session_id: SessionId,
    from: String,
    sender_is_owner: Option<bool>,
    bounds: CallBounds,
    run_scope: RunScope,
    emitter: Emitter,
    base_context: AgentContext,
    model: OnceLock<ResolvedModel>,
    permitted: OnceLock<Vec<ToolSpec>>,
    callable: OnceLock<BTreeSet<String>>,
    rows: Mutex<Vec<TranscriptRow>>,
}

impl RunState {
    pub(crate) fn new(shared: Arc<Shared>, run_id: RunId, session_id: SessionId, request: &RunRequest) -> Self {
        let session_key = request.session_key.clone();
        let run_scope = RunScope::new(run_id.clone());
        let agent_id = session_key.agent().clone();
        let emitter = Emitter::new(
            Arc::clone(&shared.ports.events),
            Arc::clone(&shared.ports.clock),
            run_id.clone(),
            session_key.clone(),
            session_id.clone(),
            agent_id.clone(),
        );
        let mut base_context = AgentContext::new(agent_id, session_key.clone(), session_id.clone());
        base_context.run_id = Some(run_id.clone());
        base_context.trigger = Some(request.trigger.clone());
        base_context.workspace_dir = Some(shared.settings.workspace_dir.clone());
        base_context.channel = Some(shared.ports.channel.id().to_owned());
        base_context.message_provider = base_context.channel.clone();
        base_context.sender_id = Some(request.from.clone());
        base_context.sandboxed = Some(false);
        let bounds = CallBounds {
            run: RunLimit::of(request.timeout),
            agent: shared.settings.configured_timeout,
            is_cron: request.trigger == Trigger::Cron,
        };
        let scope = || Scope { run: Some(run_scope.clone()), session_key: Some(session_key.clone()), ..Scope::default() };
        let (scope, guard_scope) = (scope(), scope());
        let facts = Facts {
            run_scope,
            emitter,
            base_context,
            shared,
            run_id,
            session_key,
            session_id,
            from: request.from.clone(),
            sender_is_owner: request.sender_is_owner,
            bounds,
            model: OnceLock::new(),
            permitted: OnceLock::new(),
            callable: OnceLock::new(),
            rows: Mutex::new(Vec::new()),
        };
        Self { facts: Arc::new(facts), scope, guard_scope }
    }

    /// The state for work that the last plugin of a chain asked for. It can be asked to stop by itself.
    pub(crate) fn nested(&self, chain: Vec<PluginId>) -> Self {
        let scope = |cancel| Scope { chain: chain.clone(), cancel, ..self.scope.clone() };
        Self { facts: Arc::clone(&self.facts), scope: scope(Cancel::default()), guard_scope: scope(Cancel::default()) }
    }

    pub(crate) fn ports(&self) -> &AgentPorts {
        &self.facts.shared.ports
    }

    pub(crate) fn settings(&self) -> &AgentSettings {
        &self.facts.shared.settings
    }

    /// What the run allows a silent provider.
    pub(crate) fn bounds(&self) -> CallBounds {
        self.facts.bounds
    }

    pub(crate) fn hooks(&self) -> &Dispatcher {
        &self.facts.shared.ports.hooks
    }

    /// For hooks that a request to stop ends.
    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// For hooks that look at what is kept, sent or has happened. A request to stop does not end them: a filter that was cut short is
    /// passed over, and what it should have held back would go out.
    pub(crate) fn guard_scope(&self) -> &Scope {
        &self.guard_scope
    }

    pub(crate) fn run_scope(&self) -> &RunScope {
        &self.facts.run_scope
    }

    pub(crate) fn cancel(&self) -> &Cancel {
        &self.scope.cancel
    }

    /// Does work that a request to stop cuts short; none: it was cut, or the request came while it was done.
    pub(crate) async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let done = wind_down::stoppable(self.cancel(), work).await;
        done.filter(|_| !self.cancel().is_cancelled())
    }

    pub(crate) fn run_id(&self) -> &RunId {
        &self.facts.run_id
    }

    pub(crate) fn session_key(&self) -> &SessionKey {
        &self.facts.session_key
    }

    pub(crate) fn session_id(&self) -> &SessionId {
        &self.facts.session_id
    }

    /// Who sent the message, and where replies go, as the channel addresses them.
    pub(crate) fn peer(&self) -> &str {
        &self.facts.from
    }

    pub(crate) fn sender_is_owner(&self) -> Option<bool> {
        self.facts.sender_is_owner
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.facts.shared
    }

    /// What is known of the run from its beginning.
    pub(super) fn base_context(&self) -> &AgentContext {
        &self.facts.base_context
    }

    pub(crate) fn emit(&self, data: EventData) {
        self.facts.emitter.emit(data);
    }

    /// Sets the model; the first one counts.
    pub(crate) fn set_model(&self, model: ResolvedModel) {
        let _ = self.facts.model.set(model);
    }

    pub(crate) fn model(&self) -> Option<&ResolvedModel> {
        self.facts.model.get()
    }

    pub(crate) fn context_window(&self) -> Option<u32> {
        self.facts.model.get().and_then(|model| model.context_window)
    }

    /// Tools that the configured policy leaves.
    pub(crate) fn permitted_tools(&self) -> Vec<ToolSpec> {
        let permitted = self.facts.permitted.get_or_init(|| {
            let all: Vec<ToolSpec> = self.ports().tools.iter().map(|tool| tool.spec().clone()).collect();
            let names: BTreeSet<String> = self.ports().tool_support.permitted(&all).into_iter().collect();
            all.into_iter().filter(|tool| names.contains(&tool.name)).collect()
        });
        permitted.clone()
    }

    /// Fixes the tools that the model of this run may call.
    pub(crate) fn set_callable(&self, tools: &[ToolSpec]) {
        let _ = self.facts.callable.set(tools.iter().map(|tool| tool.name.clone()).collect());
    }

    /// A tool that the model of this run may call.
    pub(crate) fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let callable = self.facts.callable.get()?;
        if !callable.contains(name) {
            return None;
        }
        self.ports().tools.iter().find(|tool| tool.spec().name == name).cloned()
    }

    pub(crate) fn tool_names(&self) -> Vec<&str> {
        self.facts.callable.get().map(|names| names.iter().map(String::as_str).collect()).unwrap_or_default()
    }

    /// Takes the rows that the store had when the run began to write.
    pub(crate) fn set_rows(&self, rows: Vec<TranscriptRow>) {
        *self.rows() = rows;
    }

    /// Takes a row that the store has just written.
    pub(crate) fn push_row(&self, row: TranscriptRow) {
        self.rows().push(row);
    }

    /// Looks at the rows of the transcript, oldest first, exactly as they are stored.
    pub(crate) fn with_rows<T>(&self, look: impl FnOnce(&[TranscriptRow]) -> T) -> T {
        look(&self.rows())
    }

    fn rows(&self) -> MutexGuard<'_, Vec<TranscriptRow>> {
        self.facts.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All messages of the transcript as plugins see them at the end.
    pub(crate) fn stored_messages(&self) -> Messages {
        self.with_rows(|rows| {
            rows.iter()
                .filter_map(|row| match &row.event {
                    TranscriptEvent::Message { message } => Some(AgentMessage::to_json(message)),
                    _ => None,
                })
                .collect()
        })
    }
}
