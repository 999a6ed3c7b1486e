//! A conversation with an agent over fakes. After each run it checks what must hold for every run: one start, one end, events numbered
//! without a gap, requests that a provider would take, and a session that is free.

use std::sync::Arc;
use std::time::Duration;

use agent::{AcceptedRun, Agent, AgentPorts, AgentSettings, RunOutcome, RunRequest};
use domain::event::{EventData, EventSink, Lifecycle, RunEvent};
use domain::message::AgentMessage;
use domain::model::{ModelRef, ModelRequest};
use domain::ports::Channel;
use domain::session::{
    AppendRow, OpenSession, RunStatus, RunSummary, SessionEntry, SessionStore, TranscriptEvent, TranscriptRow,
};
use domain::test_support::{CountedIds, FakeChannel, FakeClock, MemorySentKeys, MemorySessions, RecordedEvents};
use domain::tool::Tool;
use domain::{AgentId, RunId, SessionId, SessionKey};
use hooks::{HandlerOptions, HookInvocation};

use super::model::{Models, ScriptedModel};
use super::people::FakeApprover;
use super::plugins::Plugins;
use super::render::{event_line, line, row_line};
use super::store::FaultyStore;
use super::tools::FakeSupport;
use super::{Answer, FakeTool, Fault, Journal, Op, Point, Sources, Stop, Turn, Verdict};

/// How long a chat waits for observers, in the test's own time.
const PATIENCE: Duration = Duration::from_secs(3600);

pub(crate) fn key() -> SessionKey {
    SessionKey::main(&AgentId::main())
}

/// A conversation to be.
pub(crate) struct Setup {
    model: Arc<ScriptedModel>,
    approver: Arc<FakeApprover>,
    tools: Vec<Arc<dyn Tool>>,
    plugins: Plugins,
    sources: Sources,
    faults: Vec<(Op, usize, Fault)>,
    settings: AgentSettings,
    fake_channel: FakeChannel,
    channel: Option<Arc<dyn Channel>>,
    events: Option<Arc<dyn EventSink>>,
    pub(crate) store: Arc<MemorySessions>,
    pub(crate) stop: Stop,
    pub(crate) journal: Journal,
}

impl Setup {
    /// An agent whose model plays these turns.
    pub(crate) fn new<const N: usize>(turns: [Turn; N]) -> Self {
        let model = Arc::new(ScriptedModel::default());
        turns.into_iter().for_each(|turn| model.push(turn));
        Self {
            model,
            approver: Arc::default(),
            tools: Vec::new(),
            plugins: Plugins::default(),
            sources: Sources::Empty,
            faults: Vec::new(),
            settings: AgentSettings {
                agent_id: AgentId::main(),
                model: ModelRef::new("stub", "model"),
                thinking: None,
                run_timeout: None,
                configured_timeout: None,
                workspace_dir: "/workspace".to_owned(),
                time_zone: "UTC".to_owned(),
                report_tool_errors: true,
                response_prefix: None,
            },
            fake_channel: FakeChannel::default(),
            channel: None,
            events: None,
            store: Arc::default(),
            stop: Stop::default(),
            journal: Journal::default(),
        }
    }

    /// One more turn of the model; for turns that need something of the setup.
    pub(crate) fn turn(self, turn: Turn) -> Self {
        self.model.push(turn);
        self
    }

    pub(crate) fn tool(mut self, tool: &FakeTool) -> Self {
        self.tools.push(Arc::new(tool.clone()));
        self
    }

