//! A host that runs, and everything that a test can ask of it.

use std::sync::Arc;
use std::time::Duration;

use agent::{AcceptedRun, RunOutcome, RunRequest};
use creel::wiring::Running;
use creel::wiring::plugins::PluginStatus;
use domain::message::{AgentMessage, ToolResultMessage};
use domain::model::ModelRequest;
use domain::ports::{Outbound, PluginKv as _};
use domain::session::{SessionEntry, SessionStore as _, TranscriptEvent, TranscriptRow};
use domain::{AgentId, PluginId, SessionId, SessionKey};
use hooks::record::HandlerRecord;
use hooks::{Dispatcher, HookId};
use plugin_host::plan::PluginState;
use serde_json::{Map, Value};

use crate::calls;
use crate::world::Dir;
use crate::{Call, Entry, Journal, Log};

/// Longest wait for observers: a bound for what hangs, never reached by a test that passes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A host that runs.
pub struct Host {
    running: Running,
    hooks: Dispatcher,
    journal: Journal,
    log: Log,
    /// Kept as long as the host works in it.
    _dir: Arc<Dir>,
}

impl Host {
    pub(crate) fn new(running: Running, hooks: Dispatcher, journal: Journal, log: Log, dir: Arc<Dir>) -> Self {
        Self { running, hooks, journal, log, _dir: dir }
    }

    /// The host's parts.
    pub fn running(&self) -> &Running {
        &self.running
    }

    /// The handlers of all plugins.
    pub fn hooks(&self) -> &Dispatcher {
        &self.hooks
    }

    /// What the edges saw.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The log of this test.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// A message of a person in the main session.
    pub fn request(&self, text: &str) -> RunRequest {
        RunRequest::new(text, main_session())
    }

    /// Sends a message to the main session, and waits until the run and all observers are over.
    pub async fn say(&self, text: &str) -> RunOutcome {
        self.run(self.request(text)).await
    }

    /// The same with all options.
    pub async fn run(&self, request: RunRequest) -> RunOutcome {
        let outcome = self.accept(request).await.run().await;
        self.settle().await;
        outcome
    }

    /// Accepts a message without running it.
    pub async fn accept(&self, request: RunRequest) -> AcceptedRun {
        self.running.agent.accept(request).await.unwrap()
    }

    /// Waits for observers.
    pub async fn settle(&self) {
        self.running.agent.settle(PATIENCE).await;
    }

    /// Stops the host.
    pub async fn close(self) {
        self.close_within(PATIENCE).await;
    }

    /// Stops the host, which waits so long for observers.
    pub async fn close_within(self, grace: Duration) {
        self.running.close(grace).await;
    }

    /// What the operator would be told about registrations.
    pub fn diagnostics(&self) -> Vec<String> {
        self.running.diagnostics.iter().map(|diagnostic| diagnostic.text.clone()).collect()
    }

    /// Whether a plugin runs.
    pub fn loads(&self, plugin: &str) -> bool {
        self.status(plugin).report.state == PluginState::Loaded
    }

    /// Why a plugin does not run.
    ///
    /// # Panics
    /// When it runs, or nobody knows it.
    pub fn problem(&self, plugin: &str) -> String {
        match &self.status(plugin).report.state {
            PluginState::Loaded => panic!("the plugin `{plugin}` runs"),
            PluginState::Disabled(why) | PluginState::Failed(why) => why.clone(),
        }
    }

    fn status(&self, plugin: &str) -> &PluginStatus {
        let is_it = |status: &&PluginStatus| status.report.id.as_ref().is_some_and(|id| id.as_str() == plugin);
        self.running.plugins.iter().find(is_it).unwrap_or_else(|| panic!("nobody knows the plugin `{plugin}`"))
    }

    /// Requests that reached a model.
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.journal.find(|entry| if let Entry::Requested(request) = entry { Some(request.clone()) } else { None })
    }

    /// The user's text at the end of each request: the prompt with what was put around it.
    pub fn prompts(&self) -> Vec<String> {
        self.requests().iter().map(prompt).collect()
    }

    /// The system prompt of each request.
    pub fn system_prompts(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.system_prompt.unwrap_or_default()).collect()
    }

    /// Texts that the channel took, in order.
    pub fn sent(&self) -> Vec<String> {
        self.outbound().into_iter().map(|message| message.content).collect()
    }

    /// Messages that the channel took, in order.
    pub fn outbound(&self) -> Vec<Outbound> {
        self.journal.find(|entry| if let Entry::Sent(message, true) = entry { Some(message.clone()) } else { None })
    }

    /// Parameters that the probe tool ran with.
    pub fn executed(&self) -> Vec<Map<String, Value>> {
        self.journal.find(|entry| if let Entry::Executed(params) = entry { Some(params.clone()) } else { None })
    }

    /// Calls of handlers of one hook, in the order in which they ended.
    pub fn handled(&self, hook: HookId) -> Vec<HandlerRecord> {
        self.journal.find(|entry| match entry {
            Entry::Handled(record) if record.hook == hook => Some(record.clone()),
            _ => None,
        })
    }

    /// Plugins whose handlers of one hook were called, in the order in which the calls ended; with the handler's name if it has one.
    pub fn order(&self, hook: HookId) -> Vec<String> {
        let name = |record: HandlerRecord| match record.handler.as_str() {
            "" => record.plugin.to_string(),
            handler => format!("{}.{handler}", record.plugin),
        };
        self.handled(hook).into_iter().map(name).collect()
    }

    /// What a scripted plugin recorded of its calls of one hook, oldest first.
    pub async fn calls(&self, plugin: &str, hook: &str) -> Vec<Call> {
        let calls = calls::recorded(&*self.running.kv, plugin).await;
        calls.into_iter().filter(|call| call.hook == hook).collect()
    }

    /// Keys of a plugin's key-value store.
    pub async fn keys(&self, plugin: &str) -> Vec<String> {
        self.running.kv.list_keys(&PluginId::new(plugin), "", None, 1000).await.unwrap().keys
    }

    /// What the store knows about the main session.
    pub async fn session(&self) -> SessionEntry {
        self.running.sessions.entry(&main_session()).await.unwrap().expect("the main session exists")
    }

    /// All rows of the main session, header first.
    pub async fn rows(&self) -> Vec<TranscriptRow> {
        let session = SessionId::new(self.session().await.session_id);
        self.running.sessions.rows(&AgentId::main(), &session).await.unwrap()
    }

    /// Messages of the main session as they are stored.
    pub async fn messages(&self) -> Vec<AgentMessage> {
        let message = |row: TranscriptRow| match row.event {
            TranscriptEvent::Message { message } => Some(message),
            _ => None,
        };
        self.rows().await.into_iter().filter_map(message).collect()
    }

    /// Each stored message as `role: text`.
    pub async fn transcript(&self) -> Vec<String> {
        self.messages().await.iter().map(|message| format!("{}: {}", message.role(), message.text())).collect()
    }

    /// The stored tool results, in order.
    pub async fn tool_results(&self) -> Vec<ToolResultMessage> {
        let result = |message| if let AgentMessage::ToolResult(result) = message { Some(result) } else { None };
        self.messages().await.into_iter().filter_map(result).collect()
    }
}

fn prompt(request: &ModelRequest) -> String {
    let last = request.messages.iter().rev().find(|message| message.role() == "user");
    last.map(AgentMessage::text).unwrap_or_default()
}

/// Key of the main session of the main agent.
fn main_session() -> SessionKey {
    SessionKey::main(&AgentId::main())
}