    /// A handler of a plugin. Answers, faults and hanging are [`Verdict`]s; a plain `Option` is an answer.
    pub(crate) fn plugin<H, V>(
        mut self,
        plugin: &str,
        priority: f64,
        answer: impl Fn(&H::Event, &H::Context, &HookInvocation<'_>) -> V + Send + Sync + 'static,
    ) -> Self
    where
        H: Point,
        V: Into<Verdict<H::Answer>> + 'static,
    {
        self.plugins.add::<H, V>(plugin, HandlerOptions { priority, ..HandlerOptions::default() }, answer);
        self
    }

    /// A handler that waits until the tools are final.
    pub(crate) fn plugin_with_authority<H, V>(
        mut self,
        plugin: &str,
        answer: impl Fn(&H::Event, &H::Context, &HookInvocation<'_>) -> V + Send + Sync + 'static,
    ) -> Self
    where
        H: Point,
        V: Into<Verdict<H::Answer>> + 'static,
    {
        let options = HandlerOptions { requires_tool_authority: true, ..HandlerOptions::default() };
        self.plugins.add::<H, V>(plugin, options, answer);
        self
    }

    pub(crate) fn required(mut self, plugin: &str) -> Self {
        self.plugins.require(plugin);
        self
    }

    /// A plugin that notes each hook in the journal.
    pub(crate) fn recorder(mut self) -> Self {
        self.plugins.record_all(&self.journal);
        self
    }

    pub(crate) fn approval(self, answer: Answer) -> Self {
        self.approver.push(answer);
        self
    }

    pub(crate) fn sources(self, sources: Sources) -> Self {
        Self { sources, ..self }
    }

    /// The `nth` call of an operation of the store, counted from 1, goes wrong.
    pub(crate) fn store_fault(mut self, op: Op, nth: usize, fault: Fault) -> Self {
        self.faults.push((op, nth, fault));
        self
    }

    pub(crate) fn settings(mut self, change: impl FnOnce(&mut AgentSettings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// The channel refuses texts that hold this.
    pub(crate) fn refusing(mut self, text: &str) -> Self {
        self.fake_channel.refuse = Some(text.to_owned());
        self
    }

    pub(crate) fn channel(self, channel: impl Channel + 'static) -> Self {
        Self { channel: Some(Arc::new(channel)), ..self }
    }

    pub(crate) fn events(self, events: impl EventSink + 'static) -> Self {
        Self { events: Some(Arc::new(events)), ..self }
    }

    pub(crate) fn chat(self) -> Chat {
        let store = self.store;
        let (channel, events) = (Arc::new(self.fake_channel), Arc::new(RecordedEvents::default()));
        let ports = AgentPorts {
            store: Arc::new(FaultyStore::new(Arc::clone(&store), self.faults)),
            clock: Arc::new(FakeClock::at(1_000)),
            ids: Arc::new(CountedIds::new("id")),
            models: Arc::new(Models(Arc::clone(&self.model))),
            hooks: self.plugins.dispatcher(),
            tools: self.tools,
            tool_support: Arc::new(FakeSupport),
            prompt_sources: Arc::new(self.sources),
            approver: Arc::clone(&self.approver) as _,
            sent_keys: Arc::new(MemorySentKeys::default()),
            channel: self.channel.unwrap_or_else(|| Arc::clone(&channel) as _),
            events: self.events.unwrap_or_else(|| Arc::clone(&events) as _),
        };
        Chat {
            agent: Agent::new(ports, self.settings),
            model: self.model,
            approver: self.approver,
            store,
            channel,
            events,
            stop: self.stop,
            journal: self.journal,
        }
    }
}

/// A conversation.
pub(crate) struct Chat {
    pub(crate) agent: Agent,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) approver: Arc<FakeApprover>,
    pub(crate) store: Arc<MemorySessions>,
    channel: Arc<FakeChannel>,
    events: Arc<RecordedEvents>,
    stop: Stop,
    journal: Journal,
}

impl Chat {
    /// The user says something and waits for the end, observers included.
    pub(crate) async fn user(&self, text: &str) -> RunOutcome {
        self.send(RunRequest::new(text, key())).await
    }

    pub(crate) async fn send(&self, request: RunRequest) -> RunOutcome {
        let accepted = self.accept(request).await;
        let run_id = accepted.run_id().clone();
        let outcome = accepted.run().await;
        self.settled(&run_id).await;
        assert_eq!(outcome.run_id, run_id);
        outcome
    }

    pub(crate) async fn accept(&self, request: RunRequest) -> AcceptedRun {
        let accepted = self.agent.accept(request).await.expect("the message is acceptable");
        self.stop.is_for(accepted.cancel());
        accepted
    }

    /// Observers end, then everything that must hold after any run is checked.
    pub(crate) async fn settled(&self, run_id: &RunId) {
        self.agent.settle(PATIENCE).await;
        self.check(run_id);
    }

    /// The session answers: whatever happened before, the next message is an ordinary one.
    pub(crate) async fn goes_on(&self) {
        self.model.forget();
        self.model.push(super::says("Here I am."));
        let outcome = self.user("Are you still there?").await;
        assert_eq!(outcome.status, RunStatus::Done, "{:?}", outcome.error);
        assert_eq!(self.rows().last().map(String::as_str), Some("assistant: Here I am."));
    }

    fn check(&self, run_id: &RunId) {
        let events = self.events_of(run_id);
        let numbers: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>(), "events are numbered from 1 without a gap");
        let is_start = |event: &RunEvent| matches!(event.data, EventData::Lifecycle(Lifecycle::Start { .. }));
        let is_end = |event: &RunEvent| matches!(event.data, EventData::Lifecycle(_)) && !is_start(event);
        if let (Some(first), Some(last)) = (events.first(), events.last()) {
            assert!(is_start(first) && is_end(last), "a run starts with its start and ends with its end");
        }
        assert!(events.iter().filter(|event| is_start(event)).count() <= 1, "one start");
        assert!(events.iter().filter(|event| is_end(event)).count() <= 1, "one end");
        assert_ne!(self.store.writer(&key()).as_ref(), Some(run_id), "the run gave its session back");
        assert_eq!(self.approver.in_flight.count(), 0, "nobody is asked any more");
        self.check_requests();
    }

    fn check_requests(&self) {
        assert_eq!(self.model.faults(), Vec::<String>::new(), "requests that no provider would take");
    }

    fn events_of(&self, run_id: &RunId) -> Vec<RunEvent> {
        self.events.all().into_iter().filter(|event| event.run_id == *run_id).collect()
    }

    /// Events of all runs.
    pub(crate) fn raw_events(&self) -> Vec<RunEvent> {
        self.events.all()
    }

    pub(crate) fn events(&self) -> Vec<String> {
        self.events.all().iter().map(event_line).collect()
    }

    /// Events about tools.
    pub(crate) fn tool_events(&self) -> Vec<String> {
        let is_tool = |event: &&RunEvent| matches!(event.data, EventData::Tool(_));
        self.events.all().iter().filter(is_tool).map(event_line).collect()
    }

    /// The last event.
    pub(crate) fn ending(&self) -> String {
        self.events().pop().expect("a run emits events")
    }

    /// The transcript as it is stored.
    pub(crate) fn rows(&self) -> Vec<String> {
        self.raw_rows().iter().filter_map(row_line).collect()
    }

    pub(crate) fn raw_rows(&self) -> Vec<TranscriptRow> {
        self.store.transcript(&key())
    }

    /// The messages of the `nth` request, counted from 1.
    pub(crate) fn request(&self, nth: usize) -> Vec<String> {
        self.raw_request(nth).messages.iter().map(line).collect()
    }

    pub(crate) fn raw_request(&self, nth: usize) -> ModelRequest {
        self.model.requests()[nth - 1].clone()
    }

    /// Texts that went out.
    pub(crate) fn sent(&self) -> Vec<String> {
        self.channel.sent().into_iter().map(|message| message.content).collect()
    }

    pub(crate) async fn entry(&self) -> SessionEntry {
        self.store.entry(&key()).await.unwrap().expect("the session exists")
    }

    /// Puts rows into the session that no run of this chat wrote.
    pub(crate) async fn remembers(&self, events: impl IntoIterator<Item = TranscriptEvent>) {
        let (id, run) = (SessionId::new("earlier"), RunId::new("earlier-run"));
        let open =
            OpenSession { key: key(), now: 1, new_id: id.clone(), fresh: false, interaction: true, cwd: "/workspace".into() };
        self.store.open(open).await.unwrap();
        self.store.begin_run(&key(), &id, &run, 1).await.unwrap();
        for (number, event) in events.into_iter().enumerate() {
            let row = AppendRow {
                key: key(),
                session_id: id.clone(),
                run_id: run.clone(),
                event_id: format!("earlier-{number}"),
                event,
                now: 1,
                idempotency_key: None,
            };
            self.store.append(row).await.unwrap();
        }
        let summary =
            RunSummary { status: RunStatus::Done, input_tokens: 0, output_tokens: 0, provider: None, model: None, now: 1 };
        self.store.end_run(&key(), &run, summary).await.unwrap();
    }

    pub(crate) async fn remembers_messages(&self, messages: impl IntoIterator<Item = serde_json::Value>) {
        let events =
            messages.into_iter().map(|value| TranscriptEvent::Message { message: AgentMessage::from_value(value).unwrap() });
        self.remembers(events).await;
    }

    pub(crate) fn journal(&self) -> Vec<String> {
        self.journal.all()
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check_requests();
        }
    }
}
